// The verdict, for people: what was done, whether it can be explained, and otherwise the calls that can't be.
import type { Answer, Call, Condition } from '../history/call.ts'
import type { Checked, Violation } from './check.ts'
import type { Load } from './load.ts'

export type Verdict = {
  /** 0: explained; 1: not; 2: the run says nothing. */
  readonly exitCode: 0 | 1 | 2
  readonly lines: readonly string[]
}

export function verdictOf(load: Load, checked: Checked): Verdict {
  const { violations, undecided, objectCount } = checked
  const summary = summaryLines(load, objectCount)
  if (violations.length > 0) {
    const first = 'NOT EXPLAINED: no order of these calls explains their answers'
    return { exitCode: 1, lines: [...summary, first, ...violations.flatMap(violationLines)] }
  }
  const reasons = [
    ...load.shortcomings,
    ...undecided.map((object) => `${object}: deciding would take too long`),
  ]
  if (reasons.length > 0) {
    const lines = reasons.map((reason) => `  ${reason}`)
    return { exitCode: 2, lines: [...summary, 'INVALID: this run says nothing', ...lines] }
  }
  return { exitCode: 0, lines: [...summary, 'EXPLAINED: for each object, one order of all calls explains all answers'] } // prettier-ignore
}

function summaryLines(load: Load, objectCount: number): readonly string[] {
  const { callCount, answeredCount, unknownCount, services } = load
  return [
    `${callCount} calls on ${objectCount} objects: ${answeredCount} answered, ${unknownCount} with an unknown outcome`,
    ...services.map(
      ({ service, answeredCount, overlapCount, conflictCount }) =>
        `  ${service.padEnd(6)} ${answeredCount} answered, ${overlapCount} at the same time as another client's, ${conflictCount} refused`,
    ),
  ]
}

function violationLines({ object, callCount, window }: Violation): readonly string[] {
  const { from, calls, otherCount, isLongest } = window
  const [state, ...others] = from
  const or = others.length === 0 ? '' : `, or one of ${others.length} other states`
  return [
    '',
    `${object} (${calls.length} of ${callCount} calls)`,
    `  ${isLongest ? 'after the longest order that explains its answers' : 'before'}: ${JSON.stringify(state) ?? 'nothing'}${or}`,
    ...calls.map((call) => callLine(call)),
    ...(otherCount === 0 ? [] : [`  and ${otherCount} more writes that may have happened in any order, or not at all`]), // prettier-ignore
  ]
}

function callLine(call: Call): string {
  const { client, operation, began, ended, answer, number } = call
  const time = (ms: number) => ms.toFixed(2).padStart(9)
  const who = `client ${client}`.padEnd(10)
  const { name, ...fields } = operation
  return `  #${String(number).padEnd(6)}${who}${time(began)} to ${time(ended)} ms  ${name}${fieldsText(fields)} → ${answerText(answer)}`
}

function answerText(answer: Answer | undefined): string {
  if (answer === undefined) return 'unknown'
  const { status, code, ...fields } = answer
  return `${status}${code === undefined ? '' : ` ${code}`}${fieldsText(fields)}`
}

function fieldsText(fields: object): string {
  return Object.entries(fields)
    .map(
      ([name, value]: [string, unknown]) =>
        ` ${name === 'condition' ? conditionText(value as Condition) : `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`}`,
    ) // prettier-ignore
    .join('')
}

function conditionText({ match, none }: Condition): string {
  const parts = [match && `If-Match: ${match}`, none && `If-None-Match: ${none}`]
  return parts.filter(Boolean).join(' ')
}
