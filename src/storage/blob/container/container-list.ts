// List Containers: the containers of an account, ordered by name, and on request the deleted ones that can be
// restored. A deleted container comes before the current one of the same name.
import type { Key, ReadTx, Step } from '../../../kv/kv.ts'
import { decodeRecord, type StoredRecord } from '../../../kv/record.ts'
import { SKIP_MAX } from '../../shared/cursor.ts'
import { nameOf, openNames, type NamePosition, type NameSource } from '../../shared/name-list.ts'
import { SYSTEM_CONTAINERS, type Container, type DeletedContainer } from './container.ts'
import {
  containerKey,
  containerKeyPrefix,
  pastContainerKey,
  pastContainerKeyPrefix,
} from '../keys.ts'

export type ContainerItem = {
  readonly name: string
  readonly container: Container
  readonly deleted?: DeletedContainer['deleted']
}

/** The page starts after this container, or after this deleted container. */
export type ContainerPosition = Omit<NamePosition, 'snapshot'>

type ContainerPage = {
  readonly items: readonly ContainerItem[]
  readonly next: ContainerPosition | undefined
}

type ListContainers = {
  readonly prefix: string
  readonly after: ContainerPosition | undefined
  readonly countMax: number
  readonly isDeletedIncluded: boolean
  readonly isSystemIncluded: boolean
}

export function* listContainers(
  tx: ReadTx,
  account: string,
  list: ListContainers,
  nowMs: number,
): Step<ContainerPage> {
  const walk = openNames(tx, account, list, CONTAINERS)
  const items: ContainerItem[] = []
  let next: ContainerPosition | undefined
  let skipped = 0
  for (;;) {
    const item = yield* walk()
    if (item === undefined) return { items, next: undefined }
    if (!isListed(item, list, nowMs)) skipped += 1
    else if (items.length === list.countMax) return { items, next }
    else items.push(item)
    next = positionOf(item)
    if (skipped > SKIP_MAX) return { items, next }
  }
}

function isListed({ name, deleted }: ContainerItem, list: ListContainers, nowMs: number): boolean {
  if (deleted !== undefined && deleted.untilMs <= nowMs) return false
  return list.isSystemIncluded || !SYSTEM_CONTAINERS.has(name)
}

const CONTAINERS: NameSource<ContainerItem> = {
  prefix: containerKeyPrefix,
  key: containerKey,
  pastPrefix: pastContainerKeyPrefix,
  pastKey: pastContainerKey,
  pick: pickContainer,
  pickDeleted,
}

function pickContainer(key: Key, value: StoredRecord): ContainerItem {
  return { name: nameOf(key), container: decodeRecord<Container>(value) }
}

function pickDeleted(key: Key, value: StoredRecord): ContainerItem {
  const { deleted, ...container } = decodeRecord<DeletedContainer>(value)
  return { name: nameOf(key), container, deleted }
}

function positionOf({ name, container, deleted }: ContainerItem): ContainerPosition {
  return deleted === undefined ? { name } : { name, deletedId: container.id }
}
