import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WireError } from '../error.ts'
import { hex, requestMessage } from '../example.ts'
import {
  decodeNegotiateContexts,
  encodeEncryptionContext,
  encodeNegotiateContexts,
  encodePreauthContext,
  encodeSigningContext,
} from './negotiate-context.ts'
import {
  decodeNegotiateRequest,
  decodeSmb1Negotiate,
  decodeValidateNegotiate,
  encodeNegotiateResponse,
  encodeValidateNegotiate,
} from './negotiate.ts'

const GUID = hex('000102030405060708090a0b0c0d0e0f')
const GUID_HEX = GUID.toString('hex')

test('a request before 3.1.1 has no contexts', () => {
  const message = requestMessage(
    0,
    `2400 0200 0100 0000 7f000000 ${GUID_HEX} 0000000000000000 1002 0003`,
  )
  assert.deepEqual(decodeNegotiateRequest(message), {
    securityMode: 1,
    capabilities: 0x7f,
    clientGuid: GUID,
    dialects: [0x0210, 0x0300],
    contexts: undefined,
  })
})

const PREAUTH = '0100 0a00 00000000 0100 0400 0100 aabbccdd 000000000000'
const ENCRYPTION = '0200 0600 00000000 0200 0200 0100 0000'
const SIGNING = '0800 0600 00000000 0200 0200 0100 0000'
const POSIX = '0001 0400 00000000 11223344 00000000'

const with311 = (contexts: string, count: number) =>
  requestMessage(
    0,
    `2400 0100 0100 0000 7f000000 ${GUID_HEX} 68000000 ${count.toString(16).padStart(2, '0')}00 0000` +
      `1103 0000 ${contexts}`,
  )

test('contexts of 3.1.1 decode in any order, and unknown ones are ignored', () => {
  assert.deepEqual(
    decodeNegotiateRequest(with311(POSIX + SIGNING + PREAUTH + ENCRYPTION, 4)).contexts,
    {
      preauthIntegrity: { hashAlgorithms: [1], salt: hex('aabbccdd') },
      ciphers: [2, 1],
      signingAlgorithms: [2, 1],
      netname: undefined,
    },
  )
})

for (const [what, message] of [
  ['no dialects', requestMessage(0, `2400 0000 0100 0000 7f000000 ${GUID_HEX} 0000000000000000`)],
  [
    'fewer dialects than announced',
    requestMessage(0, `2400 0900 0100 0000 7f000000 ${GUID_HEX} 0000000000000000 1002`),
  ],
  ['no preauth context', with311(ENCRYPTION, 1)],
  ['two preauth contexts', with311(PREAUTH + PREAUTH, 2)],
  ['two encryption contexts', with311(PREAUTH + ENCRYPTION + ENCRYPTION, 3)],
  ['no hash algorithm', with311('0100 0400 00000000 0000 0000 00000000', 1)],
  ['no cipher', with311(`${PREAUTH}0200 0200 00000000 0000`, 2)],
  ['a context beyond the end', with311('0100 ff00 00000000 0100', 1)],
  ['fewer contexts than announced', with311(PREAUTH, 2)],
] as const) {
  test(`${what} → INVALID_PARAMETER`, () => {
    assert.throws(() => decodeNegotiateRequest(message), WireError)
  })
}

const RESPONSE = {
  securityMode: 1,
  dialect: 0x0311,
  serverGuid: GUID,
  capabilities: 6,
  transactMaxBytes: 0x800000,
  readMaxBytes: 0x800000,
  writeMaxBytes: 0x800000,
  systemTime: 0x01d0000000000001n,
  securityBuffer: hex('60030102'),
}

test('the response of 3.1.1 contains the security buffer, then 8-aligned contexts', () => {
  const contexts = [
    encodePreauthContext(1, hex('aabbccdd')),
    encodeEncryptionContext(2),
    encodeSigningContext(1),
  ]
  const fixed =
    `4100 0100 1103 0300 ${GUID_HEX} 06000000 00008000 00008000 00008000 010000000000d001` +
    '0000000000000000 8000 0400 88000000'
  const body = encodeNegotiateResponse({ ...RESPONSE, contexts })
  assert.deepEqual(body.subarray(0, 72), hex(`${fixed} 60030102 00000000`))
  assert.deepEqual(body.subarray(72), encodeNegotiateContexts(contexts))
  assert.deepEqual(decodeNegotiateContexts(body.subarray(72), 3), {
    preauthIntegrity: { hashAlgorithms: [1], salt: hex('aabbccdd') },
    ciphers: [2],
    signingAlgorithms: [1],
    netname: undefined,
  })
})

test('the response before 3.1.1 ends with the security buffer', () => {
  const body = encodeNegotiateResponse({ ...RESPONSE, dialect: 0x0300, contexts: [] })
  assert.equal(body.length, 68)
  assert.equal(body.readUInt32LE(60), 0)
})

const smb1 = (names: readonly string[], command = 0x72) => {
  const bytes = Buffer.from(names.map((name) => `\u0002${name}\0`).join(''), 'latin1')
  const head = Buffer.alloc(35)
  head.write('\xffSMB', 0, 'latin1')
  head.writeUInt8(command, 4)
  head.writeUInt16LE(bytes.length, 33)
  return Buffer.concat([head, bytes])
}

test('an SMB1 NEGOTIATE lists dialects; other SMB1 messages are refused', () => {
  const names = ['NT LM 0.12', 'SMB 2.002', 'SMB 2.???']
  assert.deepEqual(decodeSmb1Negotiate(smb1(names)), names)
  assert.throws(() => decodeSmb1Negotiate(smb1(names, 0x73)), WireError)
  assert.throws(() => decodeSmb1Negotiate(smb1(names).subarray(0, 50)), WireError)
  assert.throws(() => decodeSmb1Negotiate(Buffer.alloc(10)), WireError)
})

test('VALIDATE_NEGOTIATE_INFO decodes its input and encodes its output', () => {
  const input = hex(`7f000000 ${GUID_HEX} 0100 0200 1002 0003`)
  assert.deepEqual(decodeValidateNegotiate(input), {
    capabilities: 0x7f,
    clientGuid: GUID,
    securityMode: 1,
    dialects: [0x0210, 0x0300],
  })
  assert.throws(() => decodeValidateNegotiate(input.subarray(0, 27)), WireError)
  assert.deepEqual(
    encodeValidateNegotiate({ ...RESPONSE, dialect: 0x0300 }),
    hex(`06000000 ${GUID_HEX} 0100 0003`),
  )
})
