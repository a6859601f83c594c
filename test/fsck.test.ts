// `lazuli fsck --repair`: makes each kind of damage that can be repaired, repairs it, and reads everything with the SDKs. Damage
// that can't be repaired is reported and stays.
import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { extentKey, REFERENCE_RANGE, referenceKey } from '../src/extent/keys.ts'
import { decodeKey, encodeKey } from '../src/kv/key.ts'
import { prefixRange, type Key, type Kv } from '../src/kv/kv.ts'
import { encodeRecord, StoredRecord } from '../src/kv/record.ts'
import { startServer } from '../src/server.ts'
import { checkLocation } from '../src/start/store/fsck.ts'
import { openStore } from '../src/start/store/store.ts'
import { cleanUp, run, tempFolder } from './server-process.ts'
import { contentsOf, fillStore } from './store-contents.ts'

let original = ''
let nowMs = 0
let expected: readonly string[] = []

before(async () => {
  original = tempFolder('fsck')
  nowMs = Date.now()
  const server = await startServer({ location: original, clock: () => (nowMs += 1) })
  await fillStore(server)
  await server.close()
  expected = await contents(original)
})
after(cleanUp)

async function contents(location: string): Promise<readonly string[]> {
  const server = await startServer({ location, clock: () => nowMs })
  try {
    return await contentsOf(server)
  } finally {
    await server.close()
  }
}

/** A copy of the store, with damage. */
async function damaged(harm: (kv: Kv, folder: string) => Promise<void>): Promise<string> {
  const folder = join(tempFolder('damaged'), 'data')
  cpSync(original, folder, { recursive: true })
  const store = await openStore({ folder, pid: 1 }, () => nowMs)
  await harm(store.kv, folder)
  await store.close()
  return folder
}

async function firstKey(kv: Kv, kind: string): Promise<Key> {
  const range = { ...prefixRange(encodeKey(kind)), countMax: 1 }
  const [key] = await kv.read((tx) => tx.scanKeys(range))
  assert(key !== undefined, kind)
  return key
}

const remove = (kind: string) => async (kv: Kv) => {
  const key = await firstKey(kv, kind)
  await kv.write(function* (tx) {
    tx.delete(key)
  })
}

const put = (key: Key, fields: object, bytes?: Uint8Array) => async (kv: Kv) => {
  await kv.write(function* (tx) {
    tx.put(key, encodeRecord(fields, bytes))
  })
}

const OWNER = encodeKey('blob', 1, 'nobody')
const SEALED = { state: 'sealed', sizeBytes: 0, writer: 'x', sealedAtMs: 5 }

