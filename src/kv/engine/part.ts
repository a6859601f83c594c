// The parts of a record that a range asks for.
import { fieldsEnd } from '../record.ts'
import type { ScanPart } from '../kv.ts'
import type { Value } from './engine.ts'

export const NO_VALUE: Value = new Uint8Array(0)

export function partOf(value: Value, part: ScanPart): Value {
  if (part === 'keys') return NO_VALUE
  return part === 'fields' ? value.subarray(0, fieldsEnd(value)) : value
}
