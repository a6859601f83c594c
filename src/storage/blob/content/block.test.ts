// Block blobs over the memory engine: limits, encryption keys, concurrent commits, and cleanup.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { REFERENCE_RANGE, registerExtent } from '../../../extent/keys.ts'
import type { Piece } from '../../../extent/content/slice.ts'
import type { Kv } from '../../../kv/kv.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { createEncryptionScope } from '../../shared/encryption-scope.ts'
import { StorageError } from '../../shared/error.ts'
import { createMoments, type Moment } from '../../../node/moment.ts'
import { findBlob } from '../blob.ts'
import type { BlobGuard } from '../guard.ts'
import { getBlockList, putBlock, type BlockListEntry } from './block.ts'
import { createContainer } from '../container/container.ts'
import { readContent } from './content.ts'
import { deleteBlob } from '../past/delete.ts'
import type { BlobEncryption, RequestEncryption } from '../encryption.ts'
import { putAnyBlockList } from './long-block-list.ts'
import { getStaging, putStagedBlock, saveStaging, type StagedBlock } from './staging.ts'
import { sweepBlobs } from '../sweep.ts'

const ADDRESS = { account: 'a', container: 'c', blob: 'b' }
const CONTAINER_ID = 1
const WEEK_MS = 7 * 24 * 60 * 60 * 1_000
const GUARD: BlobGuard = { conditions: {}, readRule: 'any' }

const idOf = (text: string) => Buffer.from(text).toString('base64')
const guardWith = (encryption: RequestEncryption): BlobGuard => ({ ...GUARD, encryption })

/** A store with one container and one extent, in which every block is one byte. */
class World {
  readonly kv: Kv
  readonly #moments: () => Moment
  #nowMs = 1_000_000
  #lastId = CONTAINER_ID

  constructor(kv: Kv) {
    this.kv = kv
    this.#moments = createMoments(() => this.#nowMs, 0)
  }

  static async open(kv: Kv = openMemoryKv()): Promise<World> {
    const world = new World(kv)
    const moment = world.moment()
    await kv.write(function* (tx) {
      yield* registerExtent(tx, { state: 'open', sizeBytes: 0, writer: 'test' })
      yield* createContainer(tx, ADDRESS, { id: CONTAINER_ID, metadata: [] }, moment)
      yield* createEncryptionScope(tx, ADDRESS.account, 'scope', Buffer.alloc(32), moment.nowMs)
    })
    return world
  }

  moment(): Moment {
    return this.#moments()
  }

  advance(byMs: number): void {
    this.#nowMs += byMs
  }

  newId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  nextId(): number {
    return this.#lastId + 1
  }

  /** The offset of the blob's first byte, which is the id of its block. */
  firstOffset(): Promise<number | undefined> {
    return this.kv.read(function* (tx) {
      const { stored } = yield* findBlob(tx, ADDRESS, 0)
      const content = stored && (yield* readContent(tx, stored, { from: 0, to: 1 }))
      return content && 'pieces' in content ? content.pieces[0]?.slice?.offset : undefined
    })
  }

  block(encryption?: BlobEncryption): StagedBlock {
    const id = this.newId()
    const slice = { extent: 1, offset: id, lengthBytes: 1, crc32: 0 }
    const piece: Piece = { slice, from: 0, lengthBytes: 1 }
    const block = { lengthBytes: 1, content: { id, pieces: [piece] } }
    return encryption === undefined ? block : { ...block, encryption }
  }

  /** Puts blocks in one transaction. */
  stage(ids: readonly string[], encryption?: BlobEncryption): Promise<void> {
    const blocks = ids.map((blockId) => ({ blockId, block: this.block(encryption) }))
    const moment = this.moment()
    return this.kv.write(function* (tx) {
      for (const { blockId, block } of blocks) {
        yield* putBlock(tx, ADDRESS, { blockId, guard: GUARD }, block, moment)
      }
    })
  }

  commit(entries: readonly BlockListEntry[], guard: BlobGuard = GUARD, kv: Kv = this.kv) {
    const put = { guard, createOnly: false, headers: {}, metadata: [] }
    const list = { entries, newId: () => this.newId(), wallNowMs: 0 }
    return putAnyBlockList(kv, ADDRESS, put, list, this.moment())
  }

  sweep() {
    return sweepBlobs(this.kv, this.moment().nowMs)
  }

  lists() {
    const { nowMs } = this.moment()
    return this.kv.read((tx) => getBlockList(tx, ADDRESS, GUARD, 'all', nowMs))
  }

  async referenceCount(): Promise<number> {
    const range = { ...REFERENCE_RANGE, countMax: 1_000_000 }
    return (await this.kv.read((tx) => tx.scan(range))).length
  }
}

const latest = (ids: readonly string[]): BlockListEntry[] => ids.map((id) => ['Latest', id])
const isCode = (code: string) => (error: unknown) =>
  error instanceof StorageError && error.code === code