const REPAIRABLE: Readonly<Record<string, readonly [harm: (kv: Kv, folder: string) => Promise<void>, line: RegExp]>> = {
  'a missing reference': [
    async (kv) => {
      const entries = await kv.read((tx) => tx.scanKeys({ ...REFERENCE_RANGE, countMax: 1_000 }))
      await kv.write(function* (tx) {
        for (const key of entries) tx.delete(key)
      })
    },
    /^repaired referenceMissing \["blob",.*; added the reference$/,
  ],
  'a reference of nobody': [
    put(referenceKey(1, 77, { id: 999_999 }), { lengthBytes: 1, crc32: 0 }, OWNER),
    /^repaired referenceWithoutOwner \["extent-reference",1,77,999999\]: .*; removed the reference$/,
  ],
  'a file without a record': [
    async (_, folder) => writeFileSync(join(folder, 'extents', '000000000000ff.extent'), 'x'),
    /^repaired fileWithoutRecord : extent 255; removed the file$/,
  ],
  'an extent that no sweep would look at': [
    put(extentKey(500), SEALED),
    /^repaired garbageNotMarked \["extent",500\]: 0 bytes; marked it$/,
  ],
  'a retired extent that no sweep would look at': [
    put(extentKey(500), { ...SEALED, state: 'retired', retiredAtMs: 9 }),
    /^repaired garbageNotMarked \["extent",500\]/,
  ],
  'a small slice that no sweep would look at': [
    put(encodeKey('small-slice', 999_999), {}, Buffer.from('small')),
    /^repaired garbageNotMarked \["small-slice",999999\]/,
  ],
  'a lease that is not in the index': [
    remove('leased'),
    /^repaired indexEntryMissing \["blob",\d+,"leased"\]: its lease is not in the index; added it$/,
  ],
  'a tag that is not in the index': [
    remove('blob-tag'),
    /^repaired indexEntryMissing \["blob",\d+,"small.txt"\]: its tag colour; added it$/,
  ],
  'a tag in the index that no blob has': [
    put(encodeKey('blob-tag', 'devstoreaccount1', 'colour', 'blue', 1, 'small.txt'), {}),
    /^repaired indexEntryStale \["blob-tag",.*; removed it$/,
  ],
  'a message whose id is missing': [
    remove('message-id'),
    /^repaired indexEntryMissing \["message",.*; corrected it$/,
  ],
  'the id of a message that is missing': [
    async (kv) => {
      const [, queueId] = decodeKey(await firstKey(kv, 'message'))
      await put(encodeKey('message-id', Number(queueId), 'gone'), { visibleAtMs: 1, sequence: 99 })(kv)
    },
    /^repaired indexEntryStale \["message-id",\d+,"gone"\]: there is no such message; removed it$/,
  ],
  'a queue that counts wrong': [
    async (kv) => put(await firstKey(kv, 'queue-tally'), { messageCount: 7, lastSequence: 20 })(kv),
    /^repaired totalWrong \["queue",.*counts 7 of 3 messages; corrected it$/,
  ],
  'a share that counts wrong': [
    async (kv) => put(await firstKey(kv, 'share-usage'), { bytes: 1 })(kv),
    /^repaired totalWrong \["share",.*: its usage is 1 of 5000005 bytes; corrected it$/,
  ],
} // prettier-ignore

test('a store with some of everything has no problems', async () => {
  const { exitCode, lines } = await checkLocation(original, 1)
  assert.deepEqual([exitCode, lines.at(-1)], [0, 'no problems'])
})

for (const [what, [harm, line]] of Object.entries(REPAIRABLE)) {
  test(`${what} is reported, and repaired`, async () => {
    const folder = await damaged(harm)
    const found = await checkLocation(folder, 1)
    assert.equal(found.exitCode, 1)
    const repaired = await checkLocation(folder, 1, { repairs: true })
    assert(
      repaired.lines.some((each) => line.test(each)),
      repaired.lines.join('\n'),
    )
    assert.deepEqual([repaired.exitCode, repaired.lines.at(-1)], [0, 'no problems'])
    assert.equal((await checkLocation(folder, 1)).exitCode, 0)
    const now = await contents(folder)
    assert.deepEqual(now, expected)
  })
}

const LOST: Readonly<Record<string, readonly [(kv: Kv, folder: string) => Promise<void>, RegExp]>> = {
  'a damaged slice': [
    async (_, folder) => {
      const [name = ''] = readdirSync(join(folder, 'extents'))
      const bytes = readFileSync(join(folder, 'extents', name))
      bytes.fill(0xee, bytes.length - 20_000)
      writeFileSync(join(folder, 'extents', name), bytes)
    },
    /^sliceDamaged .*CRC-32/m,
  ],
  'a missing file': [
    async (_, folder) => {
      const [name = ''] = readdirSync(join(folder, 'extents'))
      rmSync(join(folder, 'extents', name))
    },
    /^fileMissing \["extent",1\]: extent 1$/m,
  ],
  'a record that is none': [
    async (kv) => {
      await kv.write(function* (tx) {
        tx.put(encodeKey('blob', 1, 'broken'), new StoredRecord(Buffer.from('not a record')))
      })
    },
    /^recordUnreadable \["blob",1,"broken"\].*\nindexes and totals were not checked, because some records are unreadable$/m,
  ],
} // prettier-ignore

describe('what is lost', () => {
  for (const [what, [harm, line]] of Object.entries(LOST)) {
    test(`${what} is reported, and stays as it is`, async () => {
      const folder = await damaged(harm)
      const first = await checkLocation(folder, 1)
      assert.equal(first.exitCode, 1)
      assert.match(first.lines.join('\n'), line)
      const repaired = await checkLocation(folder, 1, { repairs: true })
      assert.equal(repaired.exitCode, 1)
      assert.deepEqual(repaired.lines, ['0 problems repaired; checking again', ...first.lines])
    })
  }
})

test('the command shows how far it is, prints JSON, and ends with 2 if it could not check', async () => {
  const folder = await damaged(put(extentKey(500), SEALED))
  const bad = await run({ args: ['fsck', '--json', '--location', folder] })
  assert.equal(bad.code, 1)
  const lines = bad.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
  assert.deepEqual(lines[0], { problem: { kind: 'garbageNotMarked', key: '["extent",500]', detail: '0 bytes' } }) // prettier-ignore
  assert.equal(lines.length, 2)
  assert.match(bad.stderr, /^records: \d+ of \d+, /m)
  const repaired = await run({ args: ['fsck', '--repair', '--location', folder] })
  assert.equal(repaired.code, 0, repaired.stderr)
  assert.match(
    repaired.stdout,
    /^repaired garbageNotMarked .*\n1 problems repaired; checking again\n.*\nno problems\n$/,
  )
  const none = await run({ args: ['fsck', '--location', join(folder, 'none')] })
  assert.deepEqual([none.code, none.stdout], [2, ''])
  const database = await run({ args: ['fsck', '--repair', '--store', 'postgres://db/x'] })
  assert.deepEqual([database.code, database.stdout], [2, ''])
  assert.match(database.stderr, /^lazuli: lazuli fsck --repair needs a data folder/)
})
