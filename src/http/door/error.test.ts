import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { ERRORS, invalidHeader, StorageError, type ErrorCode } from '../../storage/shared/error.ts'
import { encodeErrorXml, errorHeaders } from './error.ts'
import { parseXml } from '../protocol/xml.ts'

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

test('an error is encoded as XML', () => {
  assert.equal(
    encodeErrorXml(invalidHeader('x-ms-version', '<1>'), 'id-1', NOW_MS),
    '<?xml version="1.0" encoding="utf-8"?><Error><Code>InvalidHeaderValue</Code>' +
      '<Message>The value for one of the HTTP headers is not in the correct format.\n' +
      'RequestId:id-1\nTime:2026-01-02T03:04:05.6780000Z</Message>' +
      '<HeaderName>x-ms-version</HeaderName><HeaderValue>&lt;1&gt;</HeaderValue></Error>',
  )
})

test('an error echoes at most 8 KiB of client input', () => {
  const sent = '<'.repeat(60_000)
  const xml = encodeErrorXml(invalidHeader('x-ms-version', sent), 'id-1', NOW_MS)
  assert.equal(xml.match(/&lt;/g)?.length, 8 * 1024)
})

test('InvalidXmlDocument always has a place and a reason', () => {
  const encode = (error: StorageError) => encodeErrorXml(error, 'id-1', NOW_MS)
  assert.match(
    encode(new StorageError('InvalidXmlDocument')),
    /<LineNumber>0<\/LineNumber><LinePosition>0<\/LinePosition><Reason \/><\/Error>$/,
  )
  assert.throws(
    () => parseXml('<a>\n  <b>\n</a>'),
    (error: StorageError) => /<LineNumber>3<\/LineNumber><LinePosition>\d+</.test(encode(error)),
  )
})

test('304 has the code ConditionNotMet', () => {
  const error = new StorageError('NotModified')
  assert.equal(error.status, 304)
  assert.deepEqual(errorHeaders(error), { 'x-ms-error-code': 'ConditionNotMet' })
})

test('416 has Content-Range in its headers and not in its body', () => {
  const error = new StorageError('InvalidRange', { 'Content-Range': 'bytes */5' })
  assert.equal(errorHeaders(error)['Content-Range'], 'bytes */5')
  assert.doesNotMatch(encodeErrorXml(error, 'id-1', NOW_MS), /Content-Range/)
})

test('the status and code of a copy source are in headers and in the XML', () => {
  const details = {
    CopySourceStatusCode: '404',
    CopySourceErrorCode: 'BlobNotFound',
    CopySourceErrorMessage: 'Gone.',
  }
  const error = new StorageError('CannotVerifyCopySource', details)
  assert.deepEqual(errorHeaders(error), {
    'x-ms-error-code': 'CannotVerifyCopySource',
    'x-ms-copy-source-status-code': '404',
    'x-ms-copy-source-error-code': 'BlobNotFound',
  })
  assert.match(encodeErrorXml(error, 'id-1', NOW_MS), /<CopySourceErrorCode>BlobNotFound</)
})

test('every error with any detail is well-formed XML', () => {
  const code = fc.constantFrom(...(Object.keys(ERRORS) as ErrorCode[]))
  fc.assert(
    fc.property(code, fc.string({ unit: 'binary' }), (code, value) => {
      const error = new StorageError(code, { HeaderValue: value })
      assert.equal(parseXml(encodeErrorXml(error, 'id-1', NOW_MS)).name, 'Error')
    }),
  )
})
