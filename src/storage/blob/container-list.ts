// List Containers: the containers of an account by name, and with them, if asked for, the deleted ones that
// can be restored. Those stand before the container that has their name now.
import { decodeKey, laterKey } from '../../kv/key.ts'
import {
  keyAfter,
  keyAfterPrefix,
  type Key,
  type KeyRange,
  type ReadTx,
  type Step,
  type Value,
} from '../../kv/kv.ts'
import { decodeRecord } from '../../kv/record.ts'
import { decodeContainer, type Container, type DeletedContainer } from './container.ts'
import { openCursor, type Cursor } from './cursor.ts'
import {
  containerKey,
  containerKeyPrefix,
  pastContainerKey,
  pastContainerKeyPrefix,
} from './keys.ts'
import { SKIP_MAX } from './list-page.ts'

export type ContainerItem = {
  readonly name: string
  readonly container: Container
  readonly deleted?: DeletedContainer['deleted']
}

/** Where a page begins: behind a container, or behind a deleted one of that name. */
export type ContainerPosition = { readonly name: string; readonly deletedId?: number }

export type ContainerPage = {
  readonly items: readonly ContainerItem[]
  readonly next: ContainerPosition | undefined
}

export type ListContainers = {
  readonly prefix: string
  readonly after: ContainerPosition | undefined
  readonly countMax: number
  readonly isDeletedIncluded: boolean
  readonly isSystemIncluded: boolean
}

/** What the service makes for itself. $root and $web are made by users and listed like any other. */
const SYSTEM: ReadonlySet<string> = new Set(['$logs', '$blobchangefeed'])

export function* listContainers(
  tx: ReadTx,
  account: string,
  list: ListContainers,
  nowMs: number,
): Step<ContainerPage> {
  const live = openCursor(tx, liveRange(account, list), pickContainer)
  const deleted = openCursor(tx, deletedRange(account, list), pickDeleted)
  const items: ContainerItem[] = []
  let next: ContainerPosition | undefined
  let skipped = 0
  for (;;) {
    const item = yield* takeFirst(deleted, live)
    if (item === undefined) return { items, next: undefined }
    if (!isListed(item, list, nowMs)) skipped += 1
    else if (items.length === list.countMax) return { items, next }
    else items.push(item)
    next = positionOf(item)
    if (skipped > SKIP_MAX) return { items, next }
  }
}

function* takeFirst(
  deleted: Cursor<ContainerItem>,
  live: Cursor<ContainerItem>,
): Step<ContainerItem | undefined> {
  const [past, present] = [yield* deleted.peek(), yield* live.peek()]
  const isPastFirst = past !== undefined && (present === undefined || past.name <= present.name)
  const cursor = isPastFirst ? deleted : live
  cursor.advance()
  return isPastFirst ? past : present
}

function isListed({ name, deleted }: ContainerItem, list: ListContainers, nowMs: number): boolean {
  if (deleted !== undefined && deleted.untilMs <= nowMs) return false
  return list.isSystemIncluded || !SYSTEM.has(name)
}

function liveRange(account: string, { prefix, after }: ListContainers): KeyRange {
  const start = containerKeyPrefix(account, prefix)
  const to = keyAfterPrefix(start)
  if (after === undefined) return { from: start, to }
  const key = containerKey(account, after.name)
  return { from: laterKey(start, after.deletedId === undefined ? keyAfter(key) : key), to }
}

function deletedRange(
  account: string,
  { prefix, after, isDeletedIncluded }: ListContainers,
): KeyRange {
  const start = pastContainerKeyPrefix(account, prefix)
  const to = keyAfterPrefix(start)
  if (!isDeletedIncluded) return { from: to, to }
  if (after === undefined) return { from: start, to }
  const id = after.deletedId ?? Number.MAX_SAFE_INTEGER
  return { from: laterKey(start, keyAfter(pastContainerKey(account, after.name, id))), to }
}

function pickContainer(key: Key, value: Value): ContainerItem {
  return { name: nameOf(key), container: decodeContainer(value) }
}

function pickDeleted(key: Key, value: Value): ContainerItem {
  const { deleted, ...container } = decodeRecord<DeletedContainer>(value)
  return { name: nameOf(key), container, deleted }
}

function nameOf(key: Key): string {
  return String(decodeKey(key)[2])
}

function positionOf({ name, container, deleted }: ContainerItem): ContainerPosition {
  return deleted === undefined ? { name } : { name, deletedId: container.id }
}
