// Long reads give way. A body says where it may stop for a turn of the event loop (`yield* giveWay()`). Nearly all are
// done before their turn is over. One that is not is run again from its beginning on a snapshot of its own, which it
// keeps from one turn to the next. A body that writes never stops: nobody else may write meanwhile.
import type { ReadTx, Step } from './kv.ts'
import { PAUSE, runStraight } from './transaction.ts'
import { Turn } from './turn.ts'

/** Longer than a turn: to begin again costs all that was done, and few reads take so long. */
const STRAIGHT_MS = 25

/** One state of the store, for as long as it takes. */
export type Snapshot = { readonly reads: ReadTx; release(): void }

/** In the loops of long bodies, about once in a millisecond. */
export function* giveWay(): Step<void> {
  yield PAUSE
}

/** For engines whose reads never wait. */
export async function runPaced<T>(
  body: (tx: ReadTx) => Step<T>,
  reads: ReadTx,
  takeSnapshot: () => Snapshot,
): Promise<T> {
  const steps = body(reads)
  let result = steps.next()
  if (result.done === true) return result.value
  const turn = new Turn(STRAIGHT_MS)
  while (result.done !== true && !turn.isOver()) result = nextOf(steps, result.value)
  if (result.done === true) return result.value
  await turn.next()
  return runKept(body, takeSnapshot())
}

async function runKept<T>(body: (tx: ReadTx) => Step<T>, { reads, release }: Snapshot): Promise<T> {
  try {
    const steps = body(reads)
    const turn = new Turn()
    let result = steps.next()
    while (result.done !== true) {
      if (turn.isOver()) await turn.next()
      result = nextOf(steps, result.value)
    }
    return result.value
  } finally {
    release()
  }
}

/** For a body that must not stop, inside of one that may. */
export function* straight<T>(steps: Step<T>): Step<T> {
  return runStraight(steps)
}

function nextOf<T>(steps: Step<T>, yielded: unknown): IteratorResult<unknown, T> {
  if (yielded !== PAUSE) throw new Error('a read of this engine waited')
  return steps.next()
}
