import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeDirectoryEntries, isDirectoryClass } from './directory-entry.ts'
import { hex, OPENED_FILE, utf16 } from '../example.ts'

const entry = (name: string) => ({ ...OPENED_FILE, name, fileId: 0x77n })

const NEXT_AND_INDEX = '00000000 00000000'
const SHARED =
  `${NEXT_AND_INDEX} 010000000000d001 020000000000d001 030000000000d001 040000000000d001` +
  '3412000000000000 0020000000000000 20000000 04000000'
const EA = '00000000'
const SHORT_NAME = `00 00 ${'00'.repeat(24)}`
const ID = '7700000000000000'
const ID_128 = `${ID} 0000000000000000`

for (const [what, id, fixed] of [
  ['Directory', 1, SHARED],
  ['FullDirectory', 2, `${SHARED} ${EA}`],
  ['BothDirectory', 3, `${SHARED} ${EA} ${SHORT_NAME}`],
  ['Names', 12, `${NEXT_AND_INDEX} 04000000`],
  ['IdBothDirectory', 37, `${SHARED} ${EA} ${SHORT_NAME} 0000 ${ID}`],
  ['IdFullDirectory', 38, `${SHARED} ${EA} 00000000 ${ID}`],
  ['IdExtdDirectory', 60, `${SHARED} ${EA} 00000000 ${ID_128}`],
  ['IdExtdBothDirectory', 63, `${SHARED} ${EA} 00000000 ${ID_128} ${SHORT_NAME}`],
] as const) {
  test(`File${what}Information encodes an entry`, () => {
    assert.equal(isDirectoryClass(id), true)
    assert.deepEqual(encodeDirectoryEntries(id, [entry('ab')], 65_536), {
      status: 'SUCCESS',
      bytes: hex(fixed + utf16('ab')),
      count: 1,
    })
  })

  test(`File${what}Information encodes as many 8-aligned entries as fit`, () => {
    const names = ['.', '..', 'abc', 'a longer name.txt', 'z']
    const all = encodeDirectoryEntries(id, names.map(entry), 65_536)
    assert.deepEqual(namesOf(all.bytes, hex(fixed).length), names)
    for (let max = 0; max <= all.bytes.length; max += 1) {
      const { status, bytes, count } = encodeDirectoryEntries(id, names.map(entry), max)
      assert(bytes.length <= max)
      assert.deepEqual(namesOf(bytes, hex(fixed).length), names.slice(0, count))
      assert.equal(status, count === 0 ? 'INFO_LENGTH_MISMATCH' : 'SUCCESS')
    }
  })
}

/** Follows NextEntryOffset. The offset of the name's length is 60, or 8 for FileNamesInformation. */
function namesOf(bytes: Buffer, nameAt: number): readonly string[] {
  const names: string[] = []
  let rest = bytes
  while (rest.length > 0) {
    const nameBytes = rest.readUInt32LE(nameAt === 12 ? 8 : 60)
    names.push(rest.subarray(nameAt, nameAt + nameBytes).toString('utf16le'))
    const next = rest.readUInt32LE(0)
    assert.equal(next % 8, 0)
    rest = next === 0 ? rest.subarray(rest.length) : rest.subarray(next)
  }
  return names
}

test('a listing reads only one entry more than fits', () => {
  let readCount = 0
  function* endless() {
    for (;;) {
      readCount += 1
      yield entry('x')
    }
  }
  const { count } = encodeDirectoryEntries(37, endless(), 65_536)
  assert.equal(readCount, count + 1)
})

test('an empty list has no entries, and an unknown class is refused', () => {
  assert.deepEqual(encodeDirectoryEntries(37, [], 100).count, 0)
  assert.equal(encodeDirectoryEntries(99, [entry('a')], 100).status, 'INVALID_INFO_CLASS')
})
