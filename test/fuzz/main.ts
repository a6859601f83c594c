// npm run fuzz [-- name …] [--seconds N] [--seed N] [--save]
//
// A minute of each decoder whose name contains one of the words, in a thread of its own: with a limit on memory, and a
// watcher for inputs that never end. What breaks a decoder is added to crashers/, which `npm test` replays. `--save`
// keeps what reaches new code in corpus/.
import { parseArgs } from 'node:util'
import { randomInt } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import type { Finding } from './fuzzer.ts'
import { readInputs, writeInputs } from './input-file.ts'
import { GROUPS } from './targets.ts'

const SECONDS = 60
/** An input that takes longer does not end. The slowest takes a few milliseconds. */
const HANG_MS = 30_000
const HEAP_MIB_MAX = 512
const CORPUS_COUNT_MAX = 24
const CORPUS_BYTES_MAX = 512
const INPUT_BYTES_MAX = 64 * 1_024

/** The number of inputs so far, the length of the current one, and its bytes. */
const HEADER_BYTES = 8

type Done = {
  readonly count: number
  readonly blockCount: number
  readonly corpus: readonly Uint8Array[]
  readonly findings: readonly (Omit<Finding, 'input'> & { readonly input: Uint8Array })[]
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: String(SECONDS) },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    save: { type: 'boolean', default: false },
  },
})

let problemCount = 0
let foundCount = 0
for (const [group, load] of Object.entries(GROUPS)) {
  for (const { name } of await load()) {
    if (positionals.length > 0 && !positionals.some((word) => name.includes(word))) continue
    foundCount += 1
    problemCount += await runOne(group, name)
  }
}
if (foundCount === 0) console.log(`No decoder is named ${positionals.join(' or ')}.`)
else if (problemCount === 0) console.log('No problems.')
else console.log(`${problemCount} problems, saved in test/fuzz/crashers/.`)
process.exit(problemCount === 0 && foundCount > 0 ? 0 : 1)

/** Returns the number of problems. */
async function runOne(group: string, name: string): Promise<number> {
  const shared = new SharedArrayBuffer(HEADER_BYTES + INPUT_BYTES_MAX)
  const { seed, seconds } = values
  const worker = new Worker(new URL('worker.ts', import.meta.url), {
    workerData: {
      group,
      name,
      seed: Number(seed),
      seconds: Number(seconds),
      shared,
      corpus: readInputs('corpus', name),
    },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
  })
  const { done, problem } = await outcomeOf(worker, shared)
  const findings = [...(done?.findings ?? [])]
  if (problem !== undefined) findings.push({ input: currentInput(shared), problem })
  const line = done && `${done.count} inputs, ${done.corpus.length} reach ${done.blockCount} blocks`
  console.log(`${name}: seed ${seed}: ${line ?? problem}`)
  for (const finding of findings) report(name, finding)
  if (values.save && done !== undefined) save(name, done.corpus)
  return findings.length
}

function outcomeOf(
  worker: Worker,
  shared: SharedArrayBuffer,
): Promise<{ readonly done?: Done; readonly problem?: string }> {
  const counter = new Int32Array(shared, 0, 1)
  return new Promise((resolve) => {
    let [before, sinceMs] = [0, performance.now()]
    const watch = setInterval(() => {
      const count = Atomics.load(counter, 0)
      if (count !== before) [before, sinceMs] = [count, performance.now()]
      else if (performance.now() - sinceMs > HANG_MS) {
        void worker.terminate()
        resolve({ problem: `does not end within ${HANG_MS} ms` })
      }
    }, 1_000)
    worker.once('message', (done: Done) => resolve({ done }))
    worker.once('error', (error) => resolve({ problem: error.stack ?? String(error) }))
    worker.once('exit', () => {
      clearInterval(watch)
      resolve({ problem: 'ends the process' })
    })
  })
}

function currentInput(shared: SharedArrayBuffer): Buffer {
  const lengthBytes = Atomics.load(new Int32Array(shared, 4, 1), 0)
  return Buffer.from(new Uint8Array(shared, HEADER_BYTES, lengthBytes))
}

function report(
  name: string,
  { input, problem }: { readonly input: Uint8Array; readonly problem: string },
): void {
  console.log(
    `  ${problem.slice(0, 3_000)}\n  input: ${JSON.stringify(Buffer.from(input).toString('latin1')).slice(0, 2_000)}`,
  )
  const known = readInputs('crashers', name)
  if (!known.some((each) => each.equals(input))) {
    writeInputs('crashers', name, [...known, Buffer.from(input)])
  }
}

/** The shortest; a run that begins with them finds the others again. */
function save(name: string, corpus: readonly Uint8Array[]): void {
  const inputs = corpus.map((input) => Buffer.from(input))
  const short = inputs.filter(({ length }) => length <= CORPUS_BYTES_MAX)
  writeInputs('corpus', name, short.sort((a, b) => a.length - b.length).slice(0, CORPUS_COUNT_MAX))
}
