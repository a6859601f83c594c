// The path of a directory, found from the bottom up.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathBelow, type KnownDirectories } from './directory-path.ts'
import {
  EXAMPLE_ADDRESS,
  EXAMPLE_MOMENT,
  EXAMPLE_SHARE,
  requireExampleNode,
  createExampleNode,
  openExampleShare,
} from '../example.ts'
import { locate, ROOT_ID } from './node.ts'
import type { FileKv } from '../open/open.ts'
import { deleteDirectory } from './remove.ts'
import { renameNode } from './rename.ts'

const VIEW = { shareId: EXAMPLE_SHARE.id, lastSnapshot: 0 }

/** a (10) / b (11) / c (12), and d (13). */
async function openTree(): Promise<FileKv> {
  const kv = await openExampleShare()
  await kv.write(function* (tx) {
    yield* createExampleNode(tx, 'a', 'directory', 10)
    yield* createExampleNode(tx, 'a/b', 'directory', 11)
    yield* createExampleNode(tx, 'a/b/c', 'directory', 12)
    yield* createExampleNode(tx, 'd', 'directory', 13)
  })
  return kv
}

const below = async (kv: FileKv, id: number, top: number, known: KnownDirectories = new Map()) =>
  await kv.read((tx) => pathBelow(tx, VIEW, id, top, known))

test('the path holds the names between a directory and one above it', async () => {
  const kv = await openTree()
  assert.deepEqual(await below(kv, 12, ROOT_ID), ['a', 'b', 'c'])
  assert.deepEqual(await below(kv, 12, 10), ['b', 'c'])
  assert.deepEqual(await below(kv, 12, 12), [])
  assert.equal(await below(kv, 12, 13), undefined)
  assert.equal(await below(kv, 99, ROOT_ID), undefined)
})

test('a renamed directory is found by its new name', async () => {
  const kv = await openTree()
  await kv.write(function* (tx) {
    const target = yield* locate(tx, { ...EXAMPLE_ADDRESS, path: ['d', 'x'] })
    yield* renameNode(tx, yield* requireExampleNode(tx, 'a/b'), target, {}, EXAMPLE_MOMENT)
  })
  assert.deepEqual(await below(kv, 12, ROOT_ID), ['d', 'x', 'c'])
  assert.equal(await below(kv, 12, 10), undefined)
})

test('a deleted directory has the path where it was last seen', async () => {
  const kv = await openTree()
  const known: KnownDirectories = new Map()
  await below(kv, 12, ROOT_ID, known)
  await kv.write(function* (tx) {
    yield* deleteDirectory(tx, yield* requireExampleNode(tx, 'a/b/c'), EXAMPLE_MOMENT)
  })
  assert.deepEqual(await below(kv, 12, ROOT_ID, known), ['a', 'b', 'c'])
  assert.equal(await below(kv, 12, ROOT_ID), undefined)
})
