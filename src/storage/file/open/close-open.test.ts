// What ends with an open: its locks, its cache, and the file that was marked for deletion.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { closeOpen } from './close-open.ts'
import { EXAMPLE_MOMENT, EXAMPLE_SHARE, EXAMPLE_VIEW, exampleNode } from '../example.ts'
import { shareSnapshotKey, shareUsageKey } from '../keys.ts'
import { getEntry, getNode, ROOT_ID, saveEntry, saveNode, type FileNode } from '../tree/node.ts'
import {
  holdersOf,
  isDeletePending,
  locksOf,
  opensOf,
  putHolder,
  putLock,
  putOpen,
} from './open.ts'
import { setDeletePending, type FileEvent, type FileKv, type FileOpen } from './open.ts'
import { shareUsageBytes, type Share } from '../share/share.ts'

const [DIRECTORY_ID, FILE_ID] = [4, 5]

function nodeOf(nodeId: number, parentId: number, kind: FileNode['kind']): Omit<FileNode, 'since'> {
  return { ...exampleNode(kind, nodeId, parentId), lengthBytes: kind === 'file' ? 100 : 0 }
}

/** A share with `dir` and `dir/a.txt`. */
async function newShare(): Promise<FileKv> {
  const kv = openMemoryKv<FileEvent>()
  await kv.write(function* (tx) {
    saveNode(tx, EXAMPLE_VIEW, undefined, nodeOf(ROOT_ID, ROOT_ID, 'directory'))
    saveNode(tx, EXAMPLE_VIEW, undefined, nodeOf(DIRECTORY_ID, ROOT_ID, 'directory'))
    saveNode(tx, EXAMPLE_VIEW, undefined, nodeOf(FILE_ID, DIRECTORY_ID, 'file'))
    const directory = { nodeId: DIRECTORY_ID, kind: 'directory', name: 'dir' } as const
    saveEntry(tx, EXAMPLE_VIEW, ROOT_ID, undefined, directory)
    saveEntry(tx, EXAMPLE_VIEW, DIRECTORY_ID, undefined, {
      nodeId: FILE_ID,
      kind: 'file',
      name: 'a.txt',
    })
    tx.put(shareUsageKey(1), encodeRecord({ bytes: 100 }))
  })
  return kv
}

const OPEN: FileOpen = {
  openId: 9,
  shareId: 1,
  nodeId: FILE_ID,
  parentId: DIRECTORY_ID,
  path: 'dir/a.txt',
  isDirectory: false,
  access: 0x1,
  shareAccess: 7,
  sessionId: '1',
  clientIp: '10.0.0.1:445',
  openedMs: 0,
}
const OTHER = { ...OPEN, openId: 10 }

function open(kv: FileKv, ...opens: readonly FileOpen[]) {
  return kv.write(function* (tx) {
    for (const each of opens) putOpen(tx, each)
  })
}

function close(kv: FileKv, each: FileOpen, share: Share | undefined = EXAMPLE_SHARE) {
  return kv.write((tx) => closeOpen(tx, share, each, EXAMPLE_MOMENT))
}

function markForDeletion(kv: FileKv, each: FileOpen) {
  return kv.write(function* (tx) {
    setDeletePending(tx, each, true)
  })
}

function left(kv: FileKv) {
  return kv.read(function* (tx) {
    return {
      node: (yield* getNode(tx, EXAMPLE_VIEW, FILE_ID)) !== undefined,
      entry: (yield* getEntry(tx, EXAMPLE_VIEW, DIRECTORY_ID, 'A.TXT')) !== undefined,
      pending: yield* isDeletePending(tx, 1, FILE_ID),
      usageBytes: yield* shareUsageBytes(tx, 1),
    }
  })
}

const THERE = { node: true, entry: true, pending: false, usageBytes: 100 }
const GONE = { node: false, entry: false, pending: false, usageBytes: 0 }

describe('a closed handle', () => {
  test('takes its locks with it and leaves those of others', async () => {
    const kv = await newShare()
    await open(kv, OPEN, OTHER)
    await kv.write(function* (tx) {
      for (const [index, { openId }] of [OPEN, OPEN, OTHER].entries()) {
        putLock(tx, OPEN, index, { openId, offset: '0', length: '1', isExclusive: false })
      }
    })
    await close(kv, OPEN)
    const [opens, locks] = await kv.read(function* (tx) {
      return [yield* opensOf(tx, 1, FILE_ID), yield* locksOf(tx, 1, FILE_ID)] as const
    })
    assert.deepEqual([opens, locks.map(({ openId }) => openId)], [[OTHER], [OTHER.openId]])
    assert.deepEqual(await left(kv), THERE)
  })

  test('takes what was cached under it, once no other handle has the same lease', async () => {
    const kv = await newShare()
    const leased = { holder: 'lease' }
    await open(kv, { ...OPEN, ...leased }, { ...OTHER, ...leased })
    await kv.write(function* (tx) {
      putHolder(tx, OPEN, { holder: 'lease', kind: 'lease', state: 7 })
      putHolder(tx, OPEN, { holder: 'another', kind: 'oplock', state: 1 })
    })
    const holders = () =>
      kv.read(function* (tx) {
        return (yield* holdersOf(tx, 1, FILE_ID)).map(({ holder }) => holder)
      })
    await close(kv, { ...OPEN, ...leased })
    assert.deepEqual(await holders(), ['another', 'lease'])
    await close(kv, { ...OTHER, ...leased })
    assert.deepEqual(await holders(), ['another'])
  })

  test('is told to those who wait', async () => {
    const kv = await newShare()
    await open(kv, OPEN)
    const told: FileEvent[] = []
    kv.listen((event) => told.push(event))
    await close(kv, OPEN)
    assert.deepEqual(told, [{ kind: 'released', shareId: 1, nodeId: FILE_ID }])
  })
})

