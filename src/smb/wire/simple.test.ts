import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WireError } from './error.ts'
import { FILE_ID, FILE_ID_HEX, hex, requestMessage } from './example.ts'
import { decodeFileId, isFileIdAllOnes } from './file-id.ts'
import { checkSimpleRequest, decodeFlushRequest, encodeSimpleResponse } from './simple.ts'

test('FLUSH names a file', () => {
  const message = requestMessage(7, `1800 0000 00000000 ${FILE_ID_HEX}`)
  assert.deepEqual(decodeFlushRequest(message), { fileId: FILE_ID })
  assert.throws(() => decodeFlushRequest(message.subarray(0, 87)), WireError)
})

test('LOGOFF, TREE_DISCONNECT, CANCEL and ECHO have four bytes', () => {
  for (const command of [2, 4, 12, 13]) checkSimpleRequest(requestMessage(command, '0400 0000'))
  assert.throws(() => checkSimpleRequest(requestMessage(13, '0400')), WireError)
  assert.throws(() => checkSimpleRequest(requestMessage(13, '0500 0000')), WireError)
  assert.deepEqual(encodeSimpleResponse(), hex('0400 0000'))
})

test('a FileId of all ones is recognized', () => {
  assert.equal(isFileIdAllOnes(decodeFileId(Buffer.alloc(16, 0xff), 0)), true)
  assert.equal(isFileIdAllOnes(FILE_ID), false)
})
