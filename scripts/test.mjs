// Runs the test files in src/, test/ and bench/ with Node's test runner. `npm test -- kv` runs only the files whose path
// contains "kv".
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { resolve } from 'node:path'

const words = process.argv.slice(2)
// Node sorts them.
const files = globSync('{src,test,bench}/**/*.test.ts').filter(
  (file) => words.length === 0 || words.some((word) => file.includes(word)),
)
if (files.length === 0) {
  console.error(`No test file matches ${words.join(' ')}.`)
  process.exit(1)
}
// Hundreds of processes load the same modules, which takes half the time if they are compiled once.
const NODE_COMPILE_CACHE = resolve('node_modules/.cache/compiled')
// Two files at a time: on two cores Node would run only one, and tests spend much time waiting.
const { status } = spawnSync(
  process.execPath,
  ['--test', '--test-concurrency=2', '--test-reporter=./scripts/reporter.mjs', ...files],
  { stdio: 'inherit', env: { NODE_COMPILE_CACHE, ...process.env } },
)
process.exit(status ?? 1)
