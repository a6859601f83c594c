import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hex, OPENED_FILE, utf16 } from '../example.ts'
import { encodeFileInformation, type FileFacts } from './file-information.ts'
import { encodeVolumeInformation, type VolumeFacts } from './volume-information.ts'

const FACTS: FileFacts = {
  ...OPENED_FILE,
  path: 'd\\file.txt',
  isDirectory: false,
  fileId: 0x77n,
  volumeSerialNumber: 0x55n,
  numberOfLinks: 1,
  deletePending: true,
  accessMask: 0x00120089,
  mode: 2,
  position: 9,
}

const TIMES = '010000000000d001 020000000000d001 030000000000d001 040000000000d001'
const BASIC = `${TIMES} 20000000 00000000`
const SIZES = '0020000000000000 3412000000000000'
const STANDARD = `${SIZES} 01000000 01 00 0000`

/** Class, its bytes, and the smallest buffer if it may be truncated. */
const FILE_TABLE: readonly [name: string, number, string, lengthMin?: number][] = [
  ['Basic', 4, BASIC],
  ['Standard', 5, STANDARD],
  ['Internal', 6, '7700000000000000'],
  ['Ea', 7, '00000000'],
  ['Access', 8, '89001200'],
  ['Position', 14, '0900000000000000'],
  ['Mode', 16, '02000000'],
  ['Alignment', 17, '00000000'],
  [
    'All',
    18,
    `${BASIC} ${STANDARD} 7700000000000000 00000000 89001200 0900000000000000 02000000 00000000` +
      `16000000 ${utf16('\\d\\file.txt')}`,
    104,
  ],
  ['Stream', 22, `00000000 0e000000 3412000000000000 0020000000000000 ${utf16('::$DATA')}`, 32],
  ['Compression', 28, '3412000000000000 0000 00 00 00 000000'],
  ['NetworkOpen', 34, `${TIMES} ${SIZES} 20000000 00000000`],
  ['AttributeTag', 35, '20000000 00000000'],
  ['NormalizedName', 48, `14000000 ${utf16('d\\file.txt')}`, 8],
  ['Id', 59, '5500000000000000 7700000000000000 0000000000000000'],
]

const VOLUME: VolumeFacts = {
  creationTime: 0x01d0000000000001n,
  serialNumber: 0x99,
  label: 'share',
  objectId: Buffer.alloc(16, 0xee),
  totalBytes: 8192,
  availableBytes: 4097,
}

const VOLUME_TABLE: readonly [name: string, number, string, lengthMin?: number][] = [
  ['Volume', 1, `010000000000d001 99000000 0a000000 00 00 ${utf16('share')}`, 24],
  ['Size', 3, '0200000000000000 0100000000000000 08000000 00020000'],
  ['Device', 4, '07000000 20000000'],
  ['Attribute', 5, `0e000000 ff000000 08000000 ${utf16('NTFS')}`, 16],
  ['Control', 6, `${'00'.repeat(24)} ${'ff'.repeat(16)} 00000000 00000000`],
  ['FullSize', 7, '0200000000000000 0100000000000000 0100000000000000 08000000 00020000'],
  ['ObjectId', 8, `${'ee'.repeat(16)} ${'00'.repeat(48)}`],
  ['SectorSize', 11, '00020000 00020000 00020000 00020000 03000000 00000000 00000000'],
]

for (const [what, table, encode] of [
  ['File', FILE_TABLE, (id: number, max: number) => encodeFileInformation(id, FACTS, max)],
  ['FileFs', VOLUME_TABLE, (id: number, max: number) => encodeVolumeInformation(id, VOLUME, max)],
] as const) {
  for (const [name, id, expected, lengthMin] of table) {
    test(`${what}${name}Information fits, is truncated or is refused, by the size of the buffer`, () => {
      const whole = hex(expected)
      assert.deepEqual(encode(id, 65_536), { status: 'SUCCESS', bytes: whole })
      for (let max = 0; max < whole.length; max += 1) {
        const { status, bytes } = encode(id, max)
        const fits = max >= (lengthMin ?? whole.length)
        assert.equal(status, fits ? 'BUFFER_OVERFLOW' : 'INFO_LENGTH_MISMATCH', `${max}`)
        assert.deepEqual(bytes, whole.subarray(0, fits ? max : 0))
      }
    })
  }
}

for (const [id, status] of [
  [15, 'NO_EAS_ON_FILE'],
  [1, 'INVALID_INFO_CLASS'],
  [255, 'INVALID_INFO_CLASS'],
] as const) {
  test(`file class ${id} → ${status}`, () => {
    assert.equal(encodeFileInformation(id, FACTS, 65_536).status, status)
  })
}

test('an unknown file system class is refused', () => {
  assert.equal(encodeVolumeInformation(2, VOLUME, 65_536).status, 'INVALID_INFO_CLASS')
})

test('the alternate name is empty, but needs a buffer of 8 bytes', () => {
  const none = { status: 'SUCCESS', bytes: hex('00000000') }
  assert.deepEqual(encodeFileInformation(21, FACTS, 8), none)
  assert.equal(encodeFileInformation(21, FACTS, 7).status, 'INFO_LENGTH_MISMATCH')
})

test('a directory has no streams, and the root is "\\"', () => {
  const root = { ...FACTS, path: '', isDirectory: true }
  assert.equal(encodeFileInformation(22, root, 65_536).bytes.length, 0)
  assert.deepEqual(encodeFileInformation(18, root, 65_536).bytes.subarray(96), hex('02000000 5c00'))
})
