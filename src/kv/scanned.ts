// The value of a scan where it is at hand, and the base of those that read it first.
import type { Entry, Picker, ScannedValue, Value } from './kv.ts'

export abstract class Scanned implements ScannedValue {
  abstract bytes(): Value

  lengthBytes(): number {
    return this.bytes().length
  }

  made<T>(decode: (value: Value) => T): T {
    return decode(this.bytes())
  }
}

/** One for a whole scan: it shows the value of one entry after the other. */
class ScannedEntry extends Scanned {
  value: Value = NONE

  bytes(): Value {
    return this.value
  }
}

const NONE = new Uint8Array(0)

export function pickEntries<T>(entries: readonly Entry[], pick: Picker<T>): readonly T[] {
  const scanned = new ScannedEntry()
  return entries.map(({ key, value }) => {
    scanned.value = value
    return pick(key, scanned)
  })
}
