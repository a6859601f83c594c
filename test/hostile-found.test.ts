// Bugs that mutated requests have found, each with a test of its own: bytes in headers, names of JavaScript properties,
// and bodies that are refused before they are complete.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  BlobSASPermissions,
  generateBlobSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { ExtentLimitReached } from '../src/extent/error.ts'
import { BLOCK_BLOB } from './blob/fixture.ts'
import {
  ACCOUNT,
  ACCOUNT_KEY,
  rawRequest,
  startTestServer,
  xmlTexts,
  type RawRequest,
} from './harness.ts'
import { bytesOf, HostileClient } from './hostile-client.ts'
import { runTestServer, type RunningTestServer } from './running-server.ts'

let server: RunningTestServer

before(async () => {
  server = await runTestServer({ silent: true, logLevel: 'error' })
  await rawRequest(server, { method: 'PUT', path: '/box?restype=container' })
  const body = Buffer.from('a,b\n1,2\n')
  await rawRequest(server, { method: 'PUT', path: '/box/b', headers: BLOCK_BLOB, body })
})
after(async () => {
  await server.close()
  assert.equal(server.logged(), '')
})

/** A header value with these bytes on the wire: Node encodes headers as Latin-1. */
const wire = (bytes: string | Uint8Array) => Buffer.from(bytes).toString('latin1')

const DISPOSITIONS: readonly [string, string][] = [
  ['UTF-8', wire('attachment; filename="日本 ü.txt"')],
  ['Latin-1', 'attachment; filename="\u00fc.txt"'],
  ['bytes that are neither', wire(Uint8Array.of(0x80, 0xc3, 0x28, 0xff))],
]

for (const [what, value] of DISPOSITIONS) {
  for (const lengthBytes of [0, 5, 50_000]) {
    test(`a Content-Disposition of ${what} is returned unchanged, on a blob of ${lengthBytes} bytes`, async () => {
      const headers = { ...BLOCK_BLOB, 'x-ms-blob-content-disposition': value }
      const body = Buffer.alloc(lengthBytes, 'x')
      const put = await rawRequest(server, { method: 'PUT', path: '/box/named', headers, body })
      assert.equal(put.status, 201)
      for (const method of ['GET', 'HEAD']) {
        const answer = await rawRequest(server, { method, path: '/box/named' })
        assert.equal(answer.headers['content-disposition'], value, method)
        assert.equal(answer.headers['content-length'], String(lengthBytes), method)
      }
    })
  }
}

test('a SAS can set a Content-Disposition in UTF-8', async () => {
  const sas = generateBlobSASQueryParameters(
    {
      containerName: 'box',
      blobName: 'b',
      permissions: BlobSASPermissions.parse('r'),
      expiresOn: new Date(server.now() + 60_000),
      contentDisposition: 'attachment; filename="日本\r\nX-Evil: 1"',
    },
    new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY),
  )
  const answer = await rawRequest(server, { method: 'GET', path: '/box/b', sign: sas.toString() })
  assert.equal(answer.status, 200)
  const expected = wire('attachment; filename="日本X-Evil: 1"')
  assert.equal(answer.headers['content-disposition'], expected)
  assert.equal(answer.headers['x-evil'], undefined)
})

for (const type of ['constructor', '__proto__']) {
  test(`a query with the format ${type} is refused`, async () => {
    const body =
      '<QueryRequest><QueryType>SQL</QueryType><Expression>SELECT * FROM BlobStorage</Expression>' +
      `<InputSerialization><Format><Type>${type}</Type></Format></InputSerialization></QueryRequest>`
    const answer = await rawRequest(server, { method: 'POST', path: '/box/b?comp=query', body })
    assert.equal(answer.headers['x-ms-error-code'], 'InvalidXmlNodeValue')
  })
}

const SPOILT_UPLOADS: readonly [string, RawRequest][] = [
  ['Put Blob', { method: 'PUT', path: '/box/mutated', headers: BLOCK_BLOB }],
  ['Put Block', { method: 'PUT', path: '/box/mutated?comp=block&blockid=YWFhYQ%3D%3D' }],
]

for (const [what, request] of SPOILT_UPLOADS) {
  test(`${what} refused in the middle of its body does not block the next request`, async () => {
    const headers = {
      ...request.headers,
      'x-ms-structured-body': 'XSM/1.0; properties=crc64',
      'x-ms-structured-content-length': '300000',
    }
    const client = new HostileClient(server.blobPort)
    client.send(bytesOf({ ...request, headers, body: Buffer.alloc(300_039, 'no message') }))
    assert.equal((await client.answer('PUT'))?.headers['x-ms-error-code'], 'InvalidInput')
    client.send(bytesOf({ method: 'GET', path: '/box/b' }))
    assert.equal((await client.answer('GET'))?.status, 200)
    client.close()
  })
}

test('logs that could not be written are written once there is room', async (t) => {
  const small = await startTestServer({ memoryLimitBytes: 300_000 })
  t.after(() => small.close())
  const ask = (method: string, path: string, headers = {}, body?: string | Uint8Array) =>
    rawRequest(small, { method, path, headers, ...(body !== undefined && { body }) })
  const logging =
    '<StorageServiceProperties><Logging><Version>2.0</Version><Delete>true</Delete><Read>true</Read><Write>true</Write>' +
    '<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging></StorageServiceProperties>'
  await ask('PUT', '/?restype=service&comp=properties', {}, logging)
  await ask('PUT', '/box?restype=container')
  const full = await ask('PUT', '/box/full', BLOCK_BLOB, Buffer.alloc(250_000))
  assert.equal(full.status, 201)
  const chatty = { 'user-agent': 'x'.repeat(4_000) }
  for (let i = 0; i < 50; i += 1) await ask('GET', '/box?restype=container', chatty)
  await assert.rejects(small.sweep(), ExtentLimitReached)
  assert.equal((await ask('DELETE', '/box/full')).status, 202)
  // There is no room for the logs at first. The sweep makes room in three passes: it seals, retires and removes extents.
  let isPut = false
  for (let pass = 0; pass < 5 && !isPut; pass += 1) {
    for (let i = 0; i < 50; i += 1) await ask('GET', '/box?restype=container', chatty)
    isPut = await small.sweep().then(
      () => true,
      () => false,
    )
  }
  assert.ok(isPut)
  const { text } = await ask('GET', '/$logs?restype=container&comp=list')
  assert.ok(xmlTexts(text, 'Name').length > 0, text)
})
