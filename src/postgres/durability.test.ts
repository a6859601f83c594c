import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durabilityText } from './durability.ts'

// prettier-ignore
const CASES: readonly (readonly [synchronousCommit: string, standbyNames: string, text: RegExp])[] = [
  ['off', '', /^A crash .* can lose the last acknowledged writes/],
  ['off', '*', /^A crash .* can lose the last acknowledged writes/],
  ['on', '', /^A crash .* loses nothing; a fail-over .* can lose .*synchronous_standby_names is empty/],
  ['local', '*', /^A crash .* loses nothing; a fail-over .* can lose .*synchronous_commit is local/],
  ['remote_write', 'ANY 1 (*)', /only if the standby's machine crashes as well .*ANY 1 \(\*\)/],
  ['on', '*', /^A fail-over to a synchronous standby loses nothing/],
  ['remote_apply', 'one', /^A fail-over to a synchronous standby loses nothing .*one/],
]

for (const [synchronousCommit, standbyNames, text] of CASES) {
  test(`synchronous_commit ${synchronousCommit}, standbys "${standbyNames}"`, () => {
    assert.match(durabilityText({ synchronousCommit, standbyNames }), text)
  })
}
