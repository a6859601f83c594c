// The most important suites of smbtorture: logins and sessions, share modes, locks, renames, deletes, chains and caches.
// `npm run smbtorture` runs the whole list.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { missingReason } from '../clients/program.ts'
import {
  knownFailures,
  namesIn,
  runTorture,
  startTortureServer,
  suiteOf,
} from '../smbtorture/torture.ts'

const SUITES = [
  'connect', 'session', 'session-id', 'tcon', 'credits', 'create', 'sharemode', 'deny', 'lock', 'rename',
  'delete-on-close-perms', 'compound', 'oplock', 'lease',
] // prettier-ignore

/** smbtorture mostly waits for breaks that must not come, so many run at once, each with its own server. */
const CONCURRENCY = 8
const PART_TESTS_MAX = 8
const PART_LIMIT_MS = 240_000

const skip = missingReason('smbtorture', ['smbtorture', '--version']) ?? false

/** The tests of a suite in small groups. */
function partsOf(suite: string): readonly (readonly string[])[] {
  const tests = namesIn('core.txt').filter((each) => suiteOf(each) === `smb2.${suite}`)
  assert(tests.length > 0, `the list has tests of ${suite}`)
  const count = Math.ceil(tests.length / PART_TESTS_MAX)
  return Array.from({ length: count }, (_, part) =>
    tests.filter((_test, at) => at % count === part),
  )
}

describe('smbtorture', { skip, concurrency: CONCURRENCY }, () => {
  // The longest suites first, so that none runs alone at the end.
  const suites = SUITES.map((suite) => ({ suite, parts: partsOf(suite) }))
  for (const { suite, parts } of suites.toSorted((a, b) => b.parts.length - a.parts.length)) {
    for (const [at, tests] of parts.entries()) {
      test(`smb2.${suite}, part ${at + 1} of ${parts.length}`, () => runPart(tests))
    }
  }
})

async function runPart(tests: readonly string[]): Promise<void> {
  const torture = await startTortureServer()
  try {
    const { smbPort: port } = torture.server
    const results = await runTorture(tests, { port, limitMs: PART_LIMIT_MS })
    const known = knownFailures()
    const failed = results.filter(({ outcome }) => outcome !== 'success')
    assert.deepEqual(
      failed.map(({ test: each }) => each),
      tests.filter((each) => known.has(each)),
      failed.map(({ test: each, outcome, reason }) => `${each}: ${outcome} ${reason}`).join('\n'),
    )
  } finally {
    await torture.close()
  }
}
