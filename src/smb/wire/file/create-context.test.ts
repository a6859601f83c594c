import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  APP_INSTANCE_ID_TAG,
  decodeCreateContexts,
  encodeDurableContext,
  encodeDurableV2Context,
  encodeLeaseContext,
  encodeMaximalAccessContext,
  encodeOnDiskIdContext,
  encodeResponseContexts,
} from './create-context.ts'
import { WireError } from '../error.ts'
import { FILE_ID, FILE_ID_HEX, hex } from '../example.ts'

const GUID_HEX = '000102030405060708090a0b0c0d0e0f'
const GUID = hex(GUID_HEX)

/** A chain with tags of any length, in the layout of a client. */
function chainOf(...blobs: readonly (readonly [tag: string, value: string])[]): Buffer {
  const pieces = blobs.map(([tag, valueHex], index) => {
    const value = hex(valueHex)
    const valueAt = Math.ceil((16 + tag.length) / 8) * 8
    const isLast = index === blobs.length - 1
    const end = valueAt + value.length
    const blob = Buffer.alloc(isLast ? end : Math.ceil(end / 8) * 8)
    blob.writeUInt32LE(isLast ? 0 : blob.length, 0)
    blob.writeUInt16LE(16, 4)
    blob.writeUInt16LE(tag.length, 6)
    blob.writeUInt16LE(value.length === 0 ? 0 : valueAt, 10)
    blob.writeUInt32LE(value.length, 12)
    blob.write(tag, 16, 'latin1')
    value.copy(blob, valueAt)
    return blob
  })
  return Buffer.concat(pieces)
}

const LEASE_V1 = `${GUID_HEX} 07000000 00000000 0000000000000000`

test('the contexts of a Windows client decode', () => {
  const contexts = decodeCreateContexts(
    chainOf(
      ['DH2Q', `60ea0000 02000000 0000000000000000 ${GUID_HEX}`],
      ['MxAc', ''],
      ['QFid', ''],
      ['RqLs', `${LEASE_V1} ${GUID_HEX} 0500 0000`],
    ),
  )
  assert.deepEqual(contexts.tags, ['DH2Q', 'MxAc', 'QFid', 'RqLs'])
  assert.equal(contexts.queryMaximalAccess, true)
  assert.equal(contexts.queryOnDiskId, true)
  assert.deepEqual(contexts.durableRequestV2, { timeoutMs: 60_000, flags: 2, createGuid: GUID })
  const lease = { version: 2, key: GUID, state: 7, flags: 0, parentKey: GUID, epoch: 5 }
  assert.deepEqual(contexts.lease, lease)
  assert.equal(contexts.durableRequest, false)
})

test('the other contexts decode', () => {
  const contexts = decodeCreateContexts(
    chainOf(
      ['AlSi', '0010000000000000'],
      ['TWrp', '010000000000d001'],
      ['SecD', 'aabb'],
      ['ExtA', 'cc'],
      ['RqLs', LEASE_V1],
      ['DHnQ', '00000000000000000000000000000000'],
      ['DHnC', FILE_ID_HEX],
      ['DH2C', `${FILE_ID_HEX} ${GUID_HEX} 02000000`],
      [APP_INSTANCE_ID_TAG, `1400 0000 ${GUID_HEX}`],
    ),
  )
  assert.equal(contexts.allocationSize, 4096n)
  assert.equal(contexts.timewarp, 0x01d0000000000001n)
  assert.deepEqual(contexts.securityDescriptor, hex('aabb'))
  assert.deepEqual(contexts.extendedAttributes, hex('cc'))
  assert.equal(contexts.lease?.version, 1)
  assert.equal(contexts.durableRequest, true)
  assert.deepEqual(contexts.durableReconnect, FILE_ID)
  assert.deepEqual(contexts.durableReconnectV2, { fileId: FILE_ID, createGuid: GUID, flags: 2 })
  assert.deepEqual(contexts.appInstanceId, GUID)
})

test('an empty chain has no contexts', () =>
  assert.deepEqual(decodeCreateContexts(Buffer.alloc(0)).tags, []))

for (const tagBytes of [1, 2, 3]) {
  test(`a tag of ${tagBytes} bytes is refused`, () => {
    assert.throws(() => decodeCreateContexts(chainOf(['x'.repeat(tagBytes), ''])), WireError)
  })
}
for (const tagBytes of [4, 5, 6, 7, 8, 16, 17, 34]) {
  test(`an unknown tag of ${tagBytes} bytes is ignored`, () => {
    const tag = 'x'.repeat(tagBytes)
    assert.deepEqual(decodeCreateContexts(chainOf([tag, ''], [tag, '00'])).tags, [tag, tag])
  })
}

for (const tag of ['AlSi', 'TWrp', 'RqLs', 'DHnQ', 'DHnC', 'DH2Q', 'DH2C', APP_INSTANCE_ID_TAG]) {
  test(`${tag} with a wrong length is refused`, () => {
    for (const value of ['', '000000', '00'.repeat(33)]) {
      assert.throws(() => decodeCreateContexts(chainOf([tag, value])), WireError)
    }
  })
}
test('MxAc contains a timestamp or nothing', () => {
  assert.equal(decodeCreateContexts(chainOf(['MxAc', '00'.repeat(8)])).queryMaximalAccess, true)
  assert.throws(() => decodeCreateContexts(chainOf(['MxAc', '00'])), WireError)
})

test('a chain with an invalid Next is refused', () => {
  const chain = chainOf(['MxAc', ''], ['QFid', ''])
  for (const next of [4, 8, 12, chain.length, chain.length + 8, 0xfffffff8]) {
    chain.writeUInt32LE(next, 0)
    assert.throws(() => decodeCreateContexts(chain), WireError, `${next}`)
  }
})

test('response contexts are chained and 8-aligned', () => {
  const lease = {
    version: 1,
    key: GUID,
    state: 3,
    flags: 0,
    parentKey: Buffer.alloc(16),
    epoch: 0,
  } as const
  const head = (next: string, tag: string, length: string) =>
    `${next} 1000 0400 0000 1800 ${length} ${Buffer.from(tag).toString('hex')} 00000000`
  assert.deepEqual(
    encodeResponseContexts([
      encodeMaximalAccessContext(0, 0x001f01ff),
      encodeOnDiskIdContext(5n, 6n),
      encodeDurableContext(),
      encodeDurableV2Context(60_000, 2),
      encodeLeaseContext(lease),
    ]),
    hex(
      `${head('20000000', 'MxAc', '08000000')} 00000000 ff011f00` +
        `${head('38000000', 'QFid', '20000000')} 0500000000000000 0600000000000000 ${'00'.repeat(16)}` +
        `${head('20000000', 'DHnQ', '08000000')} 0000000000000000` +
        `${head('20000000', 'DH2Q', '08000000')} 60ea0000 02000000` +
        `${head('00000000', 'RqLs', '20000000')} ${GUID_HEX} 03000000 00000000 0000000000000000`,
    ),
  )
})

test('a lease of version 2 encodes and decodes', () => {
  const lease = { version: 2, key: GUID, state: 7, flags: 4, parentKey: GUID, epoch: 9 } as const
  const answer = encodeResponseContexts([
    encodeLeaseContext(lease),
    encodeMaximalAccessContext(0, 0),
  ])
  assert.deepEqual(decodeCreateContexts(answer).lease, lease)
  assert.equal(answer.readUInt32LE(0), 80)
})
