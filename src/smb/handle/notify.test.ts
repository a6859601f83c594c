// A watch on a directory, against the store's own changes: [MS-SMB2] 3.3.5.19 and [MS-FSA] 2.1.5.11.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  EXAMPLE_ADDRESS,
  EXAMPLE_MOMENT,
  requireExampleNode,
  createExampleNode,
  openExampleNode,
  openExampleShare,
  resizeFile,
} from '../../storage/file/example.ts'
import { locate, ROOT_ID } from '../../storage/file/tree/node.ts'
import { setDeletePending, type FileKv } from '../../storage/file/open/open.ts'
import { removeNode } from '../../storage/file/tree/remove.ts'
import { renameNode } from '../../storage/file/tree/rename.ts'
import { endIfDeletePending, nextChanges, watchOf, type Watch } from './notify.ts'
import { NOTIFY_ACTION } from '../wire/file/change-notify.ts'

const ALL = 0xfff
const ACTIONS = new Map<number, string>(
  Object.entries(NOTIFY_ACTION).map(([name, action]) => [action, name]),
)

/** d (10) / e (11), and f (12) beside d. The watch is on d. */
async function openWatched(terms: { readonly filter?: number; readonly watchTree?: boolean } = {}) {
  const kv = await openExampleShare()
  await kv.write(function* (tx) {
    yield* createExampleNode(tx, 'd', 'directory', 10)
    yield* createExampleNode(tx, 'd/e', 'directory', 11)
    yield* createExampleNode(tx, 'f', 'file', 12)
  })
  const at = { nodeId: 10, parentId: ROOT_ID, path: 'd', isDirectory: true }
  const handle = {
    open: await openExampleNode(kv, at),
    commandState: new Map<string, unknown>(),
    onClose: new Set<() => void>(),
  }
  const world = { kv, logFault: (error: unknown) => assert.fail(String(error)) }
  const watch = watchOf(world, handle, { filter: ALL, watchTree: true, lengthMax: 1_000, ...terms })
  return { kv, handle, world, watch }
}

/** `count` changes, over as many requests as necessary. */
async function changes(watch: Watch, count = 1): Promise<string[]> {
  const list: string[] = []
  while (list.length < count) list.push(...(await request(watch)))
  return list
}

async function request(watch: Watch): Promise<string[]> {
  const bytes = await nextChanges(watch, 1_000, () => {})
  const list: string[] = []
  for (let at = 0, isLast = false; !isLast;) {
    const step = bytes.readUInt32LE(at)
    const nameBytes = bytes.readUInt32LE(at + 8)
    const name = bytes.toString('utf16le', at + 12, at + 12 + nameBytes)
    list.push(`${ACTIONS.get(bytes.readUInt32LE(at + 4))} ${name}`)
    isLast = step === 0
    at += step
  }
  return list
}

async function move(kv: FileKv, from: string, to: string): Promise<void> {
  await kv.write(function* (tx) {
    const target = yield* locate(tx, { ...EXAMPLE_ADDRESS, path: to.split('/') })
    yield* renameNode(tx, yield* requireExampleNode(tx, from), target, {}, EXAMPLE_MOMENT)
  })
}

async function create(kv: FileKv, path: string, nodeId: number): Promise<void> {
  await kv.write((tx) => createExampleNode(tx, path, 'file', nodeId))
}

const FILE_NAME = 1
const ATTRIBUTES = 4

test('a request gets what was created, changed and removed since the last one', async () => {
  const { kv, watch } = await openWatched()
  await create(kv, 'd/x', 20)
  await kv.write(function* (tx) {
    const resize = { lengthBytes: 5, newId: 30 }
    yield* resizeFile(tx, yield* requireExampleNode(tx, 'd/x'), resize, EXAMPLE_MOMENT)
  })
  await kv.write(function* (tx) {
    yield* removeNode(tx, yield* requireExampleNode(tx, 'd/x'), EXAMPLE_MOMENT)
  })
  assert.deepEqual(await changes(watch, 3), ['added x', 'modified x', 'removed x'])
})

