// What a check of a store finds, and how it can be repaired.
import { decodeKey } from '../../kv/key.ts'
import type { Key, Kv, Step, Tx } from '../../kv/kv.ts'
import type { SweptExtentStore } from '../extent.ts'

export type Problem = {
  readonly kind:
    | 'recordUnreadable'
    | 'inlineLength'
    | 'pieceOutsideSlice'
    | 'referenceMissing'
    | 'referenceWithoutOwner'
    | 'extentMissing'
    | 'sliceOutsideExtent'
    | 'sliceDamaged'
    | 'fileMissing'
    | 'fileWithoutRecord'
    | 'garbageNotMarked'
    | 'indexEntryMissing'
    | 'indexEntryStale'
    | 'totalWrong'
  /** The parts of the record's key as JSON; empty for a file. */
  readonly key: string
  readonly detail: string
  /** Absent: nothing can bring back what is lost. */
  readonly repair?: Repair
}

/** Nobody else may use the store meanwhile. */
export type Repair = {
  /** What it does, for people. */
  readonly text: string
  run(kv: Kv, store: SweptExtentStore): Promise<void>
}

export function problem(kind: Problem['kind'], key: Key, detail: string): Problem {
  return { kind, key: keyText(key), detail }
}

export function keyText(key: Key): string {
  try {
    return JSON.stringify(decodeKey(key))
  } catch {
    return Buffer.from(key).toString('hex')
  }
}

export function repairBy(text: string, body: (tx: Tx) => Step<void>): Repair {
  return { text, run: (kv) => kv.write(body) }
}

export type Report = (problem: Problem) => Promise<void>

/** A part of a check that needs the whole store for itself. */
export type Check = (kv: Kv, report: Report) => Promise<void>
