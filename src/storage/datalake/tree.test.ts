// Random operations on a tree, one after the other and at once, against a model and against what must always hold.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeKey } from '../../kv/key.ts'
import { KEY_END } from '../../kv/kv.ts'
import { decodeRecord } from '../../kv/record.ts'
import type { Blob } from '../blob/record.ts'
import { namesOfPath, treeOrder } from '../blob/path/path-name.ts'
import type { PathEntry } from '../blob/path/path-state.ts'
import { StorageError } from '../shared/error.ts'
import { lakeWorld, ONCE, type LakeWorld } from './harness.ts'

/** By path: the content of a file; undefined for a directory. */
type Model = Map<string, string | undefined>

type Command =
  | { readonly do: 'write' | 'mkdir' | 'delete' | 'deleteEmpty'; readonly path: string }
  | { readonly do: 'rename'; readonly path: string; readonly to: string }

const name = fc.constantFrom('a', 'b', 'c', 'a.b')
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
const simple = fc.constantFrom('write' as const, 'mkdir' as const, 'delete' as const, 'deleteEmpty' as const) // prettier-ignore
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: simple, path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rename' as const), path, to: path }) },
)

function parentsOf(of: string): readonly string[] {
  const names = namesOfPath(of)
  return names.slice(0, -1).map((_, at) => names.slice(0, at + 1).join('/'))
}

const isDirectory = (model: Model, at: string): boolean =>
  at === '' || (model.has(at) && model.get(at) === undefined)

const below = (model: Model, at: string): readonly string[] =>
  [...model.keys()].filter((one) => one.startsWith(`${at}/`))

function makeParents(model: Model, at: string): boolean {
  const parents = parentsOf(at)
  if (parents.some((one) => model.has(one) && !isDirectory(model, one))) return false
  for (const one of parents) model.set(one, undefined)
  return true
}

function remove(model: Model, at: string): void {
  for (const one of [at, ...below(model, at)]) model.delete(one)
}

function rename(model: Model, from: string, to: string): boolean {
  const parent = parentsOf(to).at(-1) ?? ''
  if (!model.has(from) || !isDirectory(model, parent)) return false
  if (to === from || to.startsWith(`${from}/`)) return false
  if (model.has(to)) {
    if (isDirectory(model, to) !== isDirectory(model, from)) return false
    if (below(model, to).length > 0) return false
  }
  const moved = [from, ...below(model, from)].map((one) => {
    return [`${to}${one.slice(from.length)}`, model.get(one)] as const
  })
  remove(model, from)
  for (const [one, content] of moved) model.set(one, content)
  return true
}

/** False: the service refuses it. */
function apply(model: Model, one: Command, content: string): boolean {
  const { path: at } = one
  switch (one.do) {
    case 'rename':
      return rename(model, at, one.to)
    case 'mkdir':
    case 'write': {
      const isFile = one.do === 'write'
      if (model.has(at) && isDirectory(model, at) === isFile) return false
      if (!makeParents(model, at)) return false
      model.set(at, isFile ? content : undefined)
      return true
    }
    case 'delete':
    case 'deleteEmpty': {
      if (!model.has(at)) return false
      if (one.do === 'deleteEmpty' && below(model, at).length > 0) return false
      remove(model, at)
      return true
    }
  }
}

async function run(world: LakeWorld, one: Command, content: string): Promise<boolean> {
  try {
    if (one.do === 'rename') await world.rename(one.path, one.to)
    else if (one.do === 'mkdir') await world.mkdir(one.path)
    else if (one.do === 'write') await world.putBlob(one.path, content)
    else await world.delete(one.path, { isRecursive: one.do === 'delete' })
    return true
  } catch (error) {
    assert(error instanceof StorageError && error.status < 500, String(error))
    return false
  }
}

async function modelOf(world: LakeWorld): Promise<Model> {
  const model: Model = new Map()
  for (const { path: at, blob } of (await world.list()).items) {
    model.set(at, blob.path?.isDirectory === true ? undefined : await world.read(at))
  }
  return model
}

const sorted = (model: Model) =>
  [...model].toSorted(([a], [b]) => (treeOrder(a) < treeOrder(b) ? -1 : 1))

