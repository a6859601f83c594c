// Where the content of a store is. All nodes must agree, also those that start years later: otherwise one would look for
// bytes in a place where they have never been.
import { encodeKey } from '../kv/key.ts'
import type { Kv, ReadTx, Step, Tx } from '../kv/kv.ts'
import { encodeRecord } from '../kv/record.ts'

export type BytesKind = 'postgres' | 'folder'

const BYTES_KEY = encodeKey('bytes-kind')

/** Throws if the store was created with another kind. */
export async function checkBytesKind(kv: Kv, kind: BytesKind): Promise<void> {
  requireKind(await kv.write((tx) => bytesKind(tx, kind)), kind)
}

/** The same for those who only read. */
export async function checkStoredBytesKind(kv: Kv, kind: BytesKind): Promise<void> {
  requireKind((await kv.read(getBytesKind)) ?? kind, kind)
}

export function* putBytesKind(tx: Tx, kind: BytesKind): Step<void> {
  tx.put(BYTES_KEY, encodeRecord({ kind }))
}

function* getBytesKind(tx: ReadTx): Step<BytesKind | undefined> {
  return (yield* tx.getFields<{ kind: BytesKind }>(BYTES_KEY))?.kind
}

function requireKind(stored: BytesKind, kind: BytesKind): void {
  if (stored === kind) return
  const flag = stored === 'folder' ? '--bytes folder:PATH' : '--bytes postgres'
  throw new BytesKindDiffers(`the content of this store is not in ${kind}; start with ${flag}`)
}

export class BytesKindDiffers extends Error {}

/** The first node chooses it. */
function* bytesKind(tx: Tx, kind: BytesKind): Step<BytesKind> {
  const stored = yield* getBytesKind(tx)
  if (stored === undefined) yield* putBytesKind(tx, kind)
  return stored ?? kind
}
