// Every operation of the Blob, Queue and File services with mutations in every part of its request. Each gets a proper
// response, never an internal error; refused requests change nothing; deletes leave nothing behind.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BLOB_OPERATIONS } from '../src/rest/blob/operations.ts'
import { FILE_OPERATIONS } from '../src/rest/file/operations.ts'
import { QUEUE_OPERATIONS } from '../src/rest/queue/operations.ts'
import { BLOB_SEEDS } from './hostile-blob-seeds.ts'
import { FILE_SEEDS } from './hostile-file-seeds.ts'
import { QUEUE_SEEDS } from './hostile-queue-seeds.ts'
import { ACCOUNT } from './harness.ts'
import { deleteAll } from './hostile-cleanup.ts'
import { newReport, runScenario, type RunOptions } from './hostile-run.ts'
import { changesOf, keysOf, problemsOf, stateOf } from './hostile-store.ts'
import { readCanary, startHostileWorld, type HostileWorld } from './hostile-world.ts'

let world: HostileWorld
let canary: string[]
let untouched: string[]

/** The kinds of records that must be gone once everything is deleted. */
const KINDS = [
  'map', 'deleted-map', 'extent-reference', 'small-slice', 'small-dropped', 'blob', 'blob-past', 'blob-orphans', 'blob-staging', 'blob-block', 'blob-tag', 'due',
  'pending-copy', 'container', 'container-past', 'deleted-container', 'container-name', 'queue', 'queue-tally', 'message', 'message-id', 'deleted-queue',
  'share', 'share-past', 'share-snapshot', 'share-due', 'share-usage', 'deleted-share', 'deleted-share-snapshot', 'file-node', 'file-node-past', 'file-entry', 'file-entry-past',
  'file-permission', 'pending-file-copy',
] // prettier-ignore

before(async () => {
  world = await startHostileWorld()
  canary = await readCanary(world)
  untouched = await keysOf(world.server.store, KINDS)
})
after(() => world.close())

test('every operation has a seed', () => {
  const unique = (names: readonly string[]) => [...new Set(names)].toSorted()
  const tables = [
    [BLOB_SEEDS, BLOB_OPERATIONS],
    [QUEUE_SEEDS, QUEUE_OPERATIONS],
    [FILE_SEEDS, FILE_OPERATIONS],
  ] as const
  for (const [seeds, operations] of tables) {
    assert.deepEqual(
      unique(seeds.map(({ operation }) => operation)),
      unique(operations.map(({ name }) => name)),
    )
  }
})

test('every seed succeeds unmutated', async () => {
  await runGood('before')
})

/** Runs the scenarios unmutated. */
async function runGood(run: string): Promise<void> {
  const report = newReport()
  world.hold(true)
  await runScenario(world, world.namesFor(run), { mutationCount: 0, seed: 0 }, report)
  world.hold(false)
  assert.deepEqual(report.faults, [])
}

const SEED_COUNT = BLOB_SEEDS.length + QUEUE_SEEDS.length + FILE_SEEDS.length
const WORKER_COUNT = 6
const ROUND_COUNT = 3
/** LAZULI_HOSTILE_REQUESTS and LAZULI_HOSTILE_SEED allow longer and different runs. */
const REQUEST_COUNT = Number(process.env.LAZULI_HOSTILE_REQUESTS ?? 4_500)
/** The number of mutations of each seed. */
const REFUSED_COUNT = Math.ceil(REQUEST_COUNT / 2_500)
const SEED = Number(process.env.LAZULI_HOSTILE_SEED ?? 20_261_116)

test('a refused request changes nothing', { timeout: 3_600_000 }, async () => {
  const report = newReport()
  const names = world.namesFor('refused')
  // No copy may complete while another request is checked.
  names.set('web', `${names.get('blob')}/${ACCOUNT}/canary`)
  let state = await stateOf(world.server.store)
  const changed: string[] = []
  const around: RunOptions['around'] = async (send) => {
    const answer = await send()
    const next = await stateOf(world.server.store)
    const keys = changesOf(state, next)
    state = next
    if (answer !== undefined && answer.status >= 300 && keys.length > 0) {
      changed.push(`${answer.status} ${answer.headers['x-ms-error-code']}: ${keys.join()}`)
    }
    return answer
  }
  await runScenario(world, names, { mutationCount: REFUSED_COUNT, seed: SEED, around }, report)
  assert.deepEqual(changed, [])
  assert.deepEqual(report.faults, [])
})

