import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BEYOND_ANY_FILE } from '../body.ts'
import { WireError } from '../error.ts'
import { FILE_ID, FILE_ID_HEX, hex, requestMessage, utf16 } from '../example.ts'
import { decodeFileChange, decodeSetInfoRequest, encodeSetInfoResponse } from './set-info.ts'

test('SET_INFO decodes a request and encodes a response', () => {
  const message = requestMessage(17, `2100 01 0d 01000000 6000 0000 04000000 ${FILE_ID_HEX} 01`)
  assert.deepEqual(decodeSetInfoRequest(message), {
    type: 1,
    informationClass: 13,
    input: hex('01'),
    additionalInformation: 4,
    fileId: FILE_ID,
  })
  assert.throws(() => decodeSetInfoRequest(message.subarray(0, -1)), WireError)
  assert.deepEqual(encodeSetInfoResponse(), hex('0200'))
})

const rename = { replaceIfExists: true, posixSemantics: false, name: 'd\\x' }
const RENAME_TAIL = `0000000000000000 06000000 ${utf16('d\\x')}`

for (const [informationClass, input, change] of [
  [
    4,
    '0000000000000000 ffffffffffffffff feffffffffffffff 010000000000d001 20000000 00000000',
    {
      kind: 'basic',
      creationTime: 'leave',
      lastAccessTime: 'freeze',
      lastWriteTime: 'resume',
      changeTime: 0x01d0000000000001n,
      fileAttributes: 0x20,
    },
  ],
  [10, `01 00000000000000 ${RENAME_TAIL}`, { kind: 'rename', ...rename }],
  [11, `01 00000000000000 ${RENAME_TAIL}`, { kind: 'link', ...rename }],
  [65, `03000000 00000000 ${RENAME_TAIL}`, { kind: 'rename', ...rename, posixSemantics: true }],
  [
    13,
    '01',
    { kind: 'disposition', deletePending: true, posixSemantics: false, ignoreReadOnly: false },
  ],
  [
    64,
    '13000000',
    { kind: 'disposition', deletePending: true, posixSemantics: true, ignoreReadOnly: true },
  ],
  [14, '0500000000000000', { kind: 'position', size: 5, exact: 5n }],
  [16, '02000000', { kind: 'mode', mode: 2 }],
  [19, '0010000000000000', { kind: 'allocation', size: 4096, exact: 4096n }],
  [20, 'ffffffffffffff7f', { kind: 'endOfFile', size: BEYOND_ANY_FILE, exact: 2n ** 63n - 1n }],
] as const) {
  test(`class ${informationClass} → ${change.kind}`, () => {
    assert.deepEqual(decodeFileChange(informationClass, hex(input)), change)
  })
}

for (const [what, informationClass, input, status] of [
  ['Basic of 39 bytes', 4, '00'.repeat(39), 'INFO_LENGTH_MISMATCH'],
  ['a time of -3', 4, `fdffffffffffffff ${'00'.repeat(32)}`, 'INVALID_PARAMETER'],
  ['Rename of 19 bytes', 10, '00'.repeat(19), 'INFO_LENGTH_MISMATCH'],
  ['Rename to an empty name', 10, '00'.repeat(24), 'INVALID_PARAMETER'],
  ['Rename with a root', 10, `0000000000000000 01${RENAME_TAIL.slice(2)}`, 'INVALID_PARAMETER'],
  [
    'Rename to a name of an odd length',
    10,
    `${'00'.repeat(16)} 03000000 610062`,
    'INVALID_PARAMETER',
  ],
  ['Rename to a name beyond the end', 10, `${'00'.repeat(16)} 04000000 6100`, 'INVALID_PARAMETER'],
  ['an empty Disposition', 13, '', 'INFO_LENGTH_MISMATCH'],
  ['EndOfFile of 7 bytes', 20, '00'.repeat(7), 'INFO_LENGTH_MISMATCH'],
  ['a negative EndOfFile', 20, 'ffffffffffffffff', 'INVALID_PARAMETER'],
  ['FullEa', 15, '00', 'EAS_NOT_SUPPORTED'],
  ['class 99', 99, '00', 'INVALID_INFO_CLASS'],
] as const) {
  test(`${what} → ${status}`, () => {
    assert.throws(
      () => decodeFileChange(informationClass, hex(input)),
      (error) => error instanceof WireError && error.status === status,
    )
  })
}
