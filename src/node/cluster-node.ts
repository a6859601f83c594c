// The record of a running node, which it renews with every heartbeat.
import { decodeKey, encodeKey } from '../kv/key.ts'
import { prefixRange, type Entry, type Key, type ReadTx, type Step } from '../kv/kv.ts'
import { decodeRecord } from '../kv/record.ts'

/** Where other nodes reach a node. */
export type PeerAddress = { readonly host: string; readonly port: number; readonly node: number }

/** Where clients reach a service of a node. */
export type NodeEndpoint = {
  readonly service: string
  readonly protocol: string
  readonly host: string
  readonly port: number
}

/** What a node says about itself. */
export type NodeDescription = {
  readonly name: string
  readonly version: string
  /** A digest of the settings that all nodes must share: accounts and SMB users. */
  readonly settings: string
  readonly endpoints: readonly NodeEndpoint[]
  readonly peer?: Omit<PeerAddress, 'node'>
}

export type NodeRecord = NodeDescription & {
  readonly startedAtMs: number
  /** The time of the last heartbeat, by the database's clock. */
  readonly seenAtMs: number
  /** How far its machine's clock is ahead of the database's. */
  readonly clockAheadMs: number
  /** How long the heartbeat before took. */
  readonly beatMs: number
  /** When its oldest download began, by the database's clock: the bytes that it reads must stay. */
  readonly oldestReadMs?: number
}

export type ClusterNode = NodeRecord & { readonly number: number }

/** The most nodes that can run at the same time, and some that have died. */
const NODE_COUNT_MAX = 1_000

export function nodeKey(number: number): Key {
  return encodeKey('node', number)
}

export function* getNodes(tx: ReadTx): Step<readonly ClusterNode[]> {
  const range = prefixRange(encodeKey('node'))
  const entries = yield* tx.scan({ ...range, countMax: NODE_COUNT_MAX })
  return entries.map(nodeOf)
}

function nodeOf({ key, value }: Entry): ClusterNode {
  return { number: Number(decodeKey(key)[1]), ...decodeRecord<NodeRecord>(value) }
}
