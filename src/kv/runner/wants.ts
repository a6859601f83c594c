// What a body is going to read. A body first runs on guesses for everything that is not known yet, to learn what it will
// ask for; then one round trip fetches all of it, and the body runs for real. The guess for a key is its cached record, or
// nothing; for a range it is nothing. A wrong guess costs another round trip and nothing else.
import type { RecordCache } from '../cache.ts'
import type { WantedRange } from '../engine/engine.ts'
import { keyName } from '../key.ts'
import type { Key, RecordPart, Step } from '../kv.ts'
import type { FoundRecord } from '../transaction.ts'

/** A body yields this to fetch something from the engine. It is resumed when the state has it. */
export type Want = { readonly key: Key } | { readonly range: WantedRange }

/** What a body reads beyond this is fetched in another round trip. */
const WANT_COUNT_MAX = 2_000

export class Wants {
  readonly #cache: RecordCache
  readonly #keys = new Map<string, Key>()
  readonly #ranges = new Map<string, WantedRange>()

  constructor(cache: RecordCache) {
    this.#cache = cache
  }

  get keys(): readonly Key[] {
    return [...this.#keys.values()]
  }

  get ranges(): readonly WantedRange[] {
    return [...this.#ranges.values()]
  }

  get count(): number {
    return this.#keys.size + this.#ranges.size
  }

  add(want: Want): void {
    if ('key' in want) {
      this.#keys.set(keyName(want.key), want.key)
      return
    }
    const name = boundsName(want.range)
    const known = this.#ranges.get(name)
    if (known === undefined || known.countMax < want.range.countMax) {
      this.#ranges.set(name, want.range)
    }
  }

  addAll({ keys, ranges }: Wants): void {
    for (const key of keys) this.add({ key })
    for (const range of ranges) this.add({ range })
  }

  /** Wants a key, and guesses its record. */
  guess(key: Key, part: RecordPart): FoundRecord | Step<FoundRecord> {
    this.add({ key })
    if (this.isFull) return end()
    const cached = this.#cache.peek(keyName(key))?.record
    return part === 'fields' || cached?.isWhole === true ? cached : undefined
  }

  get isFull(): boolean {
    return this.count > WANT_COUNT_MAX
  }
}

/** Ends a body that runs on guesses: it yields, and is never resumed. */
export function* end(): Step<never> {
  yield undefined
  throw new Error('A body that runs on guesses is not resumed.')
}

/** Ranges that differ only in `countMax` share a name: the longest one serves all. */
export function boundsName(range: WantedRange): string {
  return `${range.from.length} ${keyName(range.from)} ${endName(range)}`
}

/** Everything about a range but where it begins and its count. */
export function endName({ to, reverse = false, part, fold }: WantedRange): string {
  const folding = fold === undefined ? '' : `${fold.at} ${keyName(fold.delimiter)}`
  return [reverse, part, folding.length, folding, keyName(to)].join(' ')
}
