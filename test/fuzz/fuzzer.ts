// Looks for inputs that break a decoder. It changes inputs at random and keeps those that reach new code, so that it works
// its way into the decoder. The seed decides everything: a run can be repeated.
import { randomFrom, type Random } from '../random.ts'
import { isTooMuchWork, problemOf } from './check.ts'
import type { Coverage } from './coverage.ts'
import { mutate } from './mutate.ts'
import { bytesOf, type Target } from './target.ts'

/** Reading the counters costs as much as many inputs, so they are read once for so many. */
const BATCH_COUNT = 24
const LENGTH_MAX = 4_096

export type Finding = { readonly input: Buffer; readonly problem: string }

export type FuzzSettings = {
  readonly target: Target
  readonly coverage: Coverage
  readonly seed: number
  /** Inputs of earlier runs. */
  readonly corpus: readonly Buffer[]
  /** Called before each input, for whoever watches over it; false ends the run. */
  goesOn(input: Buffer, count: number): boolean
}

export type FuzzResult = {
  readonly count: number
  readonly blockCount: number
  /** What reaches all the code that was reached, in the order in which it was found. */
  readonly corpus: readonly Buffer[]
  /** The first for each problem. */
  readonly findings: readonly Finding[]
}

export async function fuzz(settings: FuzzSettings): Promise<FuzzResult> {
  const run = new FuzzRun(settings)
  await run.begin()
  await run.explore()
  return run.result()
}

class FuzzRun {
  readonly #settings: FuzzSettings
  readonly #random: Random
  readonly #blocks = new Set<string>()
  readonly #counts = new Set<string>()
  /** V8 joins blocks that ran equally often, so those of a batch differ from those of its inputs. */
  readonly #batchBlocks = new Set<string>()
  readonly #corpus: Buffer[] = []
  readonly #findings = new Map<string, Finding>()
  readonly #words: readonly Buffer[]
  #count = 0
  #isOver = false

  constructor(settings: FuzzSettings) {
    this.#settings = settings
    this.#words = (settings.target.words ?? []).map(bytesOf)
    this.#random = randomFrom(settings.seed)
  }

  /** Each input of the corpus for itself. */
  async begin(): Promise<void> {
    const { target, corpus, coverage } = this.#settings
    coverage.take()
    for (const input of [...target.seeds.map(bytesOf), ...corpus]) await this.#examine(input)
    if (this.#corpus.length === 0) this.#corpus.push(Buffer.alloc(0))
  }

  async explore(): Promise<void> {
    const { coverage } = this.#settings
    while (!this.#isOver) {
      const inputs = Array.from({ length: BATCH_COUNT }, () => this.#next())
      for (const input of inputs) await this.#check(input)
      const { blocks, workCount } = coverage.take()
      const lengthBytes = inputs.reduce((sum, { length }) => sum + length, 0)
      if (hasNew(blocks, this.#batchBlocks) || isTooMuchWork(workCount, lengthBytes)) {
        for (const block of blocks) this.#batchBlocks.add(block)
        for (const input of inputs) await this.#examine(input)
      }
    }
  }

  result(): FuzzResult {
    return {
      count: this.#count,
      blockCount: this.#blocks.size,
      corpus: this.#corpus,
      findings: [...this.#findings.values()],
    }
  }

  #next(): Buffer {
    const { lengthMax = LENGTH_MAX } = this.#settings.target
    // What was found last leads on most often.
    const last = this.#corpus.slice(-8)
    const input = this.#random.pick(this.#random.below(2) === 0 ? last : this.#corpus)
    const material = { words: this.#words, others: this.#corpus, lengthMax }
    return mutate(input, material, this.#random)
  }

  async #check(input: Buffer): Promise<void> {
    if (this.#isOver) return
    if (!this.#settings.goesOn(input, this.#count)) {
      this.#isOver = true
      return
    }
    this.#count += 1
    const problem = await problemOf(this.#settings.target, input)
    if (problem !== undefined) this.#found(input, problem)
  }

  /** Alone, to see what it reaches. */
  async #examine(input: Buffer): Promise<void> {
    const { coverage } = this.#settings
    coverage.take()
    await this.#check(input)
    const { blocks, counts, workCount } = coverage.take()
    if (isTooMuchWork(workCount, input.length)) {
      this.#found(input, `runs ${workCount} blocks for ${input.length} bytes`)
    }
    if (!hasNew(counts, this.#counts)) return
    for (const block of blocks) this.#blocks.add(block)
    for (const count of counts) this.#counts.add(count)
    this.#corpus.push(input)
  }

  /** Problems that differ only in numbers and texts of the input are the same. */
  #found(input: Buffer, problem: string): void {
    const place = /\n +at [^\n]*/.exec(problem)?.[0] ?? ''
    const kind = `${problem.split(/[\n\d'"]/, 1)[0]}${place}`
    const known = this.#findings.get(kind)
    if (known === undefined || known.input.length > input.length) {
      this.#findings.set(kind, { input, problem })
    }
  }
}

function hasNew(found: ReadonlySet<string>, known: ReadonlySet<string>): boolean {
  for (const each of found) if (!known.has(each)) return true
  return false
}
