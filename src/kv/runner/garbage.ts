// For tests of what stays in memory.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { turn } from './harness.ts'

/** Collects garbage, and says what is left. Nothing that was alive in this turn is collected in it. */
export async function collectGarbage<T>(left: () => T): Promise<T> {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  for (let again = 0; again < 3; again += 1) {
    await turn()
    collect()
  }
  return left()
}
