// The end of a copy from another server: copied bytes that the file does not use are removed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkStore } from '../../../extent/sweep/fsck.ts'
import { chunksOf } from '../../../extent/harness.ts'
import { openMemoryExtents } from '../../../extent/memory.ts'
import { wholeSlice } from '../../../extent/content/slice-list.ts'
import { encodeKey } from '../../../kv/key.ts'
import { prefixRange, type Step } from '../../../kv/kv.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { scanAll } from '../../../kv/scan.ts'
import { sweepBlobs } from '../../blob/sweep.ts'
import { createMoments } from '../../../node/moment.ts'
import { getNode, locate, requireNode } from '../tree/node.ts'
import type { FileEvent, FileTx } from '../open/open.ts'
import { abortFileCopy, endFileCopy, FILE_COPIES, startFileCopy } from './pending-copy.ts'
import { removeNode } from '../tree/remove.ts'
import { createShare } from '../share/share-change.ts'
import { snapshotShare } from '../share/share-snapshot.ts'
import { shareUsageBytes } from '../share/share.ts'

const SHARE = { account: 'a', share: 'box' }
const FILE = { ...SHARE, path: ['file'] }
const TOTAL_BYTES = 6

async function openCopy() {
  const kv = openMemoryKv<FileEvent>()
  const extents = openMemoryExtents({ kv, clock: () => 0 })
  const moment = createMoments(() => Date.UTC(2026, 0), 0)
  let id = 100
  const newId = () => id++
  const write = <T>(body: (tx: FileTx) => Step<T>) => kv.write(body)
  const first = moment()
  const started = await write(function* (tx) {
    yield* createShare(tx, SHARE, { id: 1, metadata: [], provision: {} }, first)
    const start = {
      guard: { operation: 'Copy File', mayReplace: true },
      properties: {},
      metadata: undefined,
      state: { id: 'copy', source: 'http://source/' },
      remote: {
        url: 'http://source/?sig=s',
        lengthBytes: TOTAL_BYTES,
        headers: {},
        metadata: [],
        properties: {},
      },
      nodeId: newId(),
      mapId: newId(),
    } as const
    return yield* startFileCopy(tx, FILE, start, first)
  })
  const { place } = started
  const add = async (text: string): Promise<boolean> => {
    const bytes = Buffer.from(text)
    const pieces = [wholeSlice(await extents.write(chunksOf(bytes), bytes.length, []))]
    const before = await kv.read((tx) => FILE_COPIES.find(tx, place))
    assert(before !== undefined)
    const part = { pieces, lengthBytes: bytes.length }
    return write((tx) => FILE_COPIES.add(tx, place, before.pending, part))
  }
  const end = (status: 'success' | 'failed') => {
    const outcome = status === 'success' ? { status } : { status, description: '404 x "y"' }
    const now = moment()
    return write((tx) => endFileCopy(tx, place, 'copy', outcome, now))
  }
  const countOf = (...prefix: string[]) =>
    kv.read(function* (tx) {
      return (yield* scanAll(tx, prefixRange(encodeKey(...prefix)), 100)).length
    })
  /** Pending copies, map records and the share's usage, after a sweep. */
  const left = async () => {
    await sweepBlobs(kv, 0)
    const usage = await kv.read((tx) => shareUsageBytes(tx, 1))
    assert.deepEqual((await checkStore(kv, extents)).problems, [])
    return [await countOf('pending-file-copy'), await countOf('map'), usage]
  }
  const node = () => kv.read((tx) => getNode(tx, { shareId: 1, lastSnapshot: 0 }, place.nodeId))
  return { kv, write, place, add, end, left, node, moment, newId, started }
}

type Copy = Awaited<ReturnType<typeof openCopy>>

// prettier-ignore
const ENDS: readonly [what: string, end: (copy: Copy) => Promise<unknown>, left: readonly number[], status: string | undefined][] = [
  ['success',           ({ end }) => end('success'),                                                [0, 2, TOTAL_BYTES], 'success'],
  ['failure',           ({ end }) => end('failed'),                                                 [0, 0, 0],           'failed'],
  ['abort',             ({ write, moment }) => write((tx) => abortFileCopy(tx, FILE, { copyId: 'copy', leaseId: undefined }, moment())), [0, 0, 0], 'aborted'],
  ['deleting the file', (copy) => copy.write((tx) => remove(tx, copy)),                             [0, 0, 0],           undefined],
  ['a restart',         ({ write, place, newId }) => write((tx) => FILE_COPIES.restart(tx, place, newId())), [1, 0, TOTAL_BYTES], 'pending'],
  ['nothing',           async () => undefined,                                                      [1, 2, TOTAL_BYTES], 'pending'],
]

function* remove(tx: FileTx, { moment }: Copy) {
  return yield* removeNode(tx, requireNode(yield* locate(tx, FILE)), moment())
}

describe('what is left after', () => {
  for (const [what, end, left, status] of ENDS) {
    test(what, async () => {
      const copy = await openCopy()
      assert.deepEqual([await copy.add('abc'), await copy.add('def')], [true, true])
      await end(copy)
      await copy.write((tx) => FILE_COPIES.dropLost(tx, copy.place))
      assert.deepEqual(await copy.left(), left)
      assert.equal((await copy.node())?.copy?.status, status)
    })
  }
})

test('the destination has its length from the start, and its bytes at the end', async () => {
  const { started, add, end, node } = await openCopy()
  assert.equal(started.node.lengthBytes, TOTAL_BYTES)
  assert.equal(started.node.map, undefined)
  await add('abcdef')
  assert.deepEqual([(await node())?.map, (await node())?.copy?.copiedBytes], [undefined, 6])
  assert.equal((await node())?.stamp, started.node.stamp)
  await end('success')
  const after = await node()
  assert(after?.map !== undefined)
  assert(after.stamp > started.node.stamp)
})

test('bytes that arrive after the end, or for an outdated state, are rejected', async () => {
  const { kv, write, place, add, end } = await openCopy()
  const before = await kv.read((tx) => FILE_COPIES.find(tx, place))
  assert(before !== undefined)
  await add('abc')
  const part = { pieces: [], lengthBytes: 3 }
  assert.equal(await write((tx) => FILE_COPIES.add(tx, place, before.pending, part)), false)
  await end('failed')
  assert.equal(await write((tx) => FILE_COPIES.add(tx, place, before.pending, part)), false)
})

test('a snapshot taken during the copy does not show the bytes copied later', async () => {
  const { kv, write, add, end, moment } = await openCopy()
  const { snapshot } = await write((tx) => snapshotShare(tx, SHARE, undefined, moment()))
  await add('abcdef')
  await end('success')
  const seen = await kv.read((tx) => locate(tx, { ...FILE, snapshot }))
  assert.deepEqual([seen.node?.map, seen.node?.copy?.status], [undefined, 'pending'])
})

test('pending copies are listed', async () => {
  const { kv, place } = await openCopy()
  const [first] = await kv.read((tx) => FILE_COPIES.list(tx, undefined, 10))
  assert.deepEqual(first?.place, place)
  assert.deepEqual(await kv.read((tx) => FILE_COPIES.list(tx, first?.key, 10)), [])
})
