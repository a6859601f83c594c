// Roles: tasks of a cluster that one node has at a time. A record names the holder, which renews it with every heartbeat.
// Whoever acts in a role reads that record in every transaction (`withRole`), so a node that has lost its role can neither
// commit nor answer, even if it has not noticed yet.
import { StoreUnavailable } from '../kv/engine/unavailable.ts'
import { encodeKey } from '../kv/key.ts'
import type { EventKv, Key, ReadTx, Step, Tx } from '../kv/kv.ts'
import { encodeRecord } from '../kv/record.ts'

export const ROLES = ['sweeper', 'copies', 'files'] as const

/** sweeper: frees space. copies: runs the copies of blobs from elsewhere. files: serves shares. */
export type RoleName = (typeof ROLES)[number]

/** Who has a role. It changes only with the holder, so renewals don't disturb those who read it. */
export type RoleHolder = {
  /** The number of a node. */
  readonly node: number
  /** Counts the changes of the holder. */
  readonly epoch: number
}

/** A role that a node has, from one change of the holder to the next. */
export type HeldRole = RoleHolder & { readonly name: RoleName }

/** How long a holder may be silent. */
export const ROLE_MS = 5_000

export function roleKey(name: RoleName): Key {
  return encodeKey('role', name)
}

/** → { untilMs }: by the database's clock; afterwards another node may take the role */
export function roleTermKey(name: RoleName): Key {
  return encodeKey('role-term', name)
}

export function getRole(tx: ReadTx, name: RoleName): Step<RoleHolder | undefined> {
  return tx.getFields<RoleHolder>(roleKey(name))
}

export function getTerm(tx: ReadTx, name: RoleName): Step<{ untilMs: number } | undefined> {
  return tx.getFields<{ untilMs: number }>(roleTermKey(name))
}

export type RoleClaim = {
  readonly node: number
  readonly nowMs: number
  /** Whether the node can act in the role. */
  readonly isWanted: boolean
}

/** Renews the role if this node has it, and takes it if nobody does. Returns who has it now. */
export function* claimRole(
  tx: Tx<never>,
  name: RoleName,
  { node, nowMs, isWanted }: RoleClaim,
): Step<RoleHolder | undefined> {
  const holder = yield* getRole(tx, name)
  const term = yield* getTerm(tx, name)
  const isFree = holder === undefined || term === undefined || term.untilMs <= nowMs
  const isHeld = holder?.node === node
  if (!isWanted || (!isHeld && !isFree)) return isFree && !isHeld ? undefined : holder
  tx.put(roleTermKey(name), encodeRecord({ untilMs: nowMs + ROLE_MS }))
  if (isHeld) return holder
  const next = { node, epoch: (holder?.epoch ?? 0) + 1 }
  tx.put(roleKey(name), encodeRecord(next))
  return next
}

/** Lets another node take the role at once. */
export function* releaseRole(tx: Tx<never>, name: RoleName, node: number): Step<void> {
  const holder = yield* getRole(tx, name)
  if (holder?.node === node) tx.delete(roleTermKey(name))
}

/** The store, for whoever acts in a role: every transaction fails once another node has it. */
export function withRole<Event>(kv: EventKv<Event>, role: HeldRole): EventKv<Event> {
  return {
    ...kv,
    read: (body) => kv.read((tx) => inRole(tx, role, body)),
    write: (body) => kv.write((tx) => inRole(tx, role, body)),
    attemptRead: (body) => kv.attemptRead((tx) => inRole(tx, role, body)),
    attempt: (body) => kv.attempt((tx) => inRole(tx, role, body)),
  }
}

function* inRole<T extends ReadTx, R>(
  tx: T,
  { name, node, epoch }: HeldRole,
  body: (tx: T) => Step<R>,
): Step<R> {
  const holder = yield* getRole(tx, name)
  if (holder?.node !== node || holder.epoch !== epoch) {
    throw new StoreUnavailable(`This node no longer has the role ${name}.`)
  }
  return yield* body(tx)
}
