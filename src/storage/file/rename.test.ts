// Create, rename and remove as storage does them for REST and SMB alike: what they cost, what they keep, what they
// tell.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLiveKv } from '../../kv/live.ts'
import { openMemoryKv } from '../../kv/memory.ts'
import type { Step } from '../../kv/kv.ts'
import { createDirectory, createFile } from './create.ts'
import { resizeFile } from './file-properties.ts'
import { locate, requireNode, ROOT_ID, saveNode, type Existing, type FileNode } from './node.ts'
import {
  opensOf,
  putOpen,
  type FileEvent,
  type FileKv,
  type FileOpen,
  type FileTx,
} from './open.ts'
import { storePermission } from './permission.ts'
import { putPersistentOpen, restoreOpens } from './persistent-open.ts'
import { deleteDirectory, removeNode } from './remove.ts'
import { moveOpens, renameNode } from './rename.ts'
import { encodeSecurityDescriptor } from './security-descriptor.ts'
import { DEFAULT_ROOT_DESCRIPTOR } from './security-descriptor-inherit.ts'
import { saveShare, shareUsageBytes, type Share } from './share.ts'

const SHARE: Share = {
  id: 1,
  stamp: 1,
  modifiedMs: 1,
  metadata: [],
  policies: [],
  quotaGib: 1,
  accessTier: 'Hot',
  enabledProtocol: 'SMB',
  lastSnapshot: 0,
  snapshotCount: 0,
}
const AT = { account: 'a', share: 's' }
const MOMENT = { nowMs: 1_000, stamp: 1_024_000 }

let lastId = 0
const newId = (): number => (lastId += 1)

async function openShare(): Promise<FileKv> {
  const kv = openLiveKv<FileEvent>(openMemoryKv())
  await kv.write(function* (tx) {
    saveShare(tx, AT, SHARE)
    const bytes = encodeSecurityDescriptor(DEFAULT_ROOT_DESCRIPTOR)
    const permissionKey = yield* storePermission(tx, SHARE.id, bytes)
    saveNode(tx, { shareId: SHARE.id, lastSnapshot: 0 }, undefined, {
      kind: 'directory',
      nodeId: ROOT_ID,
      parentId: ROOT_ID,
      stamp: 1,
      modifiedMs: 1,
      attributes: 0,
      creationTime: '0',
      lastWriteTime: '0',
      changeTime: '0',
      permissionKey,
      metadata: [],
      lengthBytes: 0,
    })
  })
  return kv
}

const at = (path: string) => ({ ...AT, path: path.split('/') })

function* makeDirectory(tx: FileTx, path: string): Step<FileNode> {
  const located = yield* locate(tx, at(path))
  return yield* createDirectory(tx, located, { nodeId: newId(), properties: {} }, MOMENT)
}

function* makeFile(tx: FileTx, path: string, lengthBytes: number): Step<FileNode> {
  const located = yield* locate(tx, at(path))
  return yield* createFile(tx, located, { nodeId: newId(), properties: {}, lengthBytes }, MOMENT)
}

function* find(tx: FileTx, path: string): Step<Existing> {
  return requireNode(yield* locate(tx, at(path)))
}

function* move(tx: FileTx, from: string, to: string): Step<FileNode> {
  return yield* renameNode(tx, yield* find(tx, from), yield* locate(tx, at(to)), {}, MOMENT)
}

test('a directory of a thousand files is renamed with three writes', async () => {
  const kv = await openShare()
  await kv.write(function* (tx) {
    yield* makeDirectory(tx, 'old')
    for (let file = 0; file < 1_000; file += 1) yield* makeFile(tx, `old/${file}`, 1)
  })
  let writes = 0
  await kv.write(function* (tx) {
    const counting: FileTx = {
      get: (key) => tx.get(key),
      scan: (range) => tx.scan(range),
      scanWith: (range, pick) => tx.scanWith(range, pick),
      put: (key, value) => {
        writes += 1
        tx.put(key, value)
      },
      delete: (key) => {
        writes += 1
        tx.delete(key)
      },
      announce: (event) => tx.announce(event),
    }
    yield* move(counting, 'old', 'new')
  })
  // The old name goes, the new one comes, and the node says where it is.
  assert.equal(writes, 3)
  const names = await kv.write(function* (tx) {
    return [(yield* find(tx, 'new/999')).node.kind, (yield* locate(tx, at('old'))).node]
  })
  assert.deepEqual(names, ['file', undefined])
})

