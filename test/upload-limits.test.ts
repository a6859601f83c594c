// Responses before a body is read: `100 Continue` only if the body is needed; a request that is bound to fail is refused
// without it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BareSocket, headBytes } from './bare-socket.ts'
import { BLOCK_BLOB, startBlobFixture } from './blob/fixture.ts'
import { rawRequest, type RawRequest } from './harness.ts'

const MIB = 1024 * 1024

const { server, put } = await startBlobFixture()
await put('b', 'hello')

function putBlob(lengthBytes: number, headers: Readonly<Record<string, string>> = {}): RawRequest {
  const length = { 'content-length': String(lengthBytes) }
  return { method: 'PUT', path: '/box/b', headers: { ...BLOCK_BLOB, ...length, ...headers } }
}

const EXPECT = { expect: '100-continue' }

for (const lengthBytes of [5, 100_000]) {
  test(`a valid body of ${lengthBytes} bytes gets 100, then 201`, async () => {
    const socket = await BareSocket.open(server.blobPort)
    socket.send(headBytes(putBlob(lengthBytes), EXPECT))
    assert.equal((await socket.answer())?.status, 100)
    assert.equal(socket.waiting, '')
    socket.send(Buffer.alloc(lengthBytes))
    assert.equal((await socket.answer())?.status, 201)
    socket.close()
  })
}

test('a request without a body gets no 100 Continue (RFC 9110, 10.1.1)', async () => {
  const socket = await BareSocket.open(server.blobPort)
  socket.send(headBytes(putBlob(0), EXPECT))
  assert.equal((await socket.answer())?.status, 201)
  socket.send(headBytes({ method: 'GET', path: '/box/b' }))
  assert.equal((await socket.answer())?.status, 200)
  socket.close()
})

// prettier-ignore
const REFUSED: readonly [string, RawRequest, string][] = [
  ['an unmet condition', putBlob(MIB, { 'if-none-match': '*' }), '409 BlobAlreadyExists'],
  ['another ETag', putBlob(MIB, { 'if-match': '"0x1"' }), '412 ConditionNotMet'],
  ['a missing container', { ...putBlob(MIB), path: '/none/b' }, '404 ContainerNotFound'],
  ['no signature', { ...putBlob(MIB), sign: 'none' }, '401 NoAuthenticationInformation'],
  ['an invalid SAS', { ...putBlob(MIB), sign: 'sv=2020-12-06&sr=b&sp=w&se=2099-01-01&sig=x' }, '403 AuthenticationFailed'],
  ['a missing header', { ...putBlob(MIB), headers: { 'content-length': '5' } }, '400 MissingRequiredHeader'],
  ['one byte more than the limit of Put Blob', putBlob(5_000 * MIB + 1), '413 RequestBodyTooLarge'],
  ['properties of 1 GiB', { method: 'PUT', path: '?restype=service&comp=properties', headers: { 'content-length': String(1024 * MIB) } }, '413 RequestBodyTooLarge'],
  ['a long body for an operation without one', { method: 'PUT', path: '/other?restype=container', headers: { 'content-length': '65537' } }, '413 RequestBodyTooLarge'],
]

for (const [what, request, expected] of REFUSED) {
  test(`${what} is refused with ${expected}, without 100, and the connection ends`, async () => {
    const socket = await BareSocket.open(server.blobPort)
    socket.send(headBytes(request, EXPECT))
    const answer = await socket.answer()
    assert.equal(`${answer?.status} ${answer?.headers['x-ms-error-code']}`, expected)
    // Otherwise a body that the client still sends would be parsed as a request.
    assert.equal(answer?.headers.connection, 'close')
    assert.equal(await socket.rest(), '')
    socket.close()
  })

  test(`${what} is refused with ${expected} before the body arrives`, async () => {
    const socket = await BareSocket.open(server.blobPort)
    socket.send(headBytes(request))
    const answer = await socket.answer()
    assert.equal(`${answer?.status} ${answer?.headers['x-ms-error-code']}`, expected)
    socket.close()
  })
}

test('a refused body is skipped, and the connection serves the next request', async () => {
  const socket = await BareSocket.open(server.blobPort)
  socket.send(headBytes(putBlob(MIB, { 'if-match': '"0x1"' })))
  assert.equal((await socket.answer())?.status, 412)
  socket.send(Buffer.alloc(MIB))
  socket.send(headBytes({ method: 'HEAD', path: '/box/b' }))
  assert.equal((await socket.answer({ headOnly: true }))?.status, 200)
  socket.close()
})

for (const path of [
  '/box/chunked',
  '/box?restype=container&comp=acl',
  '?restype=service&comp=properties',
]) {
  test(`a chunked body is refused with 411, since it has no length (${path})`, async () => {
    const headers = { ...BLOCK_BLOB, 'transfer-encoding': 'chunked' }
    const answer = await rawRequest(server, { method: 'PUT', path, headers, body: 'hello' })
    assert.equal(answer.status, 411)
    assert.equal(answer.headers['x-ms-error-code'], 'MissingContentLengthHeader')
  })
}

test('the error for a body that is too long has the limit', async () => {
  const length = { 'content-length': '65537' }
  const request = { method: 'PUT', path: '/box?restype=container&comp=acl', headers: length }
  const answer = await rawRequest(server, { ...request, body: Buffer.alloc(65_537) })
  assert.match(answer.text, /<MaxLimit>65536<\/MaxLimit>/)
})

test('an expectation other than 100-continue is refused with 417', async () => {
  const socket = await BareSocket.open(server.blobPort)
  socket.send(headBytes(putBlob(0), { expect: 'a miracle' }))
  assert.equal((await socket.answer())?.status, 417)
  socket.close()
})

test('an upload that is cut off creates no blob', async () => {
  for (const lengthBytes of [100, 100_000]) {
    const socket = await BareSocket.open(server.blobPort)
    const path = `/box/left-${lengthBytes}`
    socket.send(headBytes({ ...putBlob(lengthBytes), path }) + 'only this')
    socket.finish()
    await socket.rest()
    const answer = await rawRequest(server, { method: 'GET', path })
    assert.equal(answer.headers['x-ms-error-code'], 'BlobNotFound')
  }
})
