// Persistent opens: what a restart restores, which loses all volatile records.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMemoryEngine } from '../../../kv/engine/memory.ts'
import { openKv } from '../../../kv/runner/runner.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { findLease } from '../cache/cache-grant.ts'
import { closeOpens } from '../share/share-opens.ts'
import { closeOpen } from './close-open.ts'
import { fileNodeKey } from '../keys.ts'
import {
  CACHE_HANDLE,
  CACHE_READ,
  CACHE_WRITE,
  holdersOf,
  opensOf,
  putOpen,
  type CacheHolder,
  type FileEvent,
  type FileKv,
  type FileOpen,
} from './open.ts'
import { putPersistentOpen, restoreOpens } from './persistent-open.ts'

const ALL = CACHE_READ | CACHE_WRITE | CACHE_HANDLE
const FILE = { shareId: 1, nodeId: 5 }
const MOMENT = { nowMs: 1_000, stamp: 1_024_000 }

function openOf(openId: number, holder: string): FileOpen {
  return {
    ...FILE,
    openId,
    parentId: 4,
    path: 'dir/a.txt',
    isDirectory: false,
    access: 1,
    shareAccess: 7,
    sessionId: '1',
    clientIp: '127.0.0.1:1',
    openedMs: 0,
    holder,
    persistent: {
      account: 'one',
      share: 'files',
      clientGuid: '00',
      createGuid: `${openId}`,
      timeoutMs: 60_000,
      mode: 0,
    },
  }
}

function leaseOf(holder: string): CacheHolder {
  return { holder, kind: 'lease', state: ALL, version: 2, epoch: 3 }
}

async function open(kv: FileKv, openId: number, holder: string): Promise<FileOpen> {
  const record = openOf(openId, holder)
  await kv.write(function* (tx) {
    tx.put(fileNodeKey(FILE.shareId, FILE.nodeId), encodeRecord({}))
    putOpen(tx, record)
    putPersistentOpen(tx, { open: record, cache: leaseOf(holder) })
  })
  return record
}

test('persistent opens are restored with their leases', async () => {
  const engine = openMemoryEngine()
  const record = await open(openKv<FileEvent>(engine), 9, 'lease:a')
  const kv = openKv<FileEvent>(engine)
  assert.deepEqual(await kv.write((tx) => restoreOpens(tx)), [record])
  await kv.read(function* (tx) {
    assert.deepEqual(yield* opensOf(tx, FILE.shareId, FILE.nodeId), [record])
    assert.deepEqual(yield* holdersOf(tx, FILE.shareId, FILE.nodeId), [leaseOf('lease:a')])
    assert.deepEqual(yield* findLease(tx, 'lease:a'), FILE)
  })
})

test('two restored leases of one file have no write caching', async () => {
  const engine = openMemoryEngine()
  const before = openKv<FileEvent>(engine)
  await open(before, 9, 'lease:a')
  await open(before, 10, 'lease:b')
  const kv = openKv<FileEvent>(engine)
  await kv.write((tx) => restoreOpens(tx))
  const holders = await kv.read((tx) => holdersOf(tx, FILE.shareId, FILE.nodeId))
  const states = holders.map(({ holder, state }) => [holder, state])
  assert.deepEqual(states, [
    ['lease:a', CACHE_READ | CACHE_HANDLE],
    ['lease:b', CACHE_READ | CACHE_HANDLE],
  ])
})

test('opens that were closed, or whose file was deleted, are not restored', async () => {
  const engine = openMemoryEngine()
  const before = openKv<FileEvent>(engine)
  const closed = await open(before, 9, 'lease:a')
  await open(before, 10, 'lease:b')
  await before.write((tx) => closeOpen(tx, undefined, closed, MOMENT))
  await before.write(function* (tx) {
    tx.delete(fileNodeKey(FILE.shareId, FILE.nodeId))
  })
  const kv = openKv<FileEvent>(engine)
  assert.deepEqual(await kv.write((tx) => restoreOpens(tx)), [])
})

test('deleting the share ends its opens for good, with their leases', async () => {
  const engine = openMemoryEngine()
  const before = openKv<FileEvent>(engine)
  await open(before, 9, 'lease:a')
  await before.write((tx) => restoreOpens(tx))
  await before.write((tx) => closeOpens(tx, FILE.shareId))
  assert.equal(await before.read((tx) => findLease(tx, 'lease:a')), undefined)
  const after = openKv<FileEvent>(engine)
  assert.deepEqual(await after.write((tx) => restoreOpens(tx)), [])
})
