import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyHeaders } from './answer-header.ts'

test('an old record that holds the signature of its source does not reveal it', () => {
  const source = 'https://host/c/b?sv=1&%73ig=secret&se=2'
  const copy = { id: 'i', source, status: 'success', copiedBytes: 1, totalBytes: 1 } as const
  const headers = copyHeaders(copy)
  assert.equal(headers[headers.indexOf('x-ms-copy-source') + 1], 'https://host/c/b?sv=1&se=2')
})
