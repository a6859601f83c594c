import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeCloseRequest, encodeCloseResponse } from './close.ts'
import { encodeMaximalAccessContext, encodeResponseContexts } from './create-context.ts'
import { decodeCreateRequest, encodeCreateResponse } from './create.ts'
import { WireError } from '../error.ts'
import {
  FILE_ID,
  FILE_ID_HEX,
  hex,
  OPENED_FILE,
  OPENED_FILE_HEX,
  requestMessage,
  utf16,
} from '../example.ts'

type Fields = {
  readonly impersonation?: string
  readonly disposition?: string
  readonly name?: string
  readonly contexts?: string
  readonly tail?: string
}

const createRequest = (fields: Fields = {}) =>
  requestMessage(
    5,
    `3900 00 09 ${fields.impersonation ?? '02000000'} 0000000000000000 0000000000000000` +
      `89001200 80000000 07000000 ${fields.disposition ?? '03000000'} 40000000` +
      `${fields.name ?? '7800 0600'} ${fields.contexts ?? '00000000 00000000'}` +
      (fields.tail ?? utf16('a\\b')),
  )

test('a request decodes', () => {
  const { contexts, ...request } = decodeCreateRequest(createRequest())
  assert.deepEqual(request, {
    oplockLevel: 9,
    impersonationLevel: 2,
    desiredAccess: 0x00120089,
    fileAttributes: 0x80,
    shareAccess: 7,
    disposition: 3,
    options: 0x40,
    name: 'a\\b',
  })
  assert.deepEqual(contexts.tags, [])
})

test('a request for the root may end before the variable part', () => {
  const request = decodeCreateRequest(createRequest({ name: '0000 0000', tail: '' }))
  assert.equal(request.name, '')
})

test('contexts are found by their offset', () => {
  const message = createRequest({
    name: '7800 0200',
    contexts: '80000000 18000000',
    tail: '6100 000000000000 00000000 1000 0400 0000 0000 00000000 4d784163 00000000',
  })
  assert.deepEqual(decodeCreateRequest(message).contexts.tags, ['MxAc'])
})

for (const [what, fields, status] of [
  ['impersonation 4', { impersonation: '04000000' }, 'BAD_IMPERSONATION_LEVEL'],
  ['disposition 6', { disposition: '06000000' }, 'INVALID_PARAMETER'],
  ['a name of an odd length', { name: '7800 0500' }, 'INVALID_PARAMETER'],
  ['a name beyond the end', { name: '7800 0800' }, 'INVALID_PARAMETER'],
  ['a name inside the fixed part', { name: '7700 0200' }, 'INVALID_PARAMETER'],
  ['contexts beyond the end', { contexts: '78000000 ffffffff' }, 'INVALID_PARAMETER'],
] as const) {
  test(`${what} → ${status}`, () => {
    assert.throws(
      () => decodeCreateRequest(createRequest(fields)),
      (error) => error instanceof WireError && error.status === status,
    )
  })
}

const RESPONSE = { oplockLevel: 9, flags: 0, createAction: 2, file: OPENED_FILE, fileId: FILE_ID }

test('a response without contexts encodes', () => {
  assert.deepEqual(
    encodeCreateResponse({ ...RESPONSE, contexts: [] }),
    hex(`5900 09 00 02000000 ${OPENED_FILE_HEX} 00000000 ${FILE_ID_HEX} 00000000 00000000`),
  )
})

test('a response with contexts encodes', () => {
  const contexts = [encodeMaximalAccessContext(0, 0x1f01ff)]
  const body = encodeCreateResponse({ ...RESPONSE, contexts })
  assert.deepEqual(body.subarray(80, 88), hex('98000000 20000000'))
  assert.deepEqual(body.subarray(88), encodeResponseContexts(contexts))
})

test('a CLOSE request may ask for the attributes', () => {
  const closeRequest = (flags: string) => requestMessage(6, `1800 ${flags} 00000000 ${FILE_ID_HEX}`)
  assert.deepEqual(decodeCloseRequest(closeRequest('0100')), {
    postQueryAttributes: true,
    fileId: FILE_ID,
  })
  assert.equal(decodeCloseRequest(closeRequest('0000')).postQueryAttributes, false)
})

test('a CLOSE response contains the attributes or zeros', () => {
  assert.deepEqual(encodeCloseResponse(OPENED_FILE), hex(`3c00 0100 00000000 ${OPENED_FILE_HEX}`))
  assert.deepEqual(encodeCloseResponse(undefined), hex(`3c00 ${'00'.repeat(58)}`))
})
