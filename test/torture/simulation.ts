// Runs of torture on nodes in this process, over an engine in memory whose reads and commits a seed puts in order. The clock
// stands still, except where a seed moves it. So a seed decides everything. In another place among the runs of a simulation it has
// other names and stamps, and in some of them the cache admits other records, which changes what is read when.
import { checkHistory } from '../../src/torture/check/check.ts'
import { loadOf } from '../../src/torture/check/load.ts'
import { objectsOf, type ObjectHistory } from '../../src/torture/check/objects.ts'
import { explain } from '../../src/torture/check/search.ts'
import { verdictOf } from '../../src/torture/check/report.ts'
import { drainQueues } from '../../src/torture/drive/drain.ts'
import type { Send, Service } from '../../src/torture/drive/kind.ts'
import { createPlaces } from '../../src/torture/drive/place.ts'
import { Random } from '../../src/torture/drive/random.ts'
import { Recorder } from '../../src/torture/drive/recorder.ts'
import { Client, targetsOf, type Terms } from '../../src/torture/drive/workload.ts'
import type { History } from '../../src/torture/history/call.ts'
import { openMemoryEngine } from '../../src/kv/engine/memory.ts'
import { startCluster } from '../cluster/cluster.ts'
import { sendTo } from './in-process.ts'
import { Scheduler, scheduled } from './scheduler.ts'

/** A step of a client: `client.step`. */
export type StepName = string

export type Simulated = { readonly history: History; readonly isExplained: boolean }

/** Of at most some dozen calls on an object. */
const EFFORT = 1_000_000

function isExplained({ model, calls }: ObjectHistory): boolean {
  const effort = { left: EFFORT }
  return explain({ model, calls, from: [model.initial], effort }) === 'explained'
}

/** What a user would read. */
export function linesOf({ history }: Simulated): readonly string[] {
  return verdictOf(loadOf(history), checkHistory(history)).lines
}

/** One of them in each run, so that its few clients meet. Files are used over REST and SMB. */
const SIMULATED: readonly (readonly Service[])[] = [
  ['blob'],
  ['queue'],
  ['table'],
  ['dfs'],
  ['file', 'smb'],
]
const CLIENTS = 4
const STEPS = 9
const NODES = 3
/** Seconds by which a step may move the clock: around a visibility timeout, a lease, and more than any of them. */
const JUMPS = [1, 2, 15, 61]
const JUMP_CHANCE = 0.08
/** Runs of all services. */
const WARM_UPS = 12
const START_MS = Date.UTC(2026, 0, 1)
/** More than stamps are reserved for. */
const BETWEEN_RUNS_MS = 3_600_000
/** Of calls that happen in the same millisecond, the order is in the fraction. */
const TICK_MS = 1e-6

export class Simulation {
  readonly #scheduler = new Scheduler()
  readonly #cleanUps: (() => void | Promise<void>)[] = []
  #sends: readonly Send[] = []
  #nowMs = START_MS
  #ticks = 0
  #runCount = 0
  /** In front of each node; for tests of the simulation. */
  readonly #through: (send: Send) => Send

  constructor(through: (send: Send) => Send = (send) => send) {
    this.#through = through
  }

  async open(): Promise<void> {
    const engine = scheduled(openMemoryEngine({ isShared: true }), this.#scheduler)
    const t = { after: (run: () => void | Promise<void>) => void this.#cleanUps.push(run) }
    const options = { count: NODES, engine, storeClock: () => this.#nowMs, own: withoutTimers }
    const { nodes } = await startCluster(t as Parameters<typeof startCluster>[0], options)
    this.#sends = nodes.map((node) => this.#through(sendTo(node)))
    // What is loaded and read once, takes turns of its own.
    for (let seed = 1; seed <= WARM_UPS; seed += 1) await this.run(seed)
  }

  async close(): Promise<void> {
    for (const cleanUp of this.#cleanUps.reverse()) await cleanUp()
  }

  /** `only`: these steps and no others. */
  async run(seed: number, only?: ReadonlySet<StepName>): Promise<Simulated> {
    const services = new Random(seed, 'service').pick(SIMULATED)
    this.#runCount += 1
    // The same names again would meet what an earlier run has left.
    const run = `sim${seed.toString(36)}x${this.#runCount}`
    const terms: Terms = { seed, clients: CLIENTS, services, run }
    const targets = targetsOf(terms)
    // Each node reserves stamps when the last ones are over: again in each run, so that all runs of a seed are alike.
    this.#nowMs += BETWEEN_RUNS_MS
    const startMs = this.#nowMs
    const nowMs = (): number => this.#nowMs - startMs + (this.#ticks += 1) * TICK_MS
    this.#ticks = 0
    this.#scheduler.seed(seed)
    const recorder = new Recorder(nowMs)
    const sleep = async (ms: number): Promise<void> => void (this.#nowMs += ms)
    const send = this.#sendOf(0, services)
    await createPlaces(send, terms, targets, sleep)
    await Promise.all(
      Array.from({ length: CLIENTS }, (_, at) => this.#runClient(at + 1, terms, recorder, only)),
    )
    const slackMs = 2
    await drainQueues(targets, { send, run, recorder, slackMs, nowMs, sleep })
    const head = { seed, clients: CLIENTS, slackMs, services, faults: false }
    const history = { head, calls: recorder.calls }
    return { history, isExplained: objectsOf(history).every(isExplained) }
  }

  async #runClient(number: number, terms: Terms, recorder: Recorder, only?: ReadonlySet<StepName>) {
    const client = new Client(number, terms, recorder)
    for (let step = 1; step <= STEPS; step += 1) {
      if (only?.has(`${number}.${step}`) === false) continue
      const random = new Random(terms.seed, number, step, 'clock')
      if (random.chance(JUMP_CHANCE)) this.#nowMs += random.pick(JUMPS) * 1_000
      const send = this.#sendOf(random.below(NODES), terms.services)
      await client.step(step, send, endpointOf)
    }
  }

  /** Files have a home; here, requests don't find their way to it. */
  #sendOf(node: number, services: readonly Service[]): Send {
    const send = this.#sends[services.includes('file') ? 0 : node]
    if (send === undefined) throw new Error('the simulation is not open')
    return send
  }
}

/** The node that copies would look for copies each second, and take turns that no seed has chosen. */
const withoutTimers = () => ({ copies: () => undefined })

const endpointOf = (): string => 'http://127.0.0.1/devstoreaccount1'

/** All steps of a run. */
export function allSteps(): ReadonlySet<StepName> {
  const names = Array.from({ length: CLIENTS * STEPS }, (_, at) => `${1 + (at % CLIENTS)}.${1 + Math.floor(at / CLIENTS)}`) // prettier-ignore
  return new Set(names)
}

/** Few steps that still fail: leaves out halves, quarters and so on, down to single steps. */
export async function shrunk(simulation: Simulation, seed: number): Promise<ReadonlySet<StepName>> {
  let kept = [...allSteps()]
  for (let size = kept.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < kept.length;) {
      const fewer = [...kept.slice(0, at), ...kept.slice(at + size)]
      const { isExplained } = await simulation.run(seed, new Set(fewer))
      if (isExplained) at += size
      else kept = fewer
    }
  }
  return new Set(kept)
}
