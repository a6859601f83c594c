import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../../storage/shared/error.ts'
import {
  decodeConditions,
  decodeMetadata,
  optionalBoolean,
  optionalCrc64,
  optionalDateMs,
  optionalETags,
  optionalGuid,
  optionalInt,
  optionalMd5,
  optionalWord,
  requiredHeader,
  requiredInt,
  type HeaderFields,
} from './header.ts'

const DECODERS = {
  int: (headers: HeaderFields) => optionalInt(headers, 'h', { min: -1, max: 60 }),
  boolean: (headers: HeaderFields) => optionalBoolean(headers, 'h'),
  word: (headers: HeaderFields) => optionalWord(headers, 'h', ['BlockBlob', 'PageBlob']),
  date: (headers: HeaderFields) => optionalDateMs(headers, 'h'),
  md5: (headers: HeaderFields) => optionalMd5(headers, 'h'),
  crc64: (headers: HeaderFields) => optionalCrc64(headers, 'h'),
  guid: (headers: HeaderFields) => optionalGuid(headers, 'h'),
  etags: (headers: HeaderFields) => optionalETags(headers, 'h'),
}

const GUID = '0f8fad5b-d9cb-469f-a165-70867728950e'

const ACCEPTED: readonly (readonly [keyof typeof DECODERS, string, unknown])[] = [
  ['int', '0', 0],
  ['int', '-1', -1],
  ['int', '60', 60],
  ['boolean', 'true', true],
  ['boolean', 'False', false],
  ['word', 'blockblob', 'BlockBlob'],
  ['date', 'Sun, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['md5', '1B2M2Y8AsgTpgAmY7PhCfg==', '1B2M2Y8AsgTpgAmY7PhCfg=='],
  ['crc64', 'AAAAAAAAAAA=', 'AAAAAAAAAAA='],
  ['guid', GUID, GUID],
  ['guid', GUID.toUpperCase(), GUID],
  ['guid', GUID.replaceAll('-', ''), GUID],
  ['guid', `{${GUID}}`, GUID],
  ['guid', `(${GUID})`, GUID],
  ['guid', '{0x0f8fad5b,0xd9cb,0x469f,{0xa1,0x65,0x70,0x86,0x77,0x28,0x95,0x0e}}', GUID],
  ['etags', '*', '*'],
  ['etags', '"0x8D1"', ['"0x8D1"']],
  ['etags', '0x8D1', ['"0x8D1"']],
  ['etags', '"a,b", "c"', ['"a,b"', '"c"']],
  ['etags', 'W/"a"', ['W/"a"']],
  // None of these is the ETag "a".
  ['etags', '"a"invalid', ['"a"invalid']],
  ['etags', '"x""a"', ['"x""a"']],
  ['etags', '"b" "a"', ['"b" "a"']],
]

for (const [kind, text, value] of ACCEPTED) {
  test(`${kind} ${JSON.stringify(text)} is ${JSON.stringify(value)}`, () => {
    assert.deepEqual(DECODERS[kind]({ h: text }), value)
  })
}

const REFUSED: readonly (readonly [keyof typeof DECODERS, string])[] = [
  ['int', '61'],
  ['int', '-2'],
  ['int', '1.5'],
  ['int', '0x10'],
  ['int', '99999999999999999999'],
  ['boolean', 'yes'],
  ['word', 'Blob'],
  ['date', 'yesterday'],
  ['crc64', 'AAAA'],
  ['guid', 'not-a-guid'],
  ['guid', `{${GUID})`],
  ['etags', '"x",'.repeat(200)],
]

for (const [kind, text] of REFUSED) {
  test(`${kind} ${JSON.stringify(text.slice(0, 30))} → InvalidHeaderValue`, () => {
    assert.throws(() => DECODERS[kind]({ h: text }), {
      code: 'InvalidHeaderValue',
      details: { HeaderName: 'h', HeaderValue: text },
    })
  })
}

test('an invalid MD5 has its own code', () => {
  assert.throws(() => optionalMd5({ h: 'AAAA' }, 'h'), { code: 'InvalidMd5' })
})

test('absent and empty are the same, and an error if the header is required', () => {
  for (const headers of [{}, { h: '' }]) {
    for (const decode of Object.values(DECODERS)) assert.equal(decode(headers), undefined)
    const missing = { code: 'MissingRequiredHeader', details: { HeaderName: 'h' } }
    assert.throws(() => requiredHeader(headers, 'h'), missing)
    assert.throws(() => requiredInt(headers, 'h'), missing)
  }
})

test('conditions are decoded with and without a prefix', () => {
  const time = 'Sun, 06 Nov 1994 08:49:37 GMT'
  assert.deepEqual(decodeConditions({}), {})
  assert.deepEqual(
    decodeConditions({ 'if-match': '"a"', 'if-none-match': '*', 'if-modified-since': time }),
    { ifMatch: ['"a"'], ifNoneMatch: '*', ifModifiedSinceMs: Date.UTC(1994, 10, 6, 8, 49, 37) },
  )
  assert.deepEqual(
    decodeConditions({ 'x-ms-source-if-match': 'a', 'if-match': 'b' }, 'x-ms-source-'),
    { ifMatch: ['"a"'] },
  )
  assert.throws(() => decodeConditions({ 'if-unmodified-since': `${time}, ${time}` }), {
    code: 'InvalidHeaderValue',
  })
})

test('metadata comes from the raw headers and keeps its case', () => {
  const raw = ['Host', 'x', 'X-Ms-Meta-Author', 'Me', 'x-ms-meta-b', '', 'x-ms-date', 'now']
  assert.deepEqual(decodeMetadata(raw), [
    ['Author', 'Me'],
    ['b', ''],
  ])
  assert.deepEqual(decodeMetadata(['Host', 'x']), [])
  assert.throws(() => decodeMetadata(['x-ms-meta-', 'x']), { code: 'EmptyMetadataKey' })
  assert.throws(() => decodeMetadata(['x-ms-meta-a', '1', 'x-ms-meta-A', '2']), {
    code: 'InvalidMetadata',
  })
})

test('any value is decoded or refused with a StorageError', () => {
  const part = fc.constantFrom('"', 'W/', ',', '*', 'a', ' ', '-', '0', '1', '{', '}', '0x', '=')
  const text = fc.oneof(
    fc.string(),
    fc.array(part).map((parts) => parts.join('')),
  )
  const kind = fc.constantFrom(...Object.values(DECODERS))
  fc.assert(
    fc.property(kind, text, (decode, value) => {
      try {
        decode({ h: value })
        decodeMetadata(['x-ms-meta-a', value, `x-ms-meta-${value}`, ''])
      } catch (error) {
        assert(error instanceof StorageError)
      }
    }),
    { numRuns: 500 },
  )
})
