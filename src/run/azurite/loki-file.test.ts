import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readLokiFile, type LokiDocument } from './loki-file.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'lazuli-loki-'))
after(() => rmSync(FOLDER, { recursive: true }))

async function read(text: string | Uint8Array): Promise<readonly LokiDocument[]> {
  const path = join(FOLDER, 'db.json')
  writeFileSync(path, text)
  const found: LokiDocument[] = []
  for await (const each of readLokiFile(path)) found.push(each)
  return found
}

const DATABASE = {
  filename: 'a "quoted" {name}',
  collections: [
    { name: '$A$', data: [{ x: '}]"\\' }, { y: [{ data: [1] }] }], idIndex: [1, 2] },
    { name: 'ä$Tab', data: [{ name: 'inner' }], other: { data: [{ no: 1 }] } },
    { name: 'empty', data: [] },
  ],
  options: { data: [{ no: 2 }] },
}

const DOCUMENTS = [
  { collection: '$A$', document: { x: '}]"\\' } },
  { collection: '$A$', document: { y: [{ data: [1] }] } },
  { collection: 'ä$Tab', document: { name: 'inner' } },
]

test('the documents of all collections, with or without white space', async () => {
  assert.deepEqual(await read(JSON.stringify(DATABASE)), DOCUMENTS)
  assert.deepEqual(await read(JSON.stringify(DATABASE, undefined, 2)), DOCUMENTS)
})

test('documents that are longer than what is read at once', async () => {
  const long = 'ü'.repeat(3_000_000)
  const database = { collections: [{ name: 'a', data: [{ long }, { long }] }] }
  const found = await read(JSON.stringify(database))
  assert.deepEqual(found.map(({ document }) => (document as { long: string }).long === long), [true, true]) // prettier-ignore
})

test('every beginning of a file is refused: it was cut off', async () => {
  const whole = Buffer.from(JSON.stringify(DATABASE))
  for (let length = 0; length < whole.length; length += 1) {
    await assert.rejects(
      read(whole.subarray(0, length)),
      /db\.json is damaged: it (is empty|ends early)/,
    )
  }
})

for (const [what, text] of [
  ['zeros', new Uint8Array(100)],
  ['two databases', '{"collections":[]}{"collections":[]}'],
  ['a document that is not JSON', '{"collections":[{"name":"a","data":[{x}]}]}'],
  ['a collection without a name', '{"collections":[{"data":[{}]}]}'],
  ['too many brackets', '}'],
] as const) {
  test(`${what} are refused`, () => assert.rejects(read(text), /db\.json is damaged: /))
}
