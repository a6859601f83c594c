import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { ERRORS, StorageError, type ErrorCode } from '../../storage/shared/error.ts'
import { encodeErrorJson } from './table-error.ts'

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

test('an error is encoded as OData JSON', () => {
  assert.deepEqual(JSON.parse(encodeErrorJson(new StorageError('InvalidInput'), 'id-1', NOW_MS)), {
    'odata.error': {
      code: 'InvalidInput',
      message: {
        lang: 'en-US',
        value:
          'One of the request inputs is not valid.\nRequestId:id-1\nTime:2026-01-02T03:04:05.6780000Z',
      },
    },
  })
})

test('every error with any detail is encoded as valid JSON', () => {
  const code = fc.constantFrom(...(Object.keys(ERRORS) as ErrorCode[]))
  fc.assert(
    fc.property(code, fc.string({ unit: 'binary' }), (code, value) => {
      const error = new StorageError(code, { HeaderValue: value })
      JSON.parse(encodeErrorJson(error, 'id-1', NOW_MS))
    }),
  )
})