test('a waiting request is answered with the first change', async () => {
  const { kv, watch } = await openWatched()
  const waiting = changes(watch)
  await create(kv, 'd/x', 20)
  assert.deepEqual(await waiting, ['added x'])
})

test('a watch on the tree reports names below subdirectories with their path, others do not', async () => {
  for (const watchTree of [true, false]) {
    const { kv, watch } = await openWatched({ watchTree })
    await create(kv, 'd/e/x', 20)
    await create(kv, 'y', 21)
    await create(kv, 'd/z', 22)
    const seen = watchTree ? ['added e\\x', 'added z'] : ['added z']
    assert.deepEqual(await changes(watch, seen.length), seen)
  }
})

// prettier-ignore
const RENAMES: readonly (readonly [from: string, to: string, watchTree: boolean, seen: readonly string[]])[] = [
  ['d/x',   'd/y',   false, ['oldName x', 'newName y']],
  ['d/x',   'd/e/y', true,  ['removed x', 'added e\\y']],
  ['d/x',   'd/e/y', false, ['removed x']],
  ['d/x',   'y',     true,  ['removed x']],
  ['f',     'd/y',   false, ['added y']],
  ['d/e/x', 'd/e/y', true,  ['oldName e\\x', 'newName e\\y']],
]

for (const [from, to, watchTree, seen] of RENAMES) {
  test(`a rename from ${from} to ${to}${watchTree ? ' in a watched tree' : ''}: ${seen.join(', ')}`, async () => {
    const { kv, watch } = await openWatched({ watchTree, filter: FILE_NAME })
    if (from !== 'f') await create(kv, from, 20)
    await move(kv, from, to)
    const isCreated = from !== 'f' && (watchTree || !from.includes('/e/'))
    const created = isCreated ? [`added ${from.slice(2).replace('/', '\\')}`] : []
    await create(kv, 'd/end', 21)
    const expected = [...created, ...seen, 'added end']
    assert.deepEqual(await changes(watch, expected.length), expected)
  })
}

test('a watch on attributes reports a renamed file as modified', async () => {
  const { kv, watch } = await openWatched({ filter: ATTRIBUTES })
  await move(kv, 'f', 'd/y')
  assert.deepEqual(await changes(watch), ['modified y'])
})

test('the terms of the first request stay in effect', async () => {
  const { kv, handle, world } = await openWatched({ filter: ATTRIBUTES })
  const again = watchOf(world, handle, { filter: ALL, watchTree: true, lengthMax: 1_000 })
  await create(kv, 'd/x', 20)
  await move(kv, 'f', 'd/y')
  assert.deepEqual(await changes(again), ['modified y'])
})

test('the end of the handle ends waiting requests and the watch', async () => {
  const { kv, handle, watch } = await openWatched()
  const waiting = assert.rejects(changes(watch), { status: 'NOTIFY_CLEANUP' })
  for (const wake of handle.onClose) wake()
  await waiting
  await create(kv, 'd/x', 20)
  assert.equal(watch.buffer.isEmpty, true)
})

test('marking the directory for deletion, before or after, ends waiting requests', async () => {
  const { kv, handle, world, watch } = await openWatched()
  const before = assert.rejects(changes(watch), { status: 'DELETE_PENDING' })
  await kv.write(function* (tx) {
    setDeletePending(tx, { shareId: 1, nodeId: 10 }, true)
  })
  await before
  const after = assert.rejects(changes(watch), { status: 'DELETE_PENDING' })
  endIfDeletePending(world, handle, watch)
  await after
})

test('after a cancelled request, the next one gets the change', async () => {
  const { kv, watch } = await openWatched()
  let cancel = (): void => assert.fail('it does not wait')
  const waiting = nextChanges(watch, 1_000, (take) => (cancel = take))
  cancel()
  await assert.rejects(waiting, { status: 'CANCELLED' })
  await create(kv, 'd/x', 20)
  assert.deepEqual(await changes(watch), ['added x'])
})
