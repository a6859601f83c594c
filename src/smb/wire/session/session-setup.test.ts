import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WireError } from '../error.ts'
import { hex, requestMessage } from '../example.ts'
import { decodeSessionSetupRequest, encodeSessionSetupResponse } from './session-setup.ts'

const FIXED = '1900 01 02 01000000 00000000 5800 0400 8877665544332211'

test('a request contains its security buffer', () => {
  assert.deepEqual(decodeSessionSetupRequest(requestMessage(1, `${FIXED} a1b2c3d4`)), {
    flags: 1,
    securityMode: 2,
    capabilities: 1,
    securityBuffer: hex('a1b2c3d4'),
    previousSessionId: 0x1122334455667788n,
  })
})

test('a truncated security buffer is refused', () => {
  assert.throws(() => decodeSessionSetupRequest(requestMessage(1, `${FIXED} a1b2c3`)), WireError)
})

test('a response encodes', () => {
  const response = { sessionFlags: 4, securityBuffer: hex('a1b2') }
  assert.deepEqual(encodeSessionSetupResponse(response), hex('0900 0400 4800 0200 a1b2'))
})
