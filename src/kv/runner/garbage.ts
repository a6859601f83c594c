// Garbage collection, for tests of what stays in memory.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { turn } from '../engine/harness.ts'

/** Collects garbage, then returns what `left` finds. WeakRefs keep their objects alive until the turn ends. */
export async function collectGarbage<T>(left: () => T): Promise<T> {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  for (let again = 0; again < 3; again += 1) {
    await turn()
    collect()
  }
  return left()
}