test('copies are refused from forbidden sources and from servers with invalid responses', async () => {
  const report = newReport()
  const options = { mutationCount: 0, seed: SEED, withSources: true } as const
  await runScenario(world, world.namesFor('sources'), options, report)
  assert.deepEqual(report.faults, [])
  assert.deepEqual(world.trapped, [])
  assert.equal(world.server.logged(), '')
  for (const path of ['/redirect', '/cut', '/longer', '/odd-headers', '/not-http', '/missing']) {
    assert.ok(world.copiedFrom().has(path), `no copy has requested ${path}`)
  }
})

test(`${REQUEST_COUNT} mutated requests get proper responses`, { timeout: 3_600_000 }, async () => {
  const report = newReport()
  const heapBytes: number[] = []
  const mutationCount = Math.ceil(REQUEST_COUNT / ROUND_COUNT / WORKER_COUNT / SEED_COUNT)
  for (let round = 0; round < ROUND_COUNT; round += 1) {
    const runs = Array.from({ length: WORKER_COUNT }, (_, worker) => {
      const names = world.namesFor(`${round}-${worker}`)
      const seed = SEED + round * 1_000 + worker
      return runScenario(world, names, { mutationCount, seed, tornOneIn: 8 }, report)
    })
    await Promise.all(runs)
    assert.deepEqual(report.faults, [])
    assert.equal(world.server.logged(), '')
    assert.deepEqual(await readCanary(world), canary)
    world.server.advance(61_000)
    await world.server.store.sweep()
    heapBytes.push(usedHeapBytes())
  }
  // The requests did reach the operations.
  for (const status of [200, 201, 202, 204, 206, 400, 403, 404, 405, 409, 412]) {
    assert.ok(report.statuses.has(status), `no ${status}`)
  }
  assert.deepEqual(world.trapped, [])
  const [first = 0] = heapBytes
  const grownBytes = (heapBytes.at(-1) ?? 0) - first
  assert.ok(
    grownBytes < HEAP_BYTES_MAX + report.requestCount * HEAP_BYTES_PER_REQUEST,
    heapBytes.join(),
  )
})

const HEAP_BYTES_MAX = 24 * 1024 * 1024
/** The store is in memory and keeps what the mutated requests have written. */
const HEAP_BYTES_PER_REQUEST = 500

function usedHeapBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

test('every seed still succeeds after the mutations', async () => {
  await runGood('after')
  assert.equal(world.server.logged(), '')
})

const YEAR_MS = 365 * 24 * 60 * 60 * 1_000

test('deletes leave nothing behind', async () => {
  const { store } = world.server
  while ((await keysOf(store, ['pending-copy', 'pending-file-copy'])).length > 0)
    await setImmediate()
  await world.server.flushLogs()
  assert.deepEqual(await deleteAll(world), [])
  world.server.advance(YEAR_MS * 200)
  await store.sweep({ graceMs: 0 })
  await store.sweep({ graceMs: 0 })
  assert.deepEqual(await problemsOf(store), [])
  const left = await keysOf(store, KINDS)
  // $logs itself cannot be deleted.
  const added = left.filter((key) => !untouched.includes(key))
  const kinds = added.map((key) => key.replace(/\["container-name",\d+\]/, 'name'))
  assert.deepEqual(kinds, [`["container","${ACCOUNT}","$logs"]`, 'name'])
  // Each pass removes a limited number of extents.
  for (let pass = 0; pass < 20; pass += 1) await store.sweep({ graceMs: 0 })
  assert.ok(store.extents.sizeBytes() < 2 ** 20, String(store.extents.sizeBytes()))
  assert.deepEqual(await readCanary(world), canary)
})