test('50,000 blocks can be committed in another order and read', async () => {
  const world = await World.open()
  const ids = Array.from({ length: 50_000 }, (_, i) => idOf(String(i).padStart(48, '0')))
  for (let at = 0; at < ids.length; at += 10_000) await world.stage(ids.slice(at, at + 10_000))
  await world.commit(ids.toReversed().map((id) => ['Uncommitted', id]))
  const { blob, committed = [], uncommitted } = await world.lists()
  assert.equal(blob?.lengthBytes, 50_000)
  assert.deepEqual(uncommitted, [])
  assert.deepEqual([committed.length, committed[0]?.[0]], [50_000, ids.at(-1)])
  const bytes = await world.kv.read(function* (tx) {
    const { stored } = yield* findBlob(tx, ADDRESS, 0)
    assert.ok(stored !== undefined)
    return yield* readContent(tx, stored, { from: 1_000, to: 1_300 })
  })
  assert.ok('pieces' in bytes)
  assert.equal(bytes.pieces.length, 300)
  // Offsets ascend with the ids, and the list is in descending order.
  const offsets = bytes.pieces.map(({ slice }) => slice?.offset ?? 0)
  assert.deepEqual(
    offsets,
    Array.from({ length: 300 }, (_, i) => (offsets[0] ?? 0) - i),
  )
  await world.sweep()
  assert.equal(await world.referenceCount(), 50_000)
})

const MANY = Array.from({ length: 1_500 }, (_, i) => idOf(String(i).padStart(4, '0')))

test('a long list is committed in steps that let other tasks run', async () => {
  const world = await World.open()
  await world.stage(MANY)
  let turns = 0
  const state = { isDone: false }
  const committing = world.commit(latest(MANY)).finally(() => (state.isDone = true))
  for (; !state.isDone; turns += 1) await new Promise(setImmediate)
  assert.equal((await committing).lengthBytes, 1_500)
  assert.ok(turns >= 3, `${turns} turns`)
})

/** The store, with an action that runs before the n-th write. */
function kvWith(kv: Kv, atWrite: number, action: () => Promise<unknown>): Kv {
  let writeCount = 0
  return {
    ...kv,
    write: async (body) => {
      writeCount += 1
      if (writeCount === atWrite) await action()
      return kv.write(body)
    },
  }
}

for (const [event, change] of [
  ['a block is put again', (world: World) => world.stage(MANY.slice(0, 1))],
  ['another client commits', (world: World) => world.commit(latest(MANY.slice(0, 5)))],
] as const) {
  // The mark, three steps, and the switch.
  for (const atWrite of [1, 2, 4, 5]) {
    test(`a long commit uses the change or fails when ${event} before write ${atWrite}`, async () => {
      const world = await World.open()
      await world.stage(MANY)
      let putAgain = 0
      const kv = kvWith(world.kv, atWrite, async () => {
        putAgain = world.nextId()
        await change(world)
      })
      const entries: BlockListEntry[] = MANY.map((id) => ['Uncommitted', id])
      const outcome = await world.commit(entries, GUARD, kv).catch((error: unknown) => error)
      await world.sweep()
      const { blob, committed = [], uncommitted } = await world.lists()
      assert.deepEqual(uncommitted, [])
      assert.equal(await world.referenceCount(), committed.length)
      if (event === 'a block is put again') {
        assert.equal(blob?.lengthBytes, 1_500)
        assert.equal(await world.firstOffset(), putAgain, 'the commit has the new block')
      } else assert.ok(isCode('InvalidBlockList')(outcome) && committed.length === 5)
    })
  }
}

test('blocks that an older version of the server staged can be committed and discarded', async () => {
  const world = await World.open()
  const place = { containerId: CONTAINER_ID, name: ADDRESS.blob, id: undefined }
  const blocks = MANY.map((blockId) => ({ blockId, block: world.block() }))
  await world.kv.write(function* (tx) {
    for (const { blockId, block } of blocks) yield* putStagedBlock(tx, place, blockId, block)
    const times = { createdMs: 1_000_000, touchedMs: 1_000_000 }
    saveStaging(tx, CONTAINER_ID, ADDRESS.blob, { blockCount: 1_500, blockIdBytes: 4, ...times })
  })
  await world.stage([idOf('late')])
  const { uncommitted } = await world.lists()
  assert.equal(uncommitted?.length, 1_501)
  await world.commit(latest(MANY.slice(10)))
  await world.sweep()
  assert.equal((await world.lists()).committed?.length, 1_490)
  assert.equal(await world.referenceCount(), 1_490)
})

test('with 100,000 uncommitted blocks, one can be replaced and none can be added', async () => {
  const world = await World.open()
  await world.stage([idOf('a')])
  const { nowMs } = world.moment()
  await world.kv.write(function* (tx) {
    const staging = yield* getStaging(tx, CONTAINER_ID, ADDRESS.blob, nowMs)
    assert.ok(staging !== undefined)
    saveStaging(tx, CONTAINER_ID, ADDRESS.blob, { ...staging, blockCount: 100_000 })
  })
  await world.stage([idOf('a')])
  await assert.rejects(world.stage([idOf('b')]), {
    code: 'BlockCountExceedsLimit',
    status: 409,
    message: 'The uncommitted block count cannot exceed the maximum limit of 100,000 blocks.',
  })
})

