// A folded scan finds only the first of all keys with the same beginning, and skips the others with one seek. A list by
// delimiter is such a scan.
import { keyAfterPrefix, type Fold, type Key, type KeyRange } from './kv.ts'

/** The first key that is not folded into the same one as `key`; undefined if `key` has no delimiter. */
export function keyAfterFold(key: Key, { at, delimiter }: Fold): Key | undefined {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength)
  const found = bytes.indexOf(delimiter, at)
  return found < 0 ? undefined : keyAfterPrefix(bytes.subarray(0, found + delimiter.length))
}

/** Folds what `walk` finds; `walk` reads on only as far as its consumer does. */
export function* folded<T>(
  range: KeyRange & { readonly countMax: number },
  fold: Fold,
  walk: (range: KeyRange) => Iterable<T>,
  keyOf: (found: T) => Key,
): Generator<T> {
  let left = range.countMax
  let from: Key | undefined = range.from
  while (from !== undefined && left > 0 && Buffer.compare(from, range.to) < 0) {
    let next: Key | undefined
    for (const found of walk({ from, to: range.to })) {
      yield found
      left -= 1
      next = keyAfterFold(keyOf(found), fold)
      if (next !== undefined || left === 0) break
    }
    from = next
  }
}
