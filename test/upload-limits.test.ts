// What is said before a body is read: `100 Continue` only to those whose body is wanted, and a refusal
// without it to those whose request is bound to fail.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { BareSocket, headBytes } from './bare-socket.ts'
import { rawRequest, startTestServer, type RawRequest, type TestServer } from './harness.ts'

const MIB = 1024 * 1024
const BLOCK_BLOB = { 'x-ms-blob-type': 'BlockBlob' }

let server: TestServer
before(async () => {
  server = await startTestServer()
  await rawRequest(server, { method: 'PUT', path: '/box?restype=container' })
  await rawRequest(server, { method: 'PUT', path: '/box/b', headers: BLOCK_BLOB, body: 'hello' })
})
after(() => server.close())

function putBlob(lengthBytes: number, headers: Readonly<Record<string, string>> = {}): RawRequest {
  const length = { 'content-length': String(lengthBytes) }
  return { method: 'PUT', path: '/box/b', headers: { ...BLOCK_BLOB, ...length, ...headers } }
}

const EXPECT = { expect: '100-continue' }

for (const lengthBytes of [5, 100_000]) {
  test(`a body of ${lengthBytes} bytes that is wanted: 100, then 201`, async () => {
    const socket = await BareSocket.open(server.blobPort)
    socket.send(headBytes(putBlob(lengthBytes), EXPECT))
    assert.equal((await socket.answer())?.status, 100)
    assert.equal(socket.waiting, '')
    socket.send(Buffer.alloc(lengthBytes))
    assert.equal((await socket.answer())?.status, 201)
    socket.close()
  })
}

test('where there is no body to come, nobody is asked for it (RFC 9110, 10.1.1)', async () => {
  const socket = await BareSocket.open(server.blobPort)
  socket.send(headBytes(putBlob(0), EXPECT))
  assert.equal((await socket.answer())?.status, 201)
  socket.send(headBytes({ method: 'GET', path: '/box/b' }))
  assert.equal((await socket.answer())?.status, 200)
  socket.close()
})

// prettier-ignore
const REFUSED: readonly [string, RawRequest, string][] = [
  ['a condition that is not met', putBlob(MIB, { 'if-none-match': '*' }), '409 BlobAlreadyExists'],
  ['an ETag that is not the one', putBlob(MIB, { 'if-match': '"0x1"' }), '412 ConditionNotMet'],
  ['a container that is not there', { ...putBlob(MIB), path: '/none/b' }, '404 ContainerNotFound'],
  ['no signature', { ...putBlob(MIB), sign: 'none' }, '401 NoAuthenticationInformation'],
  ['a SAS that is none', { ...putBlob(MIB), sign: 'sv=2020-12-06&sr=b&sp=w&se=2099-01-01&sig=x' }, '403 AuthenticationFailed'],
  ['a header that is missing', { ...putBlob(MIB), headers: { 'content-length': '5' } }, '400 MissingRequiredHeader'],
  ['one byte more than a blob may have', putBlob(5_000 * MIB + 1), '413 RequestBodyTooLarge'],
  ['properties of 1 GiB', { method: 'PUT', path: '?restype=service&comp=properties', headers: { 'content-length': String(1024 * MIB) } }, '413 RequestBodyTooLarge'],
  ['a long body where none belongs', { method: 'PUT', path: '/other?restype=container', headers: { 'content-length': '65537' } }, '413 RequestBodyTooLarge'],
]

for (const [what, request, expected] of REFUSED) {
  test(`${what}: ${expected}, without 100, and the connection is not used again`, async () => {
    const socket = await BareSocket.open(server.blobPort)
    socket.send(headBytes(request, EXPECT))
    const answer = await socket.answer()
    assert.equal(`${answer?.status} ${answer?.headers['x-ms-error-code']}`, expected)
    // The body that the client may still send would be read as a request.
    assert.equal(answer?.headers.connection, 'close')
    assert.equal(await socket.rest(), '')
    socket.close()
  })

  test(`${what}: ${expected}, answered before the body comes`, async () => {
    const socket = await BareSocket.open(server.blobPort)
    socket.send(headBytes(request))
    const answer = await socket.answer()
    assert.equal(`${answer?.status} ${answer?.headers['x-ms-error-code']}`, expected)
    socket.close()
  })
}

test('a refused body is read over, and the connection serves the next request', async () => {
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
  test(`a chunked body has no length: 411 (${path})`, async () => {
    const headers = { ...BLOCK_BLOB, 'transfer-encoding': 'chunked' }
    const answer = await rawRequest(server, { method: 'PUT', path, headers, body: 'hello' })
    assert.equal(answer.status, 411)
    assert.equal(answer.headers['x-ms-error-code'], 'MissingContentLengthHeader')
  })
}

test('the most that an error can hold is said', async () => {
  const length = { 'content-length': '65537' }
  const request = { method: 'PUT', path: '/box?restype=container&comp=acl', headers: length }
  const answer = await rawRequest(server, { ...request, body: Buffer.alloc(65_537) })
  assert.match(answer.text, /<MaxLimit>65536<\/MaxLimit>/)
})

test('an expectation other than 100-continue: 417', async () => {
  const socket = await BareSocket.open(server.blobPort)
  socket.send(headBytes(putBlob(0), { expect: 'a miracle' }))
  assert.equal((await socket.answer())?.status, 417)
  socket.close()
})

test('a client that leaves in the middle of its body leaves no blob', async () => {
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
