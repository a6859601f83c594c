// Paths of a hierarchical filesystem: what the operations do, and what they leave behind.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SMALL_BYTES_MAX } from '../../extent/content/small.ts'
import { deleteContainer } from '../blob/container/container.ts'
import type { StorageError } from '../shared/error.ts'
import { GUARD, lakeWorld, ONCE, pathsOf, type LakeWorld } from './harness.ts'

const code = (expected: string) => (error: StorageError) => {
  assert.equal(error.code, expected)
  return true
}

test('create makes missing parents, and a list has the order of names', async () => {
  const world = await lakeWorld()
  await world.create('a/b/c')
  await world.create('a.txt')
  await world.mkdir('a/b2')
  assert.deepEqual(await pathsOf(world), ['a/', 'a/b/', 'a/b/c', 'a/b2/', 'a.txt'])
})

test('slashes at the ends and repeated ones do not count', async () => {
  const world = await lakeWorld()
  await world.putBlob('a//b/', 'text')
  assert.deepEqual(await pathsOf(world), ['a/', 'a/b'])
  assert.equal(await world.read('/a/b'), 'text')
})

// prettier-ignore
const CREATE: readonly (readonly [what: string, run: (world: LakeWorld) => Promise<unknown>, code: string])[] = [
  ['a file over a directory', (world) => world.create('d'), 'PathConflict'],
  ['a directory over a file', (world) => world.mkdir('f'), 'PathConflict'],
  ['a path below a file', (world) => world.create('f/x'), 'PathConflict'],
  ['the root', (world) => world.mkdir(''), 'PathConflict'],
  ['an existing file with If-None-Match: *', (world) => world.create('f', { guard: ONCE }), 'BlobAlreadyExists'],
  ['an existing directory with If-None-Match: *', (world) => world.mkdir('d', { guard: ONCE }), 'BlobAlreadyExists'],
  ['an existing file by a caller that may only create', (world) => world.create('f', { createOnly: true }), 'UnauthorizedBlobOverwrite'],
  ['60 directories and a file', (world) => world.create('x/'.repeat(60) + 'f'), 'PathIsTooDeep'],
  ['a blob over a directory', (world) => world.putBlob('d', 'text'), 'ResourceTypeMismatch'],
  ['a blob below a file', (world) => world.putBlob('f/x', 'text'), 'PathConflict'],
]

for (const [what, run, expected] of CREATE) {
  test(`creating ${what} fails with ${expected} and changes nothing`, async () => {
    const world = await lakeWorld()
    await world.create('f')
    await world.create('d/inner')
    const before = await world.counts()
    await assert.rejects(run(world), code(expected))
    assert.deepEqual(await world.counts(), before)
  })
}

test('a directory that is created again keeps what is in it', async () => {
  const world = await lakeWorld()
  await world.create('d/f')
  const before = await world.find('d')
  await world.mkdir('d', { metadata: [['k', 'v']] })
  const after = await world.find('d')
  assert.deepEqual(after?.metadata, [
    ['k', 'v'],
    ['hdi_isfolder', 'true'],
  ])
  assert.equal(after?.path?.id, before?.path?.id)
  assert.deepEqual(await pathsOf(world), ['d/', 'd/f'])
})

test('a put of an empty blob with the mark of a folder makes a directory', async () => {
  const world = await lakeWorld()
  await world.putBlob('d', '', [['hdi_isfolder', 'true']])
  await world.create('d/f')
  assert.deepEqual(await pathsOf(world), ['d/', 'd/f'])
})

test('appended data is visible once it is flushed, and only whole', async () => {
  const world = await lakeWorld()
  await world.create('f')
  await world.append('f', 3, 'def')
  await assert.rejects(world.flush('f', 6), code('InvalidFlushPosition'))
  await world.append('f', 0, 'abc')
  assert.equal(await world.read('f'), '')
  await assert.rejects(world.flush('f', 5), code('InvalidFlushPosition'))
  await assert.rejects(world.flush('f', 7), code('InvalidFlushPosition'))
  await world.flush('f', 3, { retainsUncommittedData: true })
  assert.equal(await world.read('f'), 'abc')
  await world.flush('f', 6)
  assert.equal(await world.read('f'), 'abcdef')
  await assert.rejects(world.flush('f', 3), code('InvalidFlushPosition'))
  await world.append('f', 0, 'xyz')
  await assert.rejects(world.flush('f', 3), code('InvalidFlushPosition'))
  await assert.rejects(world.appendAndFlush('f', 5, 'x'), code('InvalidFlushPosition'))
  await world.appendAndFlush('f', 6, 'g')
  assert.equal(await world.read('f'), 'abcdefg')
  await world.sweep()
  await world.checkSound()
})