test('a directory does not go into itself, and the root nowhere', async () => {
  const kv = await openShare()
  await kv.write(function* (tx) {
    yield* makeDirectory(tx, 'a')
    yield* makeDirectory(tx, 'a/b')
  })
  const refused = { code: 'InvalidInput' }
  await assert.rejects(
    kv.write((tx) => move(tx, 'a', 'a/c')),
    refused,
  )
  await assert.rejects(
    kv.write((tx) => move(tx, 'a', 'a/b/c')),
    refused,
  )
  await assert.rejects(
    kv.write(function* (tx) {
      const root = requireNode(yield* locate(tx, { ...AT, path: [] }))
      return yield* renameNode(tx, root, yield* locate(tx, at('x')), {}, MOMENT)
    }),
    refused,
  )
})

test('usage follows lengths through create, replace, resize, rename over and remove', async () => {
  const kv = await openShare()
  const steps: readonly [expected: number, step: (tx: FileTx) => Step<unknown>][] = [
    [100, (tx) => makeFile(tx, 'a', 100)],
    [40, (tx) => makeFile(tx, 'A', 40)],
    [70, (tx) => makeFile(tx, 'b', 30)],
    [110, (tx) => resized(tx, 'b', 70)],
    [70, (tx) => move(tx, 'b', 'a')],
    [0, (tx) => removed(tx, 'a')],
  ]
  for (const [expected, step] of steps) {
    await kv.write(step)
    assert.equal(await kv.read((tx) => shareUsageBytes(tx, SHARE.id)), expected)
  }
})

function* resized(tx: FileTx, path: string, lengthBytes: number): Step<FileNode> {
  return yield* resizeFile(tx, yield* find(tx, path), { lengthBytes, newId: newId() }, MOMENT)
}

function* removed(tx: FileTx, path: string): Step<number> {
  return yield* removeNode(tx, yield* find(tx, path), MOMENT)
}

test('every change is told to those who watch the directory', async () => {
  const kv = await openShare()
  const told: (readonly (string | number | undefined)[])[] = []
  kv.listen((event) => {
    if (event.kind !== 'change') return
    told.push([event.action, event.from?.name, event.name, event.filter])
  })
  await kv.write((tx) => makeDirectory(tx, 'd'))
  await kv.write((tx) => makeFile(tx, 'f', 1))
  await kv.write((tx) => resized(tx, 'f', 2))
  await kv.write((tx) => move(tx, 'f', 'd/g'))
  await kv.write((tx) => makeFile(tx, 'd/g', 5))
  await kv.write((tx) => removed(tx, 'd/g'))
  await kv.write(function* (tx) {
    yield* deleteDirectory(tx, yield* find(tx, 'd'), MOMENT)
  })
  // FILE_NAME 1, DIR_NAME 2, ATTRIBUTES 4, SIZE 8, LAST_WRITE 0x10
  assert.deepEqual(told, [
    ['added', undefined, 'd', 2],
    ['added', undefined, 'f', 1],
    ['modified', undefined, 'f', 8],
    ['renamed', 'f', 'g', 1],
    ['modified', undefined, 'g', 4 | 8 | 16],
    ['removed', undefined, 'g', 1],
    ['removed', undefined, 'd', 2],
  ])
})

test('an open goes along with its file, and so does the copy that outlives the server', async () => {
  const kv = await openShare()
  const open: FileOpen = {
    openId: 77,
    shareId: SHARE.id,
    nodeId: ROOT_ID,
    parentId: 5,
    path: 'old/name',
    isDirectory: false,
    access: 1,
    shareAccess: 7,
    sessionId: '1',
    clientIp: '10.0.0.1:1',
    openedMs: 1,
    persistent: {
      account: AT.account,
      share: AT.share,
      clientGuid: 'c',
      createGuid: 'g',
      timeoutMs: 1,
      mode: 0,
    },
  }
  const past = { ...open, openId: 78, snapshot: 9 }
  const { persistent: _terms, ...past78 } = past
  const view = { shareId: SHARE.id, lastSnapshot: 0 }
  await kv.write(function* (tx) {
    putOpen(tx, open)
    putPersistentOpen(tx, { open })
    putOpen(tx, past78)
    const target = { share: SHARE, view, directoryId: 6, name: 'Other' }
    yield* moveOpens(tx, target, { nodeId: ROOT_ID }, ['new', 'Other'])
  })
  const moved = { ...open, parentId: 6, path: 'new/Other' }
  const opens = await kv.read((tx) => opensOf(tx, SHARE.id, ROOT_ID))
  assert.deepEqual(opens, [moved, past78])
  assert.deepEqual(await kv.write((tx) => restoreOpens(tx)), [moved])
})
