// List Blobs over a tree, against a model: the sorted list of all paths.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ListBlobs, ListPosition } from '../blob/list/list-page.ts'
import { listBlobPage } from '../blob/list/list.ts'
import { treeOrder } from '../blob/path/path-name.ts'
import { putBlock } from '../blob/content/block.ts'
import type { StorageError } from '../shared/error.ts'
import { ACCOUNT, GUARD, lakeWorld, type LakeWorld } from './harness.ts'

const FS = { account: ACCOUNT, container: 'fs' }
const NO_INCLUDES = { snapshots: false, versions: false, deleted: false, deletedWithVersions: false, uncommitted: false } // prettier-ignore

async function listAll(world: LakeWorld, request: Partial<ListBlobs>): Promise<readonly string[]> {
  const found: string[] = []
  let start: ListPosition | undefined = request.start
  for (let pages = 0; pages < 1_000; pages += 1) {
    const list = { prefix: '', delimiter: undefined, countMax: 100, ...request, start }
    const page = await world.kv.read((tx) => listBlobPage(tx, FS, list, world.now.ms))
    assert(page.items.length <= list.countMax)
    for (const item of page.items) {
      if ('prefix' in item) found.push(item.prefix)
      else found.push('past' in item ? `${item.name} ${item.past.kind}` : item.name)
    }
    if (page.next === undefined) return found
    start = page.next
  }
  throw new Error('the list does not end')
}

const name = fc.constantFrom('a', 'b', 'a.', 'ab', 'B')
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
const prefix = fc.oneof(
  fc.constant(''),
  path,
  path.map((text) => `${text}/`),
  fc.constant('a/a'),
)

/** All paths that exist after these files and directories were created, or those that could be. */
async function build(world: LakeWorld, paths: readonly string[]): Promise<readonly string[]> {
  const files = new Set<string>()
  const directories = new Set<string>()
  for (const one of paths) {
    const names = one.split('/')
    const parents = names.slice(0, -1).map((_, at) => names.slice(0, at + 1).join('/'))
    if (directories.has(one) || parents.some((parent) => files.has(parent))) continue
    await world.create(one)
    files.add(one)
    for (const parent of parents) directories.add(parent)
  }
  return [...files, ...directories].toSorted((a, b) => (treeOrder(a) < treeOrder(b) ? -1 : 1))
}

function fold(paths: readonly string[], start: string, directories: ReadonlySet<string>) {
  const folded = paths
    .filter((one) => one.startsWith(start))
    .map((one) => {
      const at = one.indexOf('/', start.length)
      if (at >= 0) return one.slice(0, at + 1)
      return directories.has(one) ? `${one}/` : one
    })
  return [...new Set(folded)]
}

test('pages of any size show all paths in the order of the tree', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(path, { maxLength: 12 }), prefix, fc.boolean(), fc.integer({ min: 1, max: 5 }),
      async (created, start, isFolded, countMax) => {
        const world = await lakeWorld()
        const all = await build(world, created)
        const directories = new Set(all.filter((one) => all.some((other) => other.startsWith(`${one}/`))))
        const expected = isFolded ? fold(all, start, directories) : all.filter((one) => one.startsWith(start))
        const delimiter = isFolded ? '/' : undefined
        assert.deepEqual(await listAll(world, { prefix: start, delimiter, countMax }), expected)
      },
    ),
    { numRuns: 150 },
  ) // prettier-ignore
})

test('a list starts at any name, whether or not it exists', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(path, { maxLength: 12 }),
      prefix,
      path,
      async (created, start, at) => {
        const world = await lakeWorld()
        const all = (await build(world, created)).filter((one) => one.startsWith(start))
        const expected = all.filter((one) => treeOrder(one) >= treeOrder(at))
        assert.deepEqual(await listAll(world, { prefix: start, start: { fromName: at } }), expected)
        const behind = all.filter((one) => treeOrder(one) > treeOrder(at))
        assert.deepEqual(await listAll(world, { prefix: start, start: { afterName: at } }), behind)
        const before = all.filter((one) => treeOrder(one) < treeOrder(at))
        assert.deepEqual(await listAll(world, { prefix: start, endBefore: at }), before)
      },
    ),
    { numRuns: 150 },
  )
})

test('uncommitted blobs and deleted paths are listed in order on request', async () => {
  const world = await lakeWorld()
  await world.setProperties({ deleteRetentionPolicy: { enabled: true, days: 7 } })
  for (const one of ['a/b', 'c', 'd/e', 'f']) await world.create(one)
  for (const one of ['a/a', 'b']) {
    const address = { ...FS, blob: one }
    const put = { blockId: 'AAAA', guard: GUARD }
    const block = await world.stage(Buffer.from('text'))
    await world.write((tx, taken) => putBlock(tx, address, put, block, taken))
  }
  await world.delete('c')
  await world.create('c')
  await world.delete('d')
  const include = { ...NO_INCLUDES, deleted: true, uncommitted: true }
  const expected = ['a', 'a/a', 'a/b', 'b', 'c root', 'c', 'd root', 'f']
  for (const countMax of [1, 2, 100]) {
    assert.deepEqual(await listAll(world, { include, countMax }), expected)
  }
  assert.deepEqual(await listAll(world, { showsOnlyDeleted: true }), ['c root', 'd root'])
  assert.deepEqual(await listAll(world, { include, delimiter: '/' }), [
    'a/',
    'b',
    'c root',
    'c',
    'd root',
    'f',
  ])
  assert.deepEqual(await listAll(world, {}), ['a', 'a/b', 'c', 'f'])
})

test('only the slash folds names', async () => {
  const world = await lakeWorld()
  await assert.rejects(listAll(world, { delimiter: '-' }), (error: StorageError) => {
    return error.code === 'InvalidQueryParameterValue'
  })
})
