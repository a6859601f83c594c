// At the end of a run, every message must still be there, unless somebody deleted it: reads the queues until they are empty, also of
// messages that were hidden.
import { LATE_MS } from '../model/time.ts'
import type { Send } from './kind.ts'
import type { Sleep } from './place.ts'
import { QUEUE } from './queue.ts'
import type { Recorder } from './recorder.ts'
import type { Target } from './workload.ts'

/** The longest time for which clients hide a message. */
const HIDDEN_MS = 2_000
const PAUSE_MS = 100
const MESSAGES_MAX = 32
/** Nobody gets the same message twice meanwhile. */
const HIDE_SECONDS = 3_600
const FAILURES_MAX = 50
/** A server that does not hide what it delivers never has an empty queue. */
const GETS_MAX = 1_000
/** The number of the client that looks at the end what is there. */
const END_CLIENT = 0

export type Draining = {
  readonly send: Send
  readonly run: string
  readonly recorder: Recorder
  readonly slackMs: number
  readonly nowMs: () => number
  readonly sleep: Sleep
}

export async function drainQueues(targets: readonly Target[], draining: Draining): Promise<void> {
  const { recorder, slackMs, nowMs } = draining
  const queues = targets.filter(({ kind }) => kind === QUEUE)
  const isLate = recorder.calls.some(({ answer }) => answer === undefined)
  const untilMs = nowMs() + HIDDEN_MS + 2 * slackMs + (isLate ? LATE_MS : 0)
  for (const { name } of queues) {
    const isEmpty = await drain(name, untilMs, draining)
    const end = { name: 'end' }
    if (isEmpty)
      await recorder.record(END_CLIENT, `queue/${name}`, end, async () => ({ status: 200 }))
  }
}

/** False: nobody answers, or there is no end. */
async function drain(name: string, untilMs: number, draining: Draining): Promise<boolean> {
  let failures = 0
  for (let gets = 0; gets < GETS_MAX && failures < FAILURES_MAX; gets += 1) {
    const began = draining.nowMs()
    const count = await drainOnce(name, draining)
    if (count === 0 && began > untilMs) return true
    if (count === undefined) failures += 1
    if (count === 0 || count === undefined) await draining.sleep(PAUSE_MS)
  }
  return false
}

/** Returns how many messages were there. */
async function drainOnce(
  name: string,
  { send, run, recorder }: Draining,
): Promise<number | undefined> {
  // prettier-ignore
  const operation = { name: 'get', count: MESSAGES_MAX, seconds: HIDE_SECONDS }
  const place = { run, name, endpoint: '' }
  const answer = await recorder.record(END_CLIENT, `queue/${name}`, operation, () =>
    QUEUE.send(send, place, operation),
  )
  return answer?.messages?.length
}
