// Long random histories of one blob, compared with a simple model: every state that a client knows of stays
// readable and unchanged, and in the end nothing is left over.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { patternBytes } from '../../../extent/harness.ts'
import type { BlobAt } from '../blob.ts'
import { checkEmpty, DAY_MS, blobWorld, type BlobWorld } from '../harness.ts'

type State = { readonly at: BlobAt; readonly bytes: Buffer; untilMs?: number }

type Model = {
  current: { bytes: Buffer; version: number | undefined } | undefined
  root: { readonly bytes: Buffer; readonly untilMs: number } | undefined
  past: State[]
  isVersioned: boolean
  days: number | undefined
  seed: number
}

type Action = (world: BlobWorld, model: Model, pick: number) => Promise<void>

const isLive = ({ untilMs }: State) => untilMs === undefined
const isSnapshot = ({ at }: State) => 'snapshot' in at

/** Keeps the current state as a version when it is replaced or deleted. */
function keepCurrent(model: Model): void {
  const { current } = model
  if (current === undefined) return
  if (current.version !== undefined) {
    model.past.push({ at: { version: current.version }, bytes: current.bytes })
  }
}

function removeStates(world: BlobWorld, model: Model, chosen: (state: State) => boolean): void {
  const { days } = model
  if (days === undefined) model.past = model.past.filter((state) => !chosen(state))
  for (const state of model.past.filter(chosen)) {
    if (days !== undefined) state.untilMs = world.now.ms + days * DAY_MS
  }
}

const WRITES = [
  (world: BlobWorld, bytes: Buffer) => world.putInline('b', bytes),
  (world: BlobWorld, bytes: Buffer) => world.putWhole('b', bytes),
  (world: BlobWorld, bytes: Buffer) => world.putBlockList('b', [bytes, bytes.subarray(0, 9)]),
  (world: BlobWorld, bytes: Buffer) => world.putPages('b', 2_048, [[0, bytes], [256, bytes]]),
] // prettier-ignore

const ACTIONS: Readonly<Record<string, Action>> = {
  put: async (world, model, pick) => {
    model.seed += 1
    const write = WRITES[pick % WRITES.length]
    const written = await write?.(world, patternBytes(model.seed, 512))
    keepCurrent(model)
    model.current = {
      bytes: (await world.read('b')) ?? Buffer.alloc(0),
      version: model.isVersioned ? written?.version : undefined,
    }
    model.root = undefined
  },
  metadata: async (world, model, pick) => {
    if (model.current === undefined) return
    const { version } = await world.setMetadata('b', String(pick))
    keepCurrent(model)
    model.current = { ...model.current, version }
    assert.equal(version !== undefined, model.isVersioned)
  },
  snapshot: async (world, model) => {
    if (model.current === undefined) return
    const { snapshot, version } = await world.snapshot('b')
    if (model.isVersioned) keepCurrent(model)
    model.past.push({ at: { snapshot }, bytes: model.current.bytes })
    if (version !== undefined) model.current = { ...model.current, version }
  },
  delete: async (world, model) => {
    const { current } = model
    if (current === undefined) return
    await world.delete('b', { snapshots: 'include' })
    keepCurrent(model)
    removeStates(world, model, (state) => isSnapshot(state) && isLive(state))
    if (current.version === undefined && !model.isVersioned && model.days !== undefined) {
      model.root = { bytes: current.bytes, untilMs: world.now.ms + model.days * DAY_MS }
    }
    model.current = undefined
  },
  deletePast: async (world, model, pick) => {
    const live = model.past.filter(isLive)
    const chosen = live[pick % Math.max(1, live.length)]
    if (chosen === undefined) return
    await world.delete('b', {}, chosen.at)
    removeStates(world, model, (state) => state === chosen)
  },
  undelete: async (world, model) => {
    await world.undelete('b').catch((error: unknown) => {
      assert.equal(Object(error).code, 'BlobNotFound')
    })
    for (const state of model.past) {
      if (state.untilMs !== undefined && state.untilMs > world.now.ms) delete state.untilMs
    }
    const { root } = model
    if (root === undefined || root.untilMs <= world.now.ms) return
    model.current = { bytes: root.bytes, version: undefined }
    model.root = undefined
  },
  turn: async (world, model, pick) => {
    model.isVersioned = pick % 2 === 0
    // Turning soft delete off has rules of its own, so only the number of days changes.
    model.days = pick % 3 === 0 ? (model.days ?? 1) : (model.days ?? 0) + 1
    await world.setProperties({
      isVersioningEnabled: model.isVersioned,
      deleteRetentionPolicy: { enabled: true, days: model.days },
    })
  },
  wait: async (world, model, pick) => {
    world.advance((pick % 2) * DAY_MS)
    await world.sweep()
    model.past = model.past.filter(({ untilMs = Infinity }) => untilMs > world.now.ms)
  },
}

async function checkStates(world: BlobWorld, { current, past }: Model): Promise<void> {
  assert.deepEqual(await world.read('b'), current?.bytes)
  for (const state of past) {
    const read = await world.read('b', state.at)
    assert.deepEqual(read, isLive(state) ? state.bytes : undefined, JSON.stringify(state.at))
  }
  if (current === undefined) return
  const count = past.filter((state) => isSnapshot(state) && isLive(state)).length
  assert.ok(((await world.find('b'))?.snapshotCount ?? 0) >= count)
}

/** From whatever state the history ended in, deletes everything and lets the retention end. */
async function checkEnd(world: BlobWorld): Promise<void> {
  await world.checkSound()
  await world.deleteContainer()
  world.advance(400 * DAY_MS)
  await world.sweep()
  await world.checkSound()
  const { container = 0, 'container-name': names = 0 } = await world.counts()
  assert.deepEqual([container, names], [0, 0])
  await checkEmpty(world)
}

const step = fc.tuple(fc.constantFrom(...Object.keys(ACTIONS)), fc.nat(11))

for (const waits of [false, true]) {
  test(`past states stay unchanged${waits ? ' (reads wait)' : ''}`, async () => {
    const history = fc.array(step, { minLength: 8, maxLength: 30 })
    const property = fc.asyncProperty(history, async (steps) => {
      const world = await blobWorld({ waits })
      const model: Model = {
        current: undefined,
        root: undefined,
        past: [],
        isVersioned: false,
        days: undefined,
        seed: 0,
      }
      for (const [name, pick] of steps) {
        await ACTIONS[name]?.(world, model, pick)
        await checkStates(world, model)
      }
      await checkEnd(world)
    })
    await fc.assert(property, { numRuns: waits ? 40 : 120, seed: 7 })
  })
}
