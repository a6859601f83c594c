// Runs the test files below src/, test/ and bench/ with Node's runner; arguments narrow it: `npm test -- kv` runs
// the files whose path contains "kv".
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'

const words = process.argv.slice(2)
// From the end of the alphabet: the files in test/ take longest, and what runs last should be short.
const files = globSync('{src,test,bench}/**/*.test.ts')
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort()
  .reverse()
if (files.length === 0) {
  console.error(`no test file matches ${words.join(' ')}`)
  process.exit(1)
}
// Two files at a time: on two cores Node would run one, and much of a test is waiting for somebody else.
const { status } = spawnSync(
  process.execPath,
  ['--test', '--test-concurrency=2', '--test-reporter=./scripts/reporter.mjs', ...files],
  {
    stdio: 'inherit',
  },
)
process.exit(status ?? 1)
