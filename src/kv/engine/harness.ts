// Test helpers for engines: short texts under short names, each test in its own key space.
import { decodeKey, encodeKey } from '../key.ts'
import { prefixRange, type Key, type ScanPart, type ScanRange } from '../kv.ts'
import { encodeRecord, fieldsEnd } from '../record.ts'
import type {
  Engine,
  Found,
  ReadSet,
  Snapshot,
  Value,
  Verdict,
  Version,
  Wanted,
  WantedRange,
  Write,
} from './engine.ts'
import { versionOf } from './check.ts'

/** Adds a test with its own key space. */
export type Check = (title: string, body: (texts: Texts) => Promise<void>) => void

export type Name = string | number

/** `Wanted` by names. A range excludes `to`. */
export type WantedNames = {
  readonly keys?: readonly Name[]
  readonly ranges?: readonly NamedRange[]
}

export type NamedRange = Partial<Omit<ScanRange, 'from' | 'to'>> & {
  readonly from: Name
  readonly to: Name
  readonly part?: ScanPart
}

/** `Found` as plain texts. */
export type FoundTexts = {
  readonly keys: readonly (string | undefined)[]
  readonly ranges: readonly (readonly string[])[]
}

let version: Version = 2 ** 33

export function newVersion(): Version {
  version += 1
  return version
}

/** A record whose bytes are the text. */
export function valueOf(text: string): Value {
  return encodeRecord({ length: text.length }, Buffer.from(text)).value
}

export function valueText(value: Value): string {
  return Buffer.from(value.subarray(fieldsEnd(value))).toString()
}

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export class Texts {
  readonly engine: Engine
  readonly #space: string

  constructor(engine: Engine, space: string) {
    this.engine = engine
    this.#space = space
  }

  key(name: Name): Key {
    return encodeKey(this.#space, name)
  }

  name(key: Key): Name {
    return decodeKey(key)[1] ?? ''
  }

  /** All keys of this space. */
  get all(): WantedRange {
    return { ...prefixRange(encodeKey(this.#space)), countMax: 10_000, part: 'whole' }
  }

  range({ from, to, countMax = 1_000, part = 'whole', ...rest }: NamedRange): WantedRange {
    return { from: this.key(from), to: this.key(to), countMax, part, ...rest }
  }

  wanted({ keys = [], ranges = [] }: WantedNames): Wanted {
    return {
      keys: keys.map((name) => ({ key: this.key(name) })),
      ranges: ranges.map((range) => this.range(range)),
    }
  }

  put(name: Name, text: string): Write {
    return { key: this.key(name), value: valueOf(text), version: newVersion() }
  }

  delete(name: Name): Write {
    return { key: this.key(name), value: undefined, version: newVersion() }
  }

  /** Commits one transaction without reads. */
  async write(...writes: readonly Write[]): Promise<void> {
    await this.engine.commit([{ writes }])
  }

  /** Puts each name with itself as its text. */
  async fill(...names: readonly string[]): Promise<void> {
    await this.write(...names.map((name) => this.put(name, name)))
  }

  async found(wanted: WantedNames, from: Engine | Snapshot = this.engine): Promise<FoundTexts> {
    return this.texts(await from.read(this.wanted(wanted)))
  }

  /** An entry of a range is `name=text`. */
  texts({ keys, ranges }: Found): FoundTexts {
    return {
      keys: keys.map((each) => (typeof each === 'object' ? valueText(each.value) : each)),
      ranges: ranges.map((entries) =>
        entries.map(({ key, value }) => `${this.name(key)}=${valueText(value)}`),
      ),
    }
  }

  async text(name: Name): Promise<string | undefined> {
    return (await this.found({ keys: [name] })).keys[0]
  }

  /** The names of a range. */
  async names(range: NamedRange): Promise<readonly Name[]> {
    const { ranges } = await this.engine.read(this.wanted({ ranges: [range] }))
    return (ranges[0] ?? []).map(({ key }) => this.name(key))
  }

  /** Reads, and returns the read set for a transaction. */
  async readSet(wanted: WantedNames): Promise<ReadSet> {
    const { keys, ranges } = this.wanted(wanted)
    return readSetOf({ keys, ranges }, await this.engine.read({ keys, ranges }))
  }
}

export function readSetOf({ keys, ranges }: Wanted, found: Found): ReadSet {
  return {
    keys: keys.map(({ key }, at) => ({ key, version: versionOf(found.keys[at]) })),
    ranges: ranges.map((range, at) => ({ range, seen: found.ranges[at] ?? [] })),
  }
}

/** Whether each transaction was committed. */
export function areCommitted(verdicts: readonly Verdict[]): readonly boolean[] {
  return verdicts.map((verdict) => verdict === 'committed')
}

/** `Found` as plain data with versions, to compare two answers of one engine. */
export function withVersions({ keys, ranges }: Found): unknown {
  const plain = ({ value, version }: { value: Value; version: Version }) => {
    return { value: Buffer.from(value).toString('latin1'), version }
  }
  return {
    keys: keys.map((each) => (typeof each === 'object' ? plain(each) : each)),
    ranges: ranges.map((entries) =>
      entries.map((entry) => ({ key: Buffer.from(entry.key).toString('hex'), ...plain(entry) })),
    ),
  }
}
