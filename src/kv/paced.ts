// Long reads give way to other requests. A body says where it may pause (`yield* giveWay()`). Nearly all are done
// within their first turn of the event loop. One that is not runs again from its beginning on a snapshot of its own,
// which it keeps from one turn to the next. A body that writes never pauses where it is the only writer.
import type { Step } from './kv.ts'
import { PAUSE } from './step.ts'

/** In the loops of long bodies, about once in a millisecond. */
export function* giveWay(): Step<void> {
  yield PAUSE
}
