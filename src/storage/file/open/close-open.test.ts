// Closing an open removes its locks, its cache, and a file that was marked for deletion.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { closeOpen } from './close-open.ts'
import { EXAMPLE_MOMENT, EXAMPLE_SHARE, EXAMPLE_VIEW, exampleNode } from '../example.ts'
import { shareSnapshotKey, shareUsageKey } from '../keys.ts'
import {
  getDirectoryEntry,
  getNode,
  ROOT_ID,
  saveEntry,
  saveNode,
  type FileNode,
} from '../tree/node.ts'
import {
  holdersOf,
  isDeletePending,
  locksOf,
  opensOf,
  putHolder,
  putLock,
  putOpen,
  setDeletePending,
  type FileEvent,
  type FileKv,
  type FileOpen,
} from './open.ts'
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

function stateOf(kv: FileKv) {
  return kv.read(function* (tx) {
    return {
      node: (yield* getNode(tx, EXAMPLE_VIEW, FILE_ID)) !== undefined,
      entry: (yield* getDirectoryEntry(tx, EXAMPLE_VIEW, DIRECTORY_ID, 'A.TXT')) !== undefined,
      pending: yield* isDeletePending(tx, 1, FILE_ID),
      usageBytes: yield* shareUsageBytes(tx, 1),
    }
  })
}

const PRESENT = { node: true, entry: true, pending: false, usageBytes: 100 }
const DELETED = { node: false, entry: false, pending: false, usageBytes: 0 }

describe('a closed handle', () => {
  test('removes its locks and leaves those of others', async () => {
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
    assert.deepEqual(await stateOf(kv), PRESENT)
  })

  test('removes its lease once no other handle has the same lease', async () => {
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

  test('is announced to waiting operations', async () => {
    const kv = await newShare()
    await open(kv, OPEN)
    const events: FileEvent[] = []
    kv.listen((event) => events.push(event))
    await close(kv, OPEN)
    assert.deepEqual(events, [{ kind: 'released', shareId: 1, nodeId: FILE_ID }])
  })
})

describe('a file is deleted', () => {
  test('if it was marked, when the last handle is closed and not before', async () => {
    const kv = await newShare()
    await open(kv, OPEN, OTHER)
    await markForDeletion(kv, OPEN)
    await close(kv, OPEN)
    assert.deepEqual(await stateOf(kv), { ...PRESENT, pending: true })
    const events: FileEvent[] = []
    kv.listen((event) => events.push(event))
    await close(kv, OTHER)
    assert.deepEqual(await stateOf(kv), DELETED)
    const change = events.find(({ kind }) => kind === 'change')
    assert(change?.kind === 'change')
    assert.deepEqual([change.action, change.name], ['removed', 'a.txt'])
  })

  test('when a handle with delete-on-close is closed', async () => {
    const kv = await newShare()
    await open(kv, { ...OPEN, deleteOnClose: true })
    await close(kv, { ...OPEN, deleteOnClose: true })
    assert.deepEqual(await stateOf(kv), DELETED)
  })

  test('only when the other handles are closed, too; until then it is pending', async () => {
    const kv = await newShare()
    await open(kv, { ...OPEN, deleteOnClose: true }, OTHER)
    await close(kv, { ...OPEN, deleteOnClose: true })
    assert.deepEqual(await stateOf(kv), { ...PRESENT, pending: true })
    await close(kv, OTHER)
    assert.deepEqual(await stateOf(kv), DELETED)
  })

  test('regardless of handles on a snapshot', async () => {
    const kv = await newShare()
    const past = { ...OTHER, snapshot: 3 }
    await open(kv, OPEN, past)
    await markForDeletion(kv, OPEN)
    await close(kv, past)
    assert.deepEqual(await stateOf(kv), { ...PRESENT, pending: true })
    await open(kv, past)
    await close(kv, OPEN)
    assert.deepEqual(await stateOf(kv), DELETED)
  })

  test('never by closing a handle on a snapshot', async () => {
    const kv = await newShare()
    const past = { ...OPEN, snapshot: 3, deleteOnClose: true }
    await open(kv, past)
    await close(kv, past)
    assert.deepEqual(await stateOf(kv), PRESENT)
  })

  test('under its new name, if it was renamed in the meantime', async () => {
    const kv = await newShare()
    await open(kv, { ...OPEN, path: 'elsewhere/b.txt', parentId: ROOT_ID, deleteOnClose: true })
    await close(kv, { ...OPEN, path: 'elsewhere/b.txt', parentId: ROOT_ID, deleteOnClose: true })
    assert.deepEqual(await stateOf(kv), DELETED)
  })

  test('only from the current share: a snapshot still has it', async () => {
    const kv = await newShare()
    await kv.write(function* (tx) {
      tx.put(shareSnapshotKey(1, 7), encodeRecord({ ...EXAMPLE_SHARE, snapshot: 7 }))
    })
    await open(kv, { ...OPEN, deleteOnClose: true })
    await close(kv, { ...OPEN, deleteOnClose: true }, { ...EXAMPLE_SHARE, lastSnapshot: 7 })
    assert.deepEqual(await stateOf(kv), DELETED)
    const past = await kv.read((tx) => getNode(tx, { ...EXAMPLE_VIEW, snapshot: 7 }, FILE_ID))
    assert.equal(past?.lengthBytes, 100)
  })

  test('without further steps if the share itself was deleted', async () => {
    const kv = await newShare()
    await open(kv, { ...OPEN, deleteOnClose: true })
    await kv.write((tx) =>
      closeOpen(tx, undefined, { ...OPEN, deleteOnClose: true }, EXAMPLE_MOMENT),
    )
    assert.deepEqual(await kv.read((tx) => opensOf(tx, 1, FILE_ID)), [])
  })
})

describe('a directory marked for deletion', () => {
  const DIRECTORY: FileOpen = {
    ...OPEN,
    nodeId: DIRECTORY_ID,
    parentId: ROOT_ID,
    path: 'dir',
    isDirectory: true,
  }
  const exists = (kv: FileKv) =>
    kv.read(function* (tx) {
      return (yield* getDirectoryEntry(tx, EXAMPLE_VIEW, ROOT_ID, 'dir')) !== undefined
    })

  test('stays if it is not empty', async () => {
    const kv = await newShare()
    await open(kv, DIRECTORY)
    await markForDeletion(kv, DIRECTORY)
    await close(kv, DIRECTORY)
    assert.equal(await exists(kv), true)
    assert.equal(await kv.read((tx) => isDeletePending(tx, 1, DIRECTORY_ID)), false)
  })

  test('is deleted if it is empty', async () => {
    const kv = await newShare()
    await open(kv, { ...OPEN, deleteOnClose: true }, DIRECTORY)
    await close(kv, { ...OPEN, deleteOnClose: true })
    await markForDeletion(kv, DIRECTORY)
    await close(kv, DIRECTORY)
    assert.equal(await exists(kv), false)
  })
})
