// A group of transactions as parameters of the commit function, and its answer as verdicts.
import { hash } from 'node:crypto'
import { bigintArray, byteaArray, integerArray } from '../../../postgres/array.ts'
import type { Parameter, Row } from '../../../postgres/client.ts'
import { keyName } from '../../key.ts'
import type { Key } from '../../kv.ts'
import {
  ABSENT,
  type Found,
  type SeenKey,
  type Transaction,
  type Value,
  type Verdict,
  type Version,
  type VersionedEntry,
  type WantedRange,
  type Write,
} from '../engine.ts'
import { RESULT, STEP } from './commit-function.ts'
import { bytes, entryOf, rangeEntries, rangeParameters } from './read.ts'

type Place = { readonly transactionAt: number; readonly at: number }

type Step = {
  readonly transactionAt: number
  kind: number
  readonly key?: Key
  readonly version: Version
  readonly value?: Value | undefined
  /** Index in the read set. */
  readonly at?: number
}

/** An encoded group. */
export type Group = {
  readonly transactions: readonly Transaction[]
  readonly steps: readonly Step[]
  readonly ranges: readonly Place[]
  readonly parameters: readonly Parameter[]
  readonly writtenBytes: number
}

/** What earlier transactions of the group have written. */
class Written {
  readonly #last = new Map<string, { readonly step: Step; readonly version: Version }>()

  add(name: string, step: Step, version: Version): void {
    const last = this.#last.get(name)
    if (last !== undefined) last.step.kind = STEP.write
    this.#last.set(name, { step, version })
  }

  /** Undefined if the group has not written this key. */
  version(name: string): Version | undefined {
    return this.#last.get(name)?.version
  }

  isIn({ from, to }: WantedRange): boolean {
    if (this.#last.size === 0) return false
    const [low, high] = [keyName(from), keyName(to)]
    for (const name of this.#last.keys()) if (name >= low && name < high) return true
    return false
  }
}

/** Undefined if there is nothing to check or to store. */
export function encodeGroup(transactions: readonly Transaction[]): Group | undefined {
  const steps: Step[] = []
  const ranges: (Place & { readonly range: WantedRange; readonly digest: Buffer })[] = []
  const written = new Written()
  const compared = new Set<string>()
  // Whether all transactions are committed, if what they have read from outside the group is unchanged.
  let isIndependent = true
  let writtenBytes = 0
  for (const [transactionAt, { reads, writes }] of transactions.entries()) {
    for (const [at, { key, version }] of reads?.keys.entries() ?? []) {
      const name = keyName(key)
      const inGroup = written.version(name)
      if (inGroup !== undefined && inGroup !== version) isIndependent = false
      const comparison = `${version} ${name}`
      const isFirst = inGroup === undefined && !compared.has(comparison)
      if (isFirst) compared.add(comparison)
      steps.push({ transactionAt, kind: isFirst ? STEP.read : STEP.readAgain, key, version, at })
    }
    for (const [at, { range, seen }] of reads?.ranges.entries() ?? []) {
      if (isIndependent && written.isIn(range)) isIndependent = false
      ranges.push({ transactionAt, at, range, digest: rangeDigest(seen, range) })
      steps.push({ transactionAt, kind: STEP.range, version: ranges.length })
    }
    for (const write of writes) {
      const { key, value, version } = write
      const kind = value === undefined ? STEP.lastDelete : STEP.lastWrite
      const step: Step = { transactionAt, kind, key, version, value }
      steps.push(step)
      written.add(keyName(key), step, versionAfter(write))
      writtenBytes += key.length + (value?.length ?? 0)
    }
  }
  if (steps.length === 0) return undefined
  const parameters = [
    isIndependent ? 1 : 0,
    writtenBytes > 0 ? 1 : 0,
    integerArray(steps.map((step) => step.transactionAt)),
    integerArray(steps.map(({ kind }) => kind)),
    byteaArray(steps.map(({ key }) => key)),
    bigintArray(steps.map(({ version }) => version)),
    byteaArray(steps.map(({ value }) => value)),
    integerArray(ranges.map((range) => range.transactionAt)),
    ...rangeParameters(ranges.map(({ range }) => range)),
    byteaArray(ranges.map(({ digest }) => digest)),
  ]
  return { transactions, steps, ranges, parameters, writtenBytes }
}

function versionAfter({ value, version }: Write): Version {
  return value === undefined ? ABSENT : version
}

/** SHA-256 of the length and bytes of each key and its version, in order of keys: the same as `RANGE_DIGEST` in SQL. */
export function rangeDigest(seen: readonly SeenKey[], { reverse }: WantedRange): Buffer {
  const inOrder = reverse === true ? seen.toReversed() : seen
  let lengthBytes = 0
  for (const { key } of inOrder) lengthBytes += 12 + key.length
  const text = Buffer.allocUnsafe(lengthBytes)
  let at = 0
  for (const { key, version } of inOrder) {
    at = text.writeInt32BE(key.length, at)
    text.set(key, at)
    at = text.writeInt32BE(Math.floor(version / 2 ** 32), at + key.length)
    at = text.writeUInt32BE(version >>> 0, at)
  }
  return hash('sha256', text, 'buffer')
}

type Current = {
  readonly keys: Found['keys'][number][]
  readonly ranges: VersionedEntry[][]
}

export function verdictsOf(group: Group, rows: readonly Row[]): readonly Verdict[] {
  const { transactions, steps, ranges } = group
  const overtaken = new Map<number, Current>()
  for (const [kind, at, key, value, version] of rows) {
    if (kind === null) continue
    if (Number(kind) === RESULT.overtaken) {
      const reads = transactions[Number(at)]?.reads
      overtaken.set(Number(at), {
        keys: Array.from({ length: reads?.keys.length ?? 0 }),
        ranges: reads?.ranges.map(() => []) ?? [],
      })
    } else if (Number(kind) === RESULT.key) {
      const step = steps[Number(at) - 1]
      const current = overtaken.get(step?.transactionAt ?? -1)
      if (current === undefined || step?.at === undefined) continue
      current.keys[step.at] = { value: bytes(value), version: Number(version) }
    } else {
      const place = ranges[Number(at) - 1]
      if (place === undefined) continue
      overtaken.get(place.transactionAt)?.ranges[place.at]?.push(entryOf(key, value, version))
    }
  }
  return transactions.map(({ reads }, at) => {
    const current = overtaken.get(at)
    if (current === undefined) return 'committed'
    const found = current.ranges.map((entries, rangeAt) =>
      rangeEntries(entries, reads?.ranges[rangeAt]?.range),
    )
    return { current: { keys: current.keys, ranges: found } }
  })
}
