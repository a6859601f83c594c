// The thread in which main.ts fuzzes one decoder.
import { parentPort, workerData } from 'node:worker_threads'
import { Coverage } from './coverage.ts'
import { fuzz } from './fuzzer.ts'
import { loadGroup } from './targets.ts'

type Given = {
  readonly group: string
  readonly name: string
  readonly seed: number
  readonly seconds: number
  readonly shared: SharedArrayBuffer
  readonly corpus: readonly Uint8Array[]
}

const { group, name, seed, seconds, shared, corpus } = workerData as Given
const header = new Int32Array(shared, 0, 2)
const bytes = new Uint8Array(shared, 8)

const coverage = new Coverage()
coverage.start()
const target = (await loadGroup(group)).find((each) => each.name === name)
if (target === undefined) throw new Error(name)
const untilMs = performance.now() + seconds * 1_000
const { count, blockCount, findings, ...rest } = await fuzz({
  target,
  coverage,
  seed,
  corpus: corpus.map((input) => Buffer.from(input)),
  goesOn: (input) => {
    const cut = input.subarray(0, bytes.length)
    bytes.set(cut)
    Atomics.store(header, 1, cut.length)
    Atomics.add(header, 0, 1)
    return performance.now() < untilMs
  },
})
// A port of node:worker_threads has no origin.
// oxlint-disable-next-line unicorn/require-post-message-target-origin
parentPort?.postMessage({ count, blockCount, findings, corpus: rest.corpus })
