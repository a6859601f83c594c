// Create, rename and remove, shared by REST and SMB: their cost, what they preserve and the events they announce.
import { countingTx, TxCounts } from '../../../kv/counting.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Step } from '../../../kv/kv.ts'
import { createDirectory, createFile } from './create.ts'
import {
  EXAMPLE_ADDRESS,
  EXAMPLE_MOMENT,
  EXAMPLE_SHARE,
  EXAMPLE_VIEW,
  requireExampleNode,
  openExampleShare,
  resizeFile,
} from '../example.ts'
import { locate, requireNode, ROOT_ID, type FileNode } from './node.ts'
import { opensOf, putOpen, type FileOpen, type FileTx } from '../open/open.ts'
import { putPersistentOpen, restoreOpens } from '../open/persistent-open.ts'
import { deleteDirectory, removeNode } from './remove.ts'
import { moveOpens, renameNode } from './rename.ts'
import { shareUsageBytes } from '../share/share.ts'

let lastId = 0
const newId = (): number => (lastId += 1)

const at = (path: string) => ({ ...EXAMPLE_ADDRESS, path: path.split('/') })

function* makeDirectory(tx: FileTx, path: string): Step<FileNode> {
  const located = yield* locate(tx, at(path))
  return yield* createDirectory(tx, located, { nodeId: newId(), properties: {} }, EXAMPLE_MOMENT)
}

function* makeFile(tx: FileTx, path: string, lengthBytes: number): Step<FileNode> {
  const located = yield* locate(tx, at(path))
  return yield* createFile(
    tx,
    located,
    { nodeId: newId(), properties: {}, lengthBytes },
    EXAMPLE_MOMENT,
  )
}

function* move(tx: FileTx, from: string, to: string): Step<FileNode> {
  return yield* renameNode(
    tx,
    yield* requireExampleNode(tx, from),
    yield* locate(tx, at(to)),
    {},
    EXAMPLE_MOMENT,
  )
}

test('a directory of a thousand files is renamed with three writes', async () => {
  const kv = await openExampleShare()
  await kv.write(function* (tx) {
    yield* makeDirectory(tx, 'old')
    for (let file = 0; file < 1_000; file += 1) yield* makeFile(tx, `old/${file}`, 1)
  })
  const counts = new TxCounts()
  await kv.write((tx) => move(countingTx(tx, counts), 'old', 'new'))
  // Deletes the old entry, puts the new one, and updates the node's parent.
  assert.equal(counts.puts + counts.deletes, 3)
  const names = await kv.write(function* (tx) {
    return [
      (yield* requireExampleNode(tx, 'new/999')).node.kind,
      (yield* locate(tx, at('old'))).node,
    ]
  })
  assert.deepEqual(names, ['file', undefined])
})

test('a directory cannot be moved into itself, and the root cannot be moved', async () => {
  const kv = await openExampleShare()
  await kv.write(function* (tx) {
    yield* makeDirectory(tx, 'a')
    yield* makeDirectory(tx, 'a/b')
  })
  const invalid = { code: 'InvalidInput' }
  await assert.rejects(
    kv.write((tx) => move(tx, 'a', 'a/c')),
    invalid,
  )
  await assert.rejects(
    kv.write((tx) => move(tx, 'a', 'a/b/c')),
    invalid,
  )
  await assert.rejects(
    kv.write(function* (tx) {
      const root = requireNode(yield* locate(tx, { ...EXAMPLE_ADDRESS, path: [] }))
      return yield* renameNode(tx, root, yield* locate(tx, at('x')), {}, EXAMPLE_MOMENT)
    }),
    invalid,
  )
})

test('usage follows lengths through create, replace, resize, rename over and remove', async () => {
  const kv = await openExampleShare()
  const steps: readonly [expected: number, step: (tx: FileTx) => Step<unknown>][] = [
    [100, (tx) => makeFile(tx, 'a', 100)],
    [40, (tx) => makeFile(tx, 'A', 40)],
    [70, (tx) => makeFile(tx, 'b', 30)],
    [110, (tx) => resize(tx, 'b', 70)],
    [70, (tx) => move(tx, 'b', 'a')],
    [0, (tx) => remove(tx, 'a')],
  ]
  for (const [expected, step] of steps) {
    await kv.write(step)
    assert.equal(await kv.read((tx) => shareUsageBytes(tx, EXAMPLE_SHARE.id)), expected)
  }
})

function* resize(tx: FileTx, path: string, lengthBytes: number): Step<FileNode> {
  return yield* resizeFile(
    tx,
    yield* requireExampleNode(tx, path),
    { lengthBytes, newId: newId() },
    EXAMPLE_MOMENT,
  )
}

function* remove(tx: FileTx, path: string): Step<number> {
  return yield* removeNode(tx, yield* requireExampleNode(tx, path), EXAMPLE_MOMENT)
}

test('every change is announced to watchers of the directory', async () => {
  const kv = await openExampleShare()
  const events: (readonly (string | number | undefined)[])[] = []
  kv.listen((event) => {
    if (event.kind !== 'change') return
    events.push([event.action, event.from?.name, event.name, event.filter])
  })
  await kv.write((tx) => makeDirectory(tx, 'd'))
  await kv.write((tx) => makeFile(tx, 'f', 1))
  await kv.write((tx) => resize(tx, 'f', 2))
  await kv.write((tx) => move(tx, 'f', 'd/g'))
  await kv.write((tx) => makeFile(tx, 'd/g', 5))
  await kv.write((tx) => remove(tx, 'd/g'))
  await kv.write(function* (tx) {
    yield* deleteDirectory(tx, yield* requireExampleNode(tx, 'd'), EXAMPLE_MOMENT)
  })
  // FILE_NAME 1, DIR_NAME 2, ATTRIBUTES 4, SIZE 8, LAST_WRITE 0x10
  assert.deepEqual(events, [
    ['added', undefined, 'd', 2],
    ['added', undefined, 'f', 1],
    ['modified', undefined, 'f', 8],
    ['renamed', 'f', 'g', 1],
    ['modified', undefined, 'g', 4 | 8 | 16],
    ['removed', undefined, 'g', 1],
    ['removed', undefined, 'd', 2],
  ])
})

test('a rename updates the opens of the file and their persistent records', async () => {
  const kv = await openExampleShare()
  const open: FileOpen = {
    openId: 77,
    shareId: EXAMPLE_SHARE.id,
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
      account: EXAMPLE_ADDRESS.account,
      share: EXAMPLE_ADDRESS.share,
      clientGuid: 'c',
      createGuid: 'g',
      timeoutMs: 1,
      mode: 0,
    },
  }
  const past = { ...open, openId: 78, snapshot: 9 }
  const { persistent: _terms, ...past78 } = past
  const view = EXAMPLE_VIEW
  await kv.write(function* (tx) {
    putOpen(tx, open)
    putPersistentOpen(tx, { open })
    putOpen(tx, past78)
    const target = { share: EXAMPLE_SHARE, view, directoryId: 6, name: 'Other' }
    yield* moveOpens(tx, target, { nodeId: ROOT_ID }, ['new', 'Other'])
  })
  const moved = { ...open, parentId: 6, path: 'new/Other' }
  const opens = await kv.read((tx) => opensOf(tx, EXAMPLE_SHARE.id, ROOT_ID))
  assert.deepEqual(opens, [moved, past78])
  assert.deepEqual(await kv.write((tx) => restoreOpens(tx)), [moved])
})