/** Every record is reached from a root by exactly one entry, which it names, and every entry leads to a record. */
async function checkTree(world: LakeWorld): Promise<void> {
  const blobs = new Map<string, Blob>()
  const entries: { readonly parentId: string; readonly name: string; readonly entry: PathEntry }[] =
    []
  const all = { from: new Uint8Array(0), to: KEY_END, countMax: 100_000 }
  for (const { key, value } of await world.kv.read((tx) => tx.scan(all))) {
    const [kind, , id, entryName] = decodeKey(key)
    if (kind === 'blob') blobs.set(String(id), decodeRecord<Blob>(value))
    if (kind === 'path-entry') {
      const entry = decodeRecord<PathEntry>(value)
      entries.push({ parentId: String(id), name: String(entryName), entry })
    }
  }
  assert.equal(new Set(entries.map(({ entry }) => entry.id)).size, entries.length)
  assert.equal(entries.length, blobs.size)
  for (const { parentId, name: entryName, entry } of entries) {
    const state = blobs.get(entry.id)?.path
    assert.deepEqual([state?.parentId, state?.name], [parentId, entryName])
    assert.equal(state?.isDirectory, entry.isDirectory)
    assert(reachesRoot(blobs, parentId), 'a cycle or a lost directory')
  }
}

function reachesRoot(blobs: ReadonlyMap<string, Blob>, from: string): boolean {
  let id: string | undefined = from
  for (let depth = 0; depth <= blobs.size; depth += 1) {
    if (id === undefined) return false
    if (id.startsWith('/')) return true
    id = blobs.get(id)?.path?.parentId
  }
  return false
}

test('any operations one after the other do what the model does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 25 }), async (commands) => {
      const world = await lakeWorld()
      const model: Model = new Map()
      for (const [at, one] of commands.entries()) {
        const content = `content ${at}`
        const isDone = apply(model, one, content)
        assert.equal(await run(world, one, content), isDone, JSON.stringify(one))
      }
      assert.deepEqual(sorted(await modelOf(world)), sorted(model))
      await world.sweep()
      await checkTree(world)
      await world.checkSound()
      assert.deepEqual(sorted(await modelOf(world)), sorted(model))
    }),
    { numRuns: 100 },
  )
})

test('operations at once leave a tree: nothing lost, nothing twice, no cycle', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { maxLength: 10 }),
      fc.array(command, { minLength: 2, maxLength: 12 }),
      async (before, atOnce) => {
        const world = await lakeWorld({ waits: true })
        for (const one of before) await run(world, one, 'before')
        await Promise.all(atOnce.map((one, at) => run(world, one, `content ${at}`)))
        const seen = sorted(await modelOf(world))
        await world.sweep()
        await checkTree(world)
        await world.checkSound()
        assert.deepEqual(sorted(await modelOf(world)), seen)
      },
    ),
    { numRuns: 60 },
  )
})

test('of two renames that would make a cycle, one fails', async () => {
  for (let round = 0; round < 10; round += 1) {
    const world = await lakeWorld({ waits: true })
    await world.mkdir('a')
    await world.mkdir('b')
    const done = await Promise.all([
      run(world, { do: 'rename', path: 'a', to: 'b/x' }, ''),
      run(world, { do: 'rename', path: 'b', to: 'a/y' }, ''),
    ])
    assert.deepEqual(done.toSorted(), [false, true])
    await checkTree(world)
  }
})

test('a file that is created while its directory is deleted is gone with it or keeps a new one', async () => {
  const world = await lakeWorld({ waits: true })
  await world.create('d/old')
  const outcomes = await Promise.all([
    run(world, { do: 'delete', path: 'd' }, ''),
    ...Array.from({ length: 8 }, (_, at) => run(world, { do: 'write', path: `d/${at}` }, 'new')),
  ])
  assert(outcomes.every(Boolean))
  const seen = await modelOf(world)
  assert(!seen.has('d/old'))
  await world.sweep()
  await checkTree(world)
  assert.deepEqual(sorted(await modelOf(world)), sorted(seen))
})

test('a file that is written while its directory is renamed keeps every flush', async () => {
  const world = await lakeWorld({ waits: true })
  await world.create('d/f')
  let length = 0
  for (let round = 0; round < 6; round += 1) {
    const [from, to] = round % 2 === 0 ? ['d', 'e'] : ['e', 'd']
    const text = `round ${round};`
    const [written] = await Promise.allSettled([
      world.appendAndFlush(`${from}/f`, length, text),
      world.rename(from ?? '', to ?? ''),
    ])
    if (written.status === 'fulfilled') length += text.length
    else assert.equal((written.reason as StorageError).code, 'BlobNotFound')
    assert.equal((await world.read(`${to}/f`))?.length, length)
  }
  await world.checkSound()
})

test('one of many that create a path with If-None-Match: * succeeds', async () => {
  const world = await lakeWorld({ waits: true })
  const created = await Promise.allSettled(
    Array.from({ length: 10 }, () => world.create('a/b/f', { guard: ONCE })),
  )
  const failures = created.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  assert.equal(failures.length, 9)
  assert(failures.every(({ code }: StorageError) => code === 'BlobAlreadyExists'))
  await checkTree(world)
})
