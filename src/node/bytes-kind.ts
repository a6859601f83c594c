// Where the content of a store is. All nodes must agree, also those that start years later: otherwise one would look for
// bytes in a place where they have never been.
import { encodeKey } from '../kv/key.ts'
import type { Kv, Step, Tx } from '../kv/kv.ts'
import { encodeRecord } from '../kv/record.ts'

export type BytesKind = 'postgres' | 'folder'

const BYTES_KEY = encodeKey('bytes-kind')

/** Throws if the store was created with another kind. */
export async function checkBytesKind(kv: Kv, kind: BytesKind): Promise<void> {
  const stored = await kv.write((tx) => bytesKind(tx, kind))
  if (stored === kind) return
  const flag = stored === 'folder' ? '--bytes folder:PATH' : '--bytes postgres'
  throw new BytesKindDiffers(`the content of this store is not in ${kind}; start with ${flag}`)
}

export class BytesKindDiffers extends Error {}

/** The first node chooses it. */
function* bytesKind(tx: Tx, kind: BytesKind): Step<BytesKind> {
  const stored = yield* tx.getFields<{ kind: BytesKind }>(BYTES_KEY)
  if (stored === undefined) tx.put(BYTES_KEY, encodeRecord({ kind }))
  return stored?.kind ?? kind
}
