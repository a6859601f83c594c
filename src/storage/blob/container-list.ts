// List Containers: the containers of an account by name, and with them, if asked for, the deleted ones that
// can be restored.
import { decodeKey } from '../../kv/key.ts'
import { keyAfterPrefix, type Entry, type Key, type ReadTx, type Step } from '../../kv/kv.ts'
import { decodeRecord } from '../../kv/record.ts'
import { decodeContainer, type Container, type DeletedContainer } from './container.ts'
import {
  containerKey,
  containerKeyPrefix,
  pastContainerKey,
  pastContainerKeyPrefix,
} from './keys.ts'

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
}

export function* listContainers(
  tx: ReadTx,
  account: string,
  list: ListContainers,
  nowMs: number,
): Step<ContainerPage> {
  const countMax = list.countMax + 1
  const live = yield* liveContainers(tx, account, list, countMax)
  const deleted = list.isDeletedIncluded
    ? yield* deletedContainers(tx, account, list, countMax, nowMs)
    : []
  const all = [...deleted, ...live].sort(byPlace)
  const items = all.slice(0, list.countMax)
  const last = items.at(-1)
  const next = all.length > list.countMax && last !== undefined ? positionOf(last) : undefined
  return { items, next }
}

function* liveContainers(
  tx: ReadTx,
  account: string,
  { prefix, after }: ListContainers,
  countMax: number,
): Step<ContainerItem[]> {
  const start = containerKeyPrefix(account, prefix)
  const from = later(start, after && startAfter(account, after))
  const entries = yield* tx.scan({ from, to: keyAfterPrefix(start), countMax })
  return entries.map((entry) => ({ name: nameOf(entry), container: decodeContainer(entry.value) }))
}

/** A deleted one stands before the container that has its name now. */
function startAfter(account: string, { name, deletedId }: ContainerPosition): Key {
  const key = containerKey(account, name)
  // The zero byte makes the start exclusive: it is the next key.
  return deletedId === undefined ? Buffer.concat([key, Buffer.of(0)]) : key
}

function* deletedContainers(
  tx: ReadTx,
  account: string,
  { prefix, after }: ListContainers,
  countMax: number,
  nowMs: number,
): Step<ContainerItem[]> {
  const start = pastContainerKeyPrefix(account, prefix)
  const id = after?.deletedId ?? Number.MAX_SAFE_INTEGER - 1
  const from = later(start, after && pastContainerKey(account, after.name, id + 1))
  const entries = yield* tx.scan({ from, to: keyAfterPrefix(start), countMax })
  const items = entries.map((entry): ContainerItem => {
    const { deleted, ...container } = decodeRecord<DeletedContainer>(entry.value)
    return { name: nameOf(entry), container, deleted }
  })
  return items.filter(({ deleted }) => deleted !== undefined && deleted.untilMs > nowMs)
}

function later(a: Key, b: Key | undefined): Key {
  return b !== undefined && Buffer.compare(b, a) > 0 ? b : a
}

function nameOf({ key }: Entry): string {
  return String(decodeKey(key)[2])
}

function positionOf({ name, container, deleted }: ContainerItem): ContainerPosition {
  return deleted === undefined ? { name } : { name, deletedId: container.id }
}

function byPlace(a: ContainerItem, b: ContainerItem): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1
  if ((a.deleted === undefined) !== (b.deleted === undefined))
    return a.deleted === undefined ? 1 : -1
  return a.container.id - b.container.id
}
