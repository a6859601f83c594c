// The encoding of descriptors ([MS-DTYP] 2.4.6): canonical bytes and invalid ones.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../../shared/error.ts'
import { parseDescriptorText, parseSddl } from './sddl.ts'
import type { AnyAce } from './security-descriptor-ace.ts'
import { checkPermission, decodeSecurityDescriptor } from './security-descriptor.ts'
import { encodeSecurityDescriptor, permissionKeyOf } from './security-descriptor.ts'

const invalid = { name: 'StorageError', code: 'FileInvalidPermission' }
const PERMISSION = encodeSecurityDescriptor(
  parseSddl('O:SYG:BAD:P(A;OICI;FA;;;SY)S:(AU;SA;FA;;;WD)'),
)

/** The same descriptor with its parts in .NET's order (owner, group, SACL, DACL) and gaps between them. */
function reordered(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const fields = [12, 16, 4, 8]
  const starts = fields.map((field) => view.getUint32(field, true))
  const parts = starts.map((start, i) => bytes.subarray(start, starts[i + 1] ?? bytes.length))
  const other = Buffer.alloc(bytes.length + 16)
  other.set(bytes.subarray(0, 20))
  let offset = 20
  for (const field of [4, 8, 12, 16]) {
    const part = parts[fields.indexOf(field)] ?? Buffer.alloc(0)
    other.writeUInt32LE(offset, field)
    other.set(part, offset)
    offset += part.length + 4
  }
  return other
}

test('the order of the parts does not change the permission', () => {
  const other = reordered(PERMISSION)
  assert.notDeepEqual(Buffer.from(other), Buffer.from(PERMISSION))
  assert.deepEqual(decodeSecurityDescriptor(other), decodeSecurityDescriptor(PERMISSION))
  assert.equal(permissionKeyOf(other), permissionKeyOf(PERMISSION))
})

test('a key is two 64-bit numbers', () => {
  const key = permissionKeyOf(PERMISSION)
  assert.match(key, /^\d{1,20}\*\d{1,20}$/)
  for (const part of key.split('*')) assert(BigInt(part) < 2n ** 64n)
})

test('different permissions have different keys', () => {
  const texts = [
    'O:SYG:SYD:',
    'O:SYG:SYD:P',
    'O:SYG:SYD:(A;;FA;;;SY)',
    'O:SYG:SYD:NO_ACCESS_CONTROL',
  ]
  const keys = texts.map((text) => permissionKeyOf(encodeSecurityDescriptor(parseSddl(text))))
  assert.equal(new Set(keys).size, texts.length)
})

const PERMISSIONS: readonly (readonly [text: string, isComplete: boolean])[] = [
  ['O:SYG:SYD:', true],
  ['O:SYG:SYD:NO_ACCESS_CONTROL', true],
  ['O:SYG:SY', false],
  ['O:SYD:', false],
  ['G:SYD:', false],
]

for (const [text, isComplete] of PERMISSIONS) {
  test(`${text} is ${isComplete ? 'a complete' : 'an incomplete'} permission`, () => {
    const check = () => checkPermission(parseDescriptorText(text))
    if (isComplete) check()
    else assert.throws(check, invalid)
  })
}

const spoiled = (offset: number, ...values: readonly number[]) => {
  const bytes = Uint8Array.from(PERMISSION)
  bytes.set(values, offset)
  return bytes
}

const BROKEN: readonly (readonly [what: string, bytes: Uint8Array])[] = [
  ['nothing', new Uint8Array(0)],
  ['a short header', PERMISSION.subarray(0, 19)],
  ['more than 64 KiB', Buffer.concat([PERMISSION, Buffer.alloc(65_536)])],
  ['another revision', spoiled(0, 2)],
  ['absolute form', spoiled(3, 0)],
  ['an owner in the header', spoiled(4, 19)],
  ['an owner beyond the end', spoiled(4, 0xff, 0xff, 0xff, 0xff)],
  ['a list of revision 5', spoiled(20, 5)],
  ['a list shorter than its header', spoiled(22, 7, 0)],
  ['a list longer than the descriptor', spoiled(22, 0xff, 0xff)],
  ['more entries than the list has', spoiled(24, 2)],
  ['an entry shorter than its header', spoiled(30, 3, 0)],
  ['an entry without a mask', spoiled(30, 4, 0)],
  ['an entry longer than its list', spoiled(30, 0xff, 0)],
]

for (const [what, bytes] of BROKEN) {
  test(`${what} is FileInvalidPermission`, () => {
    assert.throws(() => decodeSecurityDescriptor(bytes), invalid)
  })
}

const sid = fc
  .array(fc.nat(0xffffffff), { maxLength: 15 })
  .map((parts) => ['S-1-5', ...parts].join('-'))
const guid = fc.uuid()
const head = { flags: fc.nat(255), mask: fc.nat(0xffffffff), sid }
const tail = fc.uint8Array({ minLength: 1, maxLength: 5 }).map((bytes) => bytes.slice(0, 4))
const ace: fc.Arbitrary<AnyAce> = fc.oneof(
  fc.record({ type: fc.constantFrom(0, 1, 2, 0x11), ...head }),
  fc.record({ type: fc.constantFrom(5, 6), ...head, objectType: guid, inheritedObjectType: guid }),
  fc.record({ type: fc.constantFrom(5, 8), ...head, inheritedObjectType: guid }),
  fc.record({ type: fc.constantFrom(9, 0x12), ...head, applicationBytes: tail }),
  fc.record({ type: fc.integer({ min: 0x20, max: 255 }), flags: fc.nat(255), body: tail }),
)
const acl = fc.option(fc.array(ace, { maxLength: 5 }), { nil: undefined })
const trustee = fc.option(sid, { nil: undefined })
const descriptor = fc.record({
  control: fc.nat(0xffff),
  owner: trustee,
  group: trustee,
  sacl: acl,
  dacl: acl,
})

test('canonical bytes decode to their descriptor and encode to the same bytes', () => {
  const check = (value: Parameters<typeof encodeSecurityDescriptor>[0]) => {
    const bytes = encodeSecurityDescriptor(value)
    const read = decodeSecurityDescriptor(bytes)
    assert.deepEqual([read.owner, read.group], [value.owner, value.group])
    assert.equal(read.dacl?.length, value.dacl?.length)
    assert.deepEqual(encodeSecurityDescriptor(read), bytes)
  }
  fc.assert(fc.property(descriptor, check), { numRuns: 1000 })
})

test('any bytes decode to a descriptor or are FileInvalidPermission', () => {
  const changes = fc.array(fc.tuple(fc.nat(PERMISSION.length - 1), fc.nat(255)), { maxLength: 6 })
  const changed = fc.tuple(changes, fc.nat(PERMISSION.length)).map(([list, lengthBytes]) => {
    const bytes = Uint8Array.from(PERMISSION)
    for (const [offset, value] of list) bytes[offset] = value
    return bytes.subarray(0, lengthBytes)
  })
  const check = (bytes: Uint8Array) => {
    try {
      permissionKeyOf(bytes)
    } catch (error) {
      assert(error instanceof StorageError && error.code === 'FileInvalidPermission')
    }
  }
  fc.assert(fc.property(fc.oneof(changed, fc.uint8Array({ maxLength: 99 })), check), {
    numRuns: 5000,
  })
})
