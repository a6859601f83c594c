// Limits reports that others can cause at will: the first at once, then at most one a minute, with the number of those that
// were left out.

type Fields = Readonly<Record<string, unknown>>
export type Report = (message: string, fields: Fields) => void

const INTERVAL_MS = 60_000

export function rarely(report: Report, clock = () => performance.now()): Report {
  const messages = new Map<string, { untilMs: number; leftOut: number }>()
  return (message, fields) => {
    const nowMs = clock()
    const last = messages.get(message)
    if (last !== undefined && nowMs < last.untilMs) {
      last.leftOut += 1
      return
    }
    messages.set(message, { untilMs: nowMs + INTERVAL_MS, leftOut: 0 })
    const leftOut = last?.leftOut ?? 0
    report(message, leftOut === 0 ? fields : { ...fields, leftOut })
  }
}
