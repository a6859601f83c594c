// Kills a server at a chosen event of a test, not after a time. An event is a request that a client sends or an answer
// that it receives, so the server has always acknowledged something and is always in the middle of something else.
import assert from 'node:assert/strict'
import type { Running } from './server-process.ts'

export type CrashPoint = {
  /** A client has sent a request or received an answer. */
  happened(): void
  /** Fails with the error of a request, unless the server was killed before it. */
  expectKilled(error: unknown): void
  /** Resolves when the server is dead; fails if anything but the kill has ended it. */
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
