// Checks what is stored twice: indexes and totals against the records that they follow from. A part that a sweep is still
// removing is left alone. All of it can be repaired from the records.
import type { Kv } from '../../kv/kv.ts'
import type { Check, Report } from '../../extent/sweep/problem.ts'
import { checkLeases } from './leases.ts'
import { checkMessages } from './messages.ts'
import { checkTagIndex } from './tags.ts'
import { checkUsage } from './usage.ts'

export function checkIndexes(nowMs: number): Check {
  return async (kv: Kv, report: Report) => {
    await checkLeases(kv, report, nowMs)
    await checkTagIndex(kv, report)
    await checkMessages(kv, report)
    await checkUsage(kv, report)
  }
}
