// `npm run smbtorture [-- --stretch] [words]`: runs the list of tests against Lazuli and prints a table by suite. It
// fails if a test fails that is not in known-failures.txt, or if one that is listed there passes.
import { knownFailures, namesIn, runTorture, startTortureServer, suiteOf } from './torture.ts'
import type { TortureResult } from './torture.ts'

const LIMIT_MS = 120_000

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const isStretch = process.argv.includes('--stretch')
const args = process.argv
  .slice(2)
  .filter((word) => word.startsWith('--client') || word.startsWith('-m'))
const all = isStretch ? [...namesIn('core.txt'), ...namesIn('stretch.txt')] : namesIn('core.txt')
const tests = all.filter((test) => words.length === 0 || words.some((word) => test.includes(word)))

const { server, close } = await startTortureServer()
const results: TortureResult[] = []
for (const test of tests) {
  const [result] = await runTorture([test], { port: server.smbPort, limitMs: LIMIT_MS, args })
  if (result === undefined) continue
  results.push(result)
  if (result.outcome !== 'success')
    console.log(`${result.test}: ${result.outcome}\n${result.reason}`)
}
await close()

const suites = new Set(results.map(({ test }) => suiteOf(test)))
console.log('\n| suite | passed | of |\n|---|---|---|')
for (const suite of suites) {
  const each = results.filter(({ test }) => suiteOf(test) === suite)
  console.log(`| ${suite} | ${each.filter(isPassed).length} | ${each.length} |`)
}
console.log(`| all | ${results.filter(isPassed).length} | ${results.length} |`)

const known = knownFailures()
const surprises = results.filter((result) => isPassed(result) === known.has(result.test))
for (const { test, outcome } of surprises) {
  console.log(
    outcome === 'success' ? `${test} passes: remove it from known-failures.txt` : `${test} fails`,
  )
}
process.exitCode = surprises.length === 0 ? 0 : 1

function isPassed({ outcome }: TortureResult): boolean {
  return outcome === 'success'
}
