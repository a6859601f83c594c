// The worker thread that query-threads.ts starts. It runs several queries concurrently: each yields after a few
// milliseconds of work, so a long query slows the others down but never blocks them.
import { setImmediate } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { Budget, QUERY_LIMITS } from './budget.ts'
import { QueryError } from '../query-error.ts'
import type { CheckQuestion, QueryQuestion, QueryReply, RunQuestion } from './query-message.ts'
import { prepareQuery } from './query.ts'

type Session = {
  readonly budget: Budget
  answer: AsyncGenerator<Uint8Array> | undefined
  /** Receives the requested bytes. */
  onBytes: ((bytes: Uint8Array | undefined) => void) | undefined
  isDropped: boolean
}

class Dropped extends Error {}

const sessions = new Map<number, Session>()

parentPort?.on('message', (question: QueryQuestion) => {
  take(question).catch((error: unknown) => {
    const { query } = question
    sessions.delete(query)
    if (error instanceof Dropped) return
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
    send({ kind: 'failed', query, stack })
  })
})

async function take(question: QueryQuestion): Promise<void> {
  if (question.kind === 'check') return check(question)
  if (question.kind === 'run') return run(question)
  const session = sessions.get(question.query)
  if (session === undefined) return
  switch (question.kind) {
    case 'pull':
      return pull(question.query, session)
    case 'bytes':
      session.budget.resume()
      session.onBytes?.(question.bytes)
      return
    case 'drop':
      session.isDropped = true
      sessions.delete(question.query)
      session.onBytes?.(undefined)
      return
  }
}

const newBudget = (): Budget => new Budget(QUERY_LIMITS, () => performance.now())

function check({ query, request }: CheckQuestion): void {
  try {
    prepareQuery(request, 0, newBudget())
    send({ kind: 'valid', query })
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    send({ kind: 'refused', query, code: error.code, message: error.message })
  }
}

function run(question: RunQuestion): Promise<void> {
  const { query, request, nowMs } = question
  const budget = newBudget()
  const session: Session = { budget, answer: undefined, onBytes: undefined, isDropped: false }
  sessions.set(query, session)
  session.answer = prepareQuery(request, nowMs, budget).run({
    ...question,
    chunks: requestChunks(query, session),
    giveWay: () => giveWay(session),
  })
  return pull(query, session)
}

async function pull(query: number, session: Session): Promise<void> {
  session.budget.resume()
  const next = await session.answer?.next()
  if (session.isDropped) return
  session.budget.pause()
  if (next === undefined || next.done === true) {
    sessions.delete(query)
    send({ kind: 'end', query })
  } else {
    // A copy with a buffer of its own, which is transferred.
    const bytes = new Uint8Array(next.value)
    send({ kind: 'part', query, bytes }, [bytes.buffer])
  }
}

async function giveWay(session: Session): Promise<void> {
  await setImmediate()
  if (session.isDropped) throw new Dropped()
}

async function* requestChunks(query: number, session: Session): AsyncGenerator<Uint8Array> {
  for (;;) {
    session.budget.pause()
    send({ kind: 'needsBytes', query })
    const bytes = await new Promise<Uint8Array | undefined>((resolve) => {
      session.onBytes = resolve
    })
    session.onBytes = undefined
    if (session.isDropped) throw new Dropped()
    if (bytes === undefined) return
    yield bytes
  }
}

function send(reply: QueryReply, transfer: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(reply, transfer)
}