const KEY: BlobEncryption = { keySha256: 'one' }
const SCOPE: BlobEncryption = { scope: 'scope' }
const withKey = guardWith({ customerKey: { sha256: 'one' } })
const withOther = guardWith({ customerKey: { sha256: 'two' } })
const withScope = guardWith({ scope: 'scope' })
const NOT_GIVEN = 'BlobUsesCustomerSpecifiedEncryption'
const NOT_USED = 'BlobDoesNotUseCustomerSpecifiedEncryption'
const MISMATCH = 'BlobCustomerSpecifiedEncryptionMismatch'

// prettier-ignore
const ENCRYPTED: readonly (readonly [of: string, block: BlobEncryption | undefined, by: string, guard: BlobGuard, outcome: string])[] = [
  ['no key', undefined, 'none', GUARD, 'ok'],
  ['no key', undefined, 'a key', withKey, NOT_USED],
  ['no key', undefined, 'a scope', withScope, NOT_USED],
  ['a key', KEY, 'none', GUARD, NOT_GIVEN],
  ['a key', KEY, 'the key', withKey, 'ok'],
  ['a key', KEY, 'another key', withOther, MISMATCH],
  ['a key', KEY, 'a scope', withScope, MISMATCH],
  ['a scope', SCOPE, 'none', GUARD, NOT_GIVEN],
  ['a scope', SCOPE, 'the scope', withScope, 'ok'],
  ['a scope', SCOPE, 'an unknown scope', guardWith({ scope: 'nowhere' }), 'EncryptionScopeNotFound'],
]

for (const [of, encryption, by, guard, outcome] of ENCRYPTED) {
  test(`a block under ${of}, committed with ${by}: ${outcome}`, async () => {
    const world = await World.open()
    await world.stage([idOf('a')], encryption)
    const committing = world.commit(latest([idOf('a')]), guard)
    if (outcome !== 'ok') return assert.rejects(committing, isCode(outcome))
    assert.deepEqual((await committing).encryption, encryption)
    // The same holds for committed blocks.
    await assert.rejects(world.commit(latest([idOf('a')]), withOther), StorageError)
    assert.equal((await world.commit(latest([idOf('a')]), guard)).lengthBytes, 1)
    // A list that reuses no block may change the key.
    assert.deepEqual((await world.commit([], withOther)).encryption, { keySha256: 'two' })
  })
}

for (const waits of [false, true]) {
  test(`replaced, discarded, deleted and expired blocks leave no references (waits: ${waits})`, async () => {
    const world = await World.open(openMemoryKv({ waits }))
    const ids = Array.from({ length: 70 }, (_, i) => idOf(String(i).padStart(3, '0')))
    await world.stage(ids)
    await world.stage(ids.slice(0, 20))
    assert.equal(await world.referenceCount(), 70)
    await world.commit(latest(ids.slice(0, 66)))
    assert.equal(await world.referenceCount(), 66)
    await world.stage(ids.slice(60))
    assert.equal(await world.referenceCount(), 76)
    await world.commit(latest([...ids.slice(0, 3), ...ids.slice(0, 3)]))
    await sweepBlobs(world.kv, world.moment().nowMs)
    assert.equal(await world.referenceCount(), 3)
    const moment = world.moment()
    await world.kv.write((tx) => deleteBlob(tx, ADDRESS, { guard: GUARD }, moment))
    await world.stage(ids)
    world.advance(WEEK_MS)
    await assert.rejects(world.lists(), isCode('BlobNotFound'))
    await world.stage([idOf('new')])
    assert.equal(await world.referenceCount(), 1)
    world.advance(WEEK_MS)
    await sweepBlobs(world.kv, world.moment().nowMs)
    assert.equal(await world.referenceCount(), 0)
  })
}

test('concurrent puts of blocks are all counted, even when bodies run again', async () => {
  const world = await World.open(openMemoryKv({ waits: true }))
  const ids = Array.from({ length: 16 }, (_, i) => idOf(String(i).padStart(2, '0')))
  await Promise.all([...ids, ...ids].map((id) => world.stage([id])))
  const { uncommitted } = await world.lists()
  assert.deepEqual(
    uncommitted,
    ids.toSorted().map((id) => [id, 1]),
  )
  assert.equal(await world.referenceCount(), 16)
  await assert.rejects(world.stage([idOf('another length')]), isCode('InvalidBlobOrBlock'))
  const [whole, empty] = await Promise.allSettled([world.commit(latest(ids)), world.commit([])])
  assert.equal(empty.status, 'fulfilled')
  if (whole.status === 'rejected') assert.ok(isCode('InvalidBlockList')(whole.reason))
  const { blob, committed } = await world.lists()
  assert.equal(blob?.lengthBytes, committed?.length)
  assert.equal(await world.referenceCount(), committed?.length)
})
