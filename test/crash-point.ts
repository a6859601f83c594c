// Kills a server at a chosen event of a test, not after a time. An event is a request sent or a response received by a
// client, so the server has always acknowledged something and is always busy with something else.
import assert from 'node:assert/strict'
import type { Running } from './server-process.ts'

export type CrashPoint = {
  /** Counts a request that a client has sent or a response that it has received. */
  happened(): void
  /** Rethrows the error of a request unless the server was killed. */
  expectKilled(error: unknown): void
  /** Resolves when the server is dead; rejects if it ended for another reason. */
  readonly killed: Promise<void>
}

export function killAtEvent({ child, ended }: Running, eventCount: number): CrashPoint {
  let happened = 0
  return {
    happened: () => {
      happened += 1
      if (happened === eventCount) child.kill('SIGKILL')
    },
    expectKilled: (error) => {
      if (happened < eventCount) throw error
    },
    killed: ended.then(({ signal }) => assert.equal(signal, 'SIGKILL')),
  }
}
