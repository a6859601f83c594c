// Files that a power cut or a broken disk has left in place of a store: LMDB itself would end the process.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { encodeKey } from '../key.ts'
import { encodeRecord } from '../record.ts'
import { isLmdbDamage } from './lmdb-file.ts'
import { openLmdbEngine } from './lmdb.ts'

const root = mkdtempSync(join(tmpdir(), 'lazuli-lmdb-file-'))
after(() => rmSync(root, { recursive: true }))

const PAGE_BYTES = 8_192
const KEY = encodeKey('a')

/** A store with one record, as a file. */
async function storedFile(): Promise<Buffer> {
  const folder = mkdtempSync(join(root, 'stored-'))
  const engine = openLmdbEngine(folder)
  const { value } = encodeRecord({ a: 1 })
  await engine.commit([{ writes: [{ key: KEY, value, version: 2 }] }])
  await engine.close()
  return readFileSync(join(folder, 'data.mdb'))
}

function folderWith(file: Buffer): string {
  const folder = mkdtempSync(join(root, 'given-'))
  writeFileSync(join(folder, 'data.mdb'), file)
  return folder
}

const stored = await storedFile()
const created = Buffer.from(stored.subarray(0, 2 * PAGE_BYTES))
/** The number of the last transaction. */
created.fill(0, PAGE_BYTES + 152, PAGE_BYTES + 160)

for (const [what, file] of [
  ['an empty file', Buffer.alloc(0)],
  ['zeros', Buffer.alloc(2 * PAGE_BYTES)],
  ['the first bytes of a page', stored.subarray(0, 100)],
  [
    'a file whose first page was not written',
    Buffer.concat([Buffer.alloc(PAGE_BYTES), created.subarray(PAGE_BYTES)]),
  ],
] as const) {
  test(`${what}: nothing was ever committed, and the store begins again`, async () => {
    const engine = openLmdbEngine(folderWith(file))
    const { keys } = await engine.read({ keys: [{ key: KEY }], ranges: [] })
    assert.deepEqual(keys, [undefined])
    await engine.close()
  })
}

test('a store that has lost its end is refused', () => {
  const folder = folderWith(stored.subarray(0, 2 * PAGE_BYTES))
  assert.throws(() => openLmdbEngine(folder), /data\.mdb is damaged: its end is missing/)
})

test('a store whose last pages nobody uses may be shorter than it says', async () => {
  const file = Buffer.from(stored)
  for (const at of [144, PAGE_BYTES + 144]) file.writeBigUInt64LE(99n, at)
  const folder = folderWith(file)
  const engine = openLmdbEngine(folder)
  const { keys } = await engine.read({ keys: [{ key: KEY }], ranges: [] })
  assert(keys[0])
  await engine.close()
  assert.equal(statSync(join(folder, 'data.mdb')).size, 100 * PAGE_BYTES)
})

test('a store that has lost pages of records fails when they are read, and the process goes on', async () => {
  const folder = mkdtempSync(join(root, 'long-'))
  const engine = openLmdbEngine(folder)
  const { value } = encodeRecord({ text: 'x'.repeat(3_000) })
  const keys = Array.from({ length: 100 }, (_, at) => encodeKey(String(at)))
  await engine.commit([{ writes: keys.map((key) => ({ key, value, version: 2 })) }])
  await engine.close()
  const file = readFileSync(join(folder, 'data.mdb'))
  file.fill(0, 4 * PAGE_BYTES, 12 * PAGE_BYTES)
  const damaged = openLmdbEngine(folderWith(file))
  const read = async () => damaged.read({ keys: keys.map((key) => ({ key })), ranges: [] })
  await assert.rejects(read, isLmdbDamage)
  await damaged.close()
})

for (const [what, file] of [
  [
    'a store whose first page is lost',
    Buffer.concat([Buffer.alloc(PAGE_BYTES), stored.subarray(PAGE_BYTES)]),
  ],
  ['a long file of something else', Buffer.alloc(2 ** 20 + 1, 7)],
] as const) {
  test(`${what} is refused, and stays as it is`, () => {
    const folder = folderWith(file)
    assert.throws(
      () => openLmdbEngine(folder),
      /data\.mdb is damaged: it does not begin like a store/,
    )
    assert.equal(statSync(join(folder, 'data.mdb')).size, file.length)
  })
}