test('a flush without retention drops what is behind its position', async () => {
  const world = await lakeWorld()
  await world.create('f')
  await world.append('f', 0, 'abc')
  await world.append('f', 3, 'def')
  await world.flush('f', 3)
  await assert.rejects(world.flush('f', 6), code('InvalidFlushPosition'))
  assert.equal((await world.counts())['block'], undefined)
})

const LONG = 'x'.repeat(SMALL_BYTES_MAX + 1)

/** Records of content that is not in the record of its file. */
async function contentRecords(world: LakeWorld): Promise<Record<string, number>> {
  const counts = Object.entries(await world.counts())
  return Object.fromEntries(counts.filter(([kind]) => CONTENT_KINDS.includes(kind)))
}

const CONTENT_KINDS = [
  'block',
  'blob-staging',
  'map',
  'extent-reference',
  'small-slice',
  'small-dropped',
]

test('a short file is in its record, however its bytes arrived', async () => {
  const world = await lakeWorld()
  await world.create('f')
  await world.appendAndFlush('f', 0, 'abc')
  await world.append('f', 3, 'def')
  await world.append('f', 6, 'ghi')
  await world.flush('f', 9)
  await world.flush('f', 9)
  assert.equal(await world.read('f'), 'abcdefghi')
  await world.sweep()
  assert.deepEqual(await contentRecords(world), {})
})

test('a file that grows by short parts becomes a map, to which each part adds one record', async () => {
  const world = await lakeWorld()
  await world.create('f')
  let text = ''
  for (let at = 0; at < 7; at += 1) {
    const part = String(at).repeat(SMALL_BYTES_MAX / 2)
    await world.appendAndFlush('f', text.length, part)
    text += part
  }
  assert.equal(await world.read('f'), text)
  assert.deepEqual(await contentRecords(world), { map: 6 }, 'two parts were in the record')
  await world.delete('f')
  await world.sweep()
  await world.checkSound()
  assert.deepEqual(await contentRecords(world), {})
})

test('a file of few long parts needs no map until a short one follows', async () => {
  const world = await lakeWorld()
  await world.create('f')
  await world.appendAndFlush('f', 0, LONG)
  await world.appendAndFlush('f', LONG.length, LONG)
  assert.deepEqual(await contentRecords(world), { 'extent-reference': 2 })
  await world.appendAndFlush('f', 2 * LONG.length, 'end')
  assert.equal(await world.read('f'), `${LONG}${LONG}end`)
  assert.deepEqual(await contentRecords(world), { 'extent-reference': 2, map: 2 })
})