describe('a file goes', () => {
  test('when it was marked and the last handle is closed, not before', async () => {
    const kv = await newShare()
    await open(kv, OPEN, OTHER)
    await markForDeletion(kv, OPEN)
    await close(kv, OPEN)
    assert.deepEqual(await left(kv), { ...THERE, pending: true })
    const told: FileEvent[] = []
    kv.listen((event) => told.push(event))
    await close(kv, OTHER)
    assert.deepEqual(await left(kv), GONE)
    const change = told.find(({ kind }) => kind === 'change')
    assert(change?.kind === 'change')
    assert.deepEqual([change.action, change.name], ['removed', 'a.txt'])
  })

  test('with the handle that was opened to delete it on close', async () => {
    const kv = await newShare()
    await open(kv, { ...OPEN, deleteOnClose: true })
    await close(kv, { ...OPEN, deleteOnClose: true })
    assert.deepEqual(await left(kv), GONE)
  })

  test('and with other handles open, is pending until they are closed', async () => {
    const kv = await newShare()
    await open(kv, { ...OPEN, deleteOnClose: true }, OTHER)
    await close(kv, { ...OPEN, deleteOnClose: true })
    assert.deepEqual(await left(kv), { ...THERE, pending: true })
    await close(kv, OTHER)
    assert.deepEqual(await left(kv), GONE)
  })

  test('not for a handle on a snapshot, and not because of one', async () => {
    const kv = await newShare()
    const past = { ...OTHER, snapshot: 3 }
    await open(kv, OPEN, past)
    await markForDeletion(kv, OPEN)
    await close(kv, past)
    assert.deepEqual(await left(kv), { ...THERE, pending: true })
    await open(kv, past)
    await close(kv, OPEN)
    assert.deepEqual(await left(kv), GONE)
  })

  test('never by a handle on a snapshot, which changes nothing', async () => {
    const kv = await newShare()
    const past = { ...OPEN, snapshot: 3, deleteOnClose: true }
    await open(kv, past)
    await close(kv, past)
    assert.deepEqual(await left(kv), THERE)
  })

  test('by its new name, when it was renamed meanwhile', async () => {
    const kv = await newShare()
    await open(kv, { ...OPEN, path: 'elsewhere/b.txt', parentId: ROOT_ID, deleteOnClose: true })
    await close(kv, { ...OPEN, path: 'elsewhere/b.txt', parentId: ROOT_ID, deleteOnClose: true })
    assert.deepEqual(await left(kv), GONE)
  })

  test('from the present only: a snapshot still has it', async () => {
    const kv = await newShare()
    await kv.write(function* (tx) {
      tx.put(shareSnapshotKey(1, 7), encodeRecord({ ...EXAMPLE_SHARE, snapshot: 7 }))
    })
    await open(kv, { ...OPEN, deleteOnClose: true })
    await close(kv, { ...OPEN, deleteOnClose: true }, { ...EXAMPLE_SHARE, lastSnapshot: 7 })
    assert.deepEqual(await left(kv), GONE)
    const past = await kv.read((tx) => getNode(tx, { ...EXAMPLE_VIEW, snapshot: 7 }, FILE_ID))
    assert.equal(past?.lengthBytes, 100)
  })

  test('and nothing is left to do where the share itself is gone', async () => {
    const kv = await newShare()
    await open(kv, { ...OPEN, deleteOnClose: true })
    await kv.write((tx) =>
      closeOpen(tx, undefined, { ...OPEN, deleteOnClose: true }, EXAMPLE_MOMENT),
    )
    assert.deepEqual(await kv.read((tx) => opensOf(tx, 1, FILE_ID)), [])
  })
})

describe('a directory that was marked', () => {
  const DIRECTORY: FileOpen = {
    ...OPEN,
    nodeId: DIRECTORY_ID,
    parentId: ROOT_ID,
    path: 'dir',
    isDirectory: true,
  }
  const isThere = (kv: FileKv) =>
    kv.read(function* (tx) {
      return (yield* getEntry(tx, EXAMPLE_VIEW, ROOT_ID, 'dir')) !== undefined
    })

  test('stays if something is in it', async () => {
    const kv = await newShare()
    await open(kv, DIRECTORY)
    await markForDeletion(kv, DIRECTORY)
    await close(kv, DIRECTORY)
    assert.equal(await isThere(kv), true)
    assert.equal(await kv.read((tx) => isDeletePending(tx, 1, DIRECTORY_ID)), false)
  })

  test('goes when it is empty', async () => {
    const kv = await newShare()
    await open(kv, { ...OPEN, deleteOnClose: true }, DIRECTORY)
    await close(kv, { ...OPEN, deleteOnClose: true })
    await markForDeletion(kv, DIRECTORY)
    await close(kv, DIRECTORY)
    assert.equal(await isThere(kv), false)
  })
})
