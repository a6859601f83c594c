// The suites of smbtorture that hold what matters most: logins and sessions, share modes, locks, renames, deletes,
// chains and caches. The whole list is run by `npm run smbtorture`.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { missingReason } from '../clients/program.ts'
import {
  knownFailures,
  namesIn,
  runTorture,
  startTortureServer,
  suiteOf,
  type TortureServer,
} from '../smbtorture/torture.ts'

const SUITES = [
  'connect', 'session', 'session-id', 'tcon', 'credits', 'create', 'sharemode', 'deny', 'lock', 'rename',
  'delete-on-close-perms', 'compound', 'oplock', 'lease',
] // prettier-ignore

const SUITE_LIMIT_MS = 240_000

const skip = missingReason('smbtorture', ['smbtorture', '--version']) ?? false

describe('smbtorture', { skip, concurrency: 2 }, () => {
  let torture: TortureServer
  before(async () => {
    torture = await startTortureServer()
  })
  after(() => torture.close())

  for (const name of SUITES) {
    const tests = namesIn('core.txt').filter((each) => suiteOf(each) === `smb2.${name}`)
    test(`smb2.${name}`, async () => {
      assert(tests.length > 0, 'the list has tests of this suite')
      const { smbPort: port } = torture.server
      const results = await runTorture(tests, { port, limitMs: SUITE_LIMIT_MS })
      const known = knownFailures()
      const failed = results.filter(({ outcome }) => outcome !== 'success')
      assert.deepEqual(
        failed.map(({ test: each }) => each),
        tests.filter((each) => known.has(each)),
        failed.map(({ test: each, outcome, reason }) => `${each}: ${outcome} ${reason}`).join('\n'),
      )
    })
  }
})