const part = fc.record({
  text: fc.oneof(fc.constant(LONG), fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme-ascii' }), fc.constant('y'.repeat(5_000))), // prettier-ignore
  flush: fc.constantFrom('with', 'after', 'later'),
})

test('whatever the lengths of the parts, a file is what was flushed', async () => {
  const parts = fc.array(part, { maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(parts, async (all) => {
      const world = await lakeWorld()
      await world.create('f')
      let [text, flushed] = ['', '']
      for (const { text: added, flush } of all) {
        if (flush === 'with') await world.appendAndFlush('f', text.length, added)
        else await world.append('f', text.length, added)
        text += added
        if (flush === 'after') await world.flush('f', text.length)
        if (flush !== 'later') flushed = text
        assert.equal(await world.read('f'), flushed)
      }
      await world.sweep()
      await world.checkSound()
      assert.equal(await world.read('f'), flushed)
      await world.delete('f')
      await world.sweep()
      assert.deepEqual(await contentRecords(world), {})
    }),
    { numRuns: 40 },
  )
})

test('an append blob takes data at its end at once', async () => {
  const world = await lakeWorld()
  await world.create('f', { isAppendBlob: true })
  await world.append('f', 0, 'abc')
  await assert.rejects(world.append('f', 0, 'x'), code('InvalidAppendPosition'))
  await world.append('f', 3, 'def')
  assert.equal(await world.read('f'), 'abcdef')
})

test('what Put Blob wrote takes no appends, until it is created again', async () => {
  const world = await lakeWorld()
  await world.putBlob('f', 'text')
  await assert.rejects(world.append('f', 4, 'x'), code('InvalidAppendOperation'))
  await assert.rejects(world.flush('f', 4), code('InvalidFlushOperation'))
  await world.create('f')
  await world.appendAndFlush('f', 0, 'new')
  assert.equal(await world.read('f'), 'new')
})

test('a directory is renamed with everything below it, and nothing else changes', async () => {
  const world = await lakeWorld()
  await world.create('a/b/f')
  await world.appendAndFlush('a/b/f', 0, 'text')
  const before = await world.find('a/b/f')
  await world.mkdir('x')
  await world.rename('a', 'x/y')
  assert.deepEqual(await pathsOf(world), ['x/', 'x/y/', 'x/y/b/', 'x/y/b/f'])
  assert.deepEqual(await world.find('x/y/b/f'), before)
  assert.equal(await world.read('x/y/b/f'), 'text')
  assert.equal(await world.find('a'), undefined)
})

test('a rename to another filesystem moves one entry too', async () => {
  const world = await lakeWorld()
  await world.create('a/b/f')
  await world.appendAndFlush('a/b/f', 0, 'text')
  await world.rename('a', 'z', {}, [{}, { container: 'other' }])
  assert.deepEqual(await pathsOf(world), [])
  assert.deepEqual(await pathsOf(world, 'other'), ['z/', 'z/b/', 'z/b/f'])
  assert.equal(await world.read('z/b/f', { container: 'other' }), 'text')
})

// prettier-ignore
const RENAME: readonly (readonly [from: string, to: string, code: string])[] = [
  ['missing', 'x', 'SourcePathNotFound'],
  ['', 'x', 'InvalidRenameSourcePath'],
  ['d', 'd', 'InvalidRenameSourcePath'],
  ['d', 'd/e/x', 'InvalidRenameSourcePath'],
  ['d', 'd/x', 'InvalidRenameSourcePath'],
  ['d', 'f', 'InvalidSourceOrDestinationResourceType'],
  ['f', 'd', 'InvalidSourceOrDestinationResourceType'],
  ['f', 'd2/e2/x', 'RenameDestinationParentPathNotFound'],
  ['d', 'f/x', 'InvalidDestinationPath'],
  ['d/e', 'full', 'PathAlreadyExists'],
  ['f', '', 'InvalidDestinationPath'],
]

for (const [from, to, expected] of RENAME) {
  test(`rename of '${from}' to '${to}' fails with ${expected} and changes nothing`, async () => {
    const world = await lakeWorld()
    await world.create('f')
    await world.mkdir('d/e')
    await world.create('full/x')
    const [counts, paths] = [await world.counts(), await pathsOf(world)]
    await assert.rejects(world.rename(from, to), code(expected))
    assert.deepEqual([await world.counts(), await pathsOf(world)], [counts, paths])
  })
}

test('a rename replaces a file, and an empty directory', async () => {
  const world = await lakeWorld()
  await world.putBlob('f', 'one')
  await world.putBlob('g', 'two')
  await world.rename('f', 'g')
  assert.equal(await world.read('g'), 'one')
  await world.create('d/f')
  await world.mkdir('e')
  await world.rename('d', 'e')
  assert.deepEqual(await pathsOf(world), ['e/', 'e/f', 'g'])
  await assert.rejects(world.rename('e/f', 'g', { guard: ONCE }), code('BlobAlreadyExists'))
  await world.sweep()
  await world.checkSound()
})

test('in posix mode, a directory goes into the one that is at its destination', async () => {
  const world = await lakeWorld()
  const posix = { mode: 'posix' } as const
  await world.create('a/f')
  await world.mkdir('b')
  const before = await world.find('b')
  await world.rename('a', 'b', posix)
  assert.deepEqual(await pathsOf(world), ['b/', 'b/a/', 'b/a/f'])
  assert.deepEqual(await world.find('b'), before)
  await world.rename('b/a', 'a', posix)
  await world.create('b/a/other')
  await assert.rejects(world.rename('a', 'b', posix), code('PathAlreadyExists'))
  await assert.rejects(world.rename('b', 'b/a', posix), code('InvalidRenameSourcePath'))
  await assert.rejects(world.rename('a', 'a', posix), code('InvalidRenameSourcePath'))
  await assert.rejects(world.rename('a', 'b', { ...posix, guard: ONCE }), code('BlobAlreadyExists'))
  await world.delete('b/a/other')
  await world.rename('a', 'b', posix)
  assert.deepEqual(await pathsOf(world), ['b/', 'b/a/', 'b/a/f'])
  await world.create('g')
  await world.rename('b/a/f', 'g', posix)
  assert.deepEqual(await pathsOf(world), ['b/', 'b/a/', 'g'])
  await world.sweep()
  await world.checkSound()
})

test('a recursive delete is seen at once, and the sweep removes every record', async () => {
  const world = await lakeWorld()
  const before = await world.counts()
  for (let at = 0; at < 250; at += 1) await world.create(`d/${at % 7}/${at % 3}/f${at}`)
  await world.appendAndFlush('d/0/0/f0', 0, 'text')
  await world.append('d/1/1/f1', 0, 'text')
  await assert.rejects(world.delete('d', { isRecursive: false }), code('DirectoryNotEmpty'))
  await world.delete('d')
  assert.equal(await world.find('d/0/0/f0'), undefined)
  assert.deepEqual(await pathsOf(world), [])
  await world.create('d/0/0/f0')
  assert.deepEqual(await pathsOf(world), ['d/', 'd/0/', 'd/0/0/', 'd/0/0/f0'])
  await world.delete('d')
  await world.sweep()
  await world.checkSound()
  const ignored = new Set(['next-id', 'extent-next', 'extent', 'due'])
  const left = Object.entries(await world.counts()).filter(([kind]) => !ignored.has(kind))
  assert.deepEqual(
    left,
    Object.entries(before).filter(([kind]) => !ignored.has(kind)),
  )
})

test('a deleted path is restored by its deletion id, with everything below it', async () => {
  const world = await lakeWorld()
  await world.setProperties({ deleteRetentionPolicy: { enabled: true, days: 7 } })
  await world.create('d/e/f')
  await world.appendAndFlush('d/e/f', 0, 'text')
  const first = (await world.delete('d')).deletionId ?? 0
  await world.create('d/other')
  await assert.rejects(world.undelete('d', first), code('PathAlreadyExists'))
  const second = (await world.delete('d')).deletionId ?? 0
  await assert.rejects(world.undelete('d', first + 1), code('PathNotFound'))
  await world.undelete('d', first)
  assert.deepEqual(await pathsOf(world), ['d/', 'd/e/', 'd/e/f'])
  assert.equal(await world.read('d/e/f'), 'text')
  world.now.ms += 8 * 24 * 60 * 60 * 1_000
  await world.delete('d/e/f')
  await assert.rejects(world.undelete('d', second), code('PathNotFound'))
  await world.sweep()
  await world.checkSound()
  assert.equal((await world.counts())['blob'], 3, 'd, e and the soft-deleted file')
})

test('a list goes on behind any path, also one that is gone', async () => {
  const world = await lakeWorld()
  for (const path of ['a/x', 'a/y/z', 'b', 'c/d']) await world.create(path)
  const all = await pathsOf(world)
  for (const countMax of [1, 2, 3]) {
    const found: string[] = []
    let start: { after: string } | undefined
    for (;;) {
      const page = await world.list('', { countMax, start })
      found.push(...page.items.map(({ path }) => path))
      if (page.next === undefined) break
      start = { after: page.next }
    }
    assert.deepEqual(
      found,
      all.map((path) => path.replace(/\/$/, '')),
    )
  }
  const behind = await world.list('', { start: { after: 'a/y/none' } })
  assert.deepEqual(
    behind.items.map(({ path }) => path),
    ['a/y/z', 'b', 'c', 'c/d'],
  )
  const from = await world.list('a', { start: { from: 'y' } })
  assert.deepEqual(
    from.items.map(({ path }) => path),
    ['a/y', 'a/y/z'],
  )
})

test('a deleted container is swept with all its paths, and others stay', async () => {
  const world = await lakeWorld()
  await world.create('a/b/c')
  await world.rename('a/b', 'b', {}, [{}, { container: 'other' }])
  await world.create('d/e')
  await world.write((tx, taken) =>
    deleteContainer(
      tx,
      { account: 'lake', container: 'fs' },
      { conditions: GUARD.conditions },
      taken,
    ),
  )
  await world.sweep()
  assert.deepEqual(await pathsOf(world, 'other'), ['b/', 'b/c'])
  assert.equal((await world.counts())['blob'], 2)
  assert.equal((await world.counts())['path-entry'], 2)
})
