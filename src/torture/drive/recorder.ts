// Records what clients ask and are answered.
import type { Answer, Call, Operation } from '../history/call.ts'

/** The request may have been lost, or its answer: after these, nobody knows whether it took effect. */
const UNKNOWN_FROM = 500
const UNKNOWN = new Set([408, 429])

/** The server was not there: the operation has no effect, now or later, so it is no call. */
const NOT_SENT = Symbol('not sent')

/** Not a reply that says whether the operation took effect. */
export class NoAnswer extends Error {}

export class Recorder {
  readonly calls: Call[] = []
  readonly #nowMs: () => number

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** undefined: unknown. Rejects only if `run` fails for a reason that is not the server's. */
  async record(
    client: number,
    object: string,
    operation: Operation,
    run: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    // prettier-ignore
    const began = this.#nowMs()
    const [answer, failure] = await answered(run)
    if (failure === NOT_SENT) return undefined
    const ended = this.#nowMs()
    const number = this.calls.length + 1
    const told = answer === undefined ? { failure } : { answer }
    this.calls.push({ number, client, object, operation, began, ended, ...told } as Call)
    return answer
  }
}

async function answered(
  run: () => Promise<Answer>,
): Promise<readonly [Answer | undefined, string | typeof NOT_SENT]> {
  try {
    const answer = await run()
    const isUnknown = answer.status >= UNKNOWN_FROM || UNKNOWN.has(answer.status)
    return isUnknown ? [undefined, [answer.status, answer.code].filter(Boolean).join(' ')] : [answer, ''] // prettier-ignore
  } catch (error) {
    if (error instanceof Error && 'syscall' in error && error.syscall === 'connect') return [undefined, NOT_SENT] // prettier-ignore
    const reason = lostReason(error)
    if (reason === undefined) throw error
    return [undefined, reason]
  }
}

/** Node's errors of connections have a code. */
function lostReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof NoAnswer || error.message === 'TIMEOUT') return error.message
  if ('code' in error && typeof error.code === 'string' && /^(E[A-Z]+|HPE_\w+)$/.test(error.code)) return error.code // prettier-ignore
  return undefined
}
