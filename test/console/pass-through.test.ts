// Data by the admin port: the services' own rules and answers, and nothing that a browser would run.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request, type IncomingMessage, type RequestOptions } from 'node:http'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { ContainerClient } from '@azure/storage-blob'
import { startServer, type LazuliServer } from '../../src/server.ts'
import { ACCOUNT, exchange, type RawResponse } from '../harness.ts'

let server: LazuliServer
let aheadMs = 0

before(async () => {
  server = await startServer({ adminPort: 0, clock: () => Date.now() + aheadMs })
})
after(() => server.close())

type Sent = { readonly headers?: Record<string, string>; readonly body?: string | Uint8Array }

/** `node:http`, because `fetch` says things of its own. */
function send(line: string, { headers = {}, body }: Sent = {}): Promise<RawResponse> {
  const [method, path] = line.split(' ')
  const url = new URL(`${server.adminUrl}/api/${path}`)
  const length = method === 'GET' ? {} : { 'Content-Length': String(Buffer.byteLength(body ?? '')) }
  const options: RequestOptions = { method, agent: false, headers: { ...length, ...headers } }
  return exchange(request(url, options), body)
}

const BLOCK_BLOB = { 'x-ms-blob-type': 'BlockBlob' }

test('a blob is put, read and deleted by the rules of the service', async () => {
  const blob = `storage/blob/${ACCOUNT}/pass/folder/na%20me%3F.html`
  assert.equal((await send(`PUT storage/blob/${ACCOUNT}/pass?restype=container`)).status, 201)
  const headers = { ...BLOCK_BLOB, 'x-ms-blob-content-type': 'text/html', 'x-ms-meta-a': 'b' }
  const put = await send(`PUT ${blob}`, { headers, body: '<script>alert(1)</script>' })
  assert.equal(put.status, 201)
  const got = await send(`GET ${blob}`)
  assert.equal(got.text, '<script>alert(1)</script>')
  assert.equal(got.headers.etag, put.headers.etag)
  assert.equal(got.headers['x-ms-meta-a'], 'b')
  const part = await send(`GET ${blob}`, { headers: { Range: 'bytes=1-6' } })
  assert.deepEqual([part.status, part.text], [206, 'script'])
  const head = await send(`HEAD ${blob}`)
  assert.deepEqual([head.status, head.headers['content-length'], head.text], [200, '25', ''])
  const lost = await send(`DELETE ${blob}`, { headers: { 'If-Match': '"0x1"' } })
  assert.deepEqual([lost.status, lost.headers['x-ms-error-code']], [412, 'ConditionNotMet'])
  assert.match(lost.text, /<Code>ConditionNotMet<\/Code>/)
  assert.equal((await send(`DELETE ${blob}`)).status, 202)
  assert.equal((await send(`GET ${blob}`)).headers['x-ms-error-code'], 'BlobNotFound')
})

test('queues, tables and files answer, too', async () => {
  assert.equal((await send(`PUT storage/queue/${ACCOUNT}/pass`)).status, 201)
  const message = '<QueueMessage><MessageText>one</MessageText></QueueMessage>'
  const added = await send(`POST storage/queue/${ACCOUNT}/pass/messages`, { body: message })
  assert.equal(added.status, 201)
  const json = { 'Content-Type': 'application/json', Accept: 'application/json' }
  const create = { headers: json, body: '{"TableName":"pass"}' }
  assert.equal((await send(`POST storage/table/${ACCOUNT}/Tables`, create)).status, 201)
  const entity = { headers: json, body: '{"PartitionKey":"p","RowKey":"r","n":1}' }
  assert.equal((await send(`POST storage/table/${ACCOUNT}/pass`, entity)).status, 201)
  const key = `storage/table/${ACCOUNT}/pass(PartitionKey='p',RowKey='r')`
  const merge = { headers: { ...json, 'If-Match': '*' }, body: '{"m":2}' }
  assert.equal((await send(`PATCH ${key}`, merge)).status, 204)
  const merged = JSON.parse((await send(`GET ${key}`, { headers: json })).text)
  assert.deepEqual([merged.n, merged.m], [1, 2])
  assert.equal((await send(`PUT storage/file/${ACCOUNT}/pass?restype=share`)).status, 201)
  const listed = await send(`GET storage/file/${ACCOUNT}?comp=list`)
  assert.match(listed.text, /<Name>pass<\/Name>/)
})

const SAFE = {
  'content-type': 'application/octet-stream',
  'content-disposition': 'attachment',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

test('no answer can run in the origin of the admin port', async () => {
  const blob = `storage/blob/${ACCOUNT}/safe/page`
  await send(`PUT storage/blob/${ACCOUNT}/safe?restype=container`)
  const headers = {
    ...BLOCK_BLOB,
    'x-ms-blob-content-type': 'text/html; charset=utf-8',
    'x-ms-blob-content-disposition': 'inline',
    'x-ms-blob-content-encoding': 'gzip',
    'x-ms-blob-content-language': 'en',
    'x-ms-blob-cache-control': 'max-age=999',
  }
  await send(`PUT ${blob}`, { headers, body: '<script>alert(1)</script>' })
  const lines = [
    `GET ${blob}`,
    `HEAD ${blob}`,
    `GET ${blob}-missing`,
    `GET storage/blob/${ACCOUNT}?comp=list`,
    `GET storage/table/${ACCOUNT}/Tables`,
    `PUT storage/queue/${ACCOUNT}/Not-A-Name`,
  ]
  for (const line of lines) assert.partialDeepStrictEqual((await send(line)).headers, SAFE, line)
  const { headers: got } = await send(`GET ${blob}`)
  assert.partialDeepStrictEqual(got, {
    'x-lazuli-content-type': 'text/html; charset=utf-8',
    'x-lazuli-content-disposition': 'inline',
    'x-lazuli-content-encoding': 'gzip',
    'x-lazuli-content-language': 'en',
    'x-lazuli-cache-control': 'max-age=999',
  })
  assert.deepEqual([got['content-encoding'], got['content-language']], [undefined, undefined])
})

test('the rules for CORS of a service open nothing here', async () => {
  const rule =
    '<Cors><CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods>' +
    '<MaxAgeInSeconds>9</MaxAgeInSeconds><ExposedHeaders>*</ExposedHeaders><AllowedHeaders>*</AllowedHeaders></CorsRule></Cors>'
  const body = `<StorageServiceProperties>${rule}</StorageServiceProperties>`
  const properties = `storage/blob/${ACCOUNT}/?restype=service&comp=properties`
  assert.equal((await send(`PUT ${properties}`, { body })).status, 202)
  const line = `storage/blob/${ACCOUNT}?comp=list`
  for (const method of ['GET', 'PUT', 'OPTIONS']) {
    const headers = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'PUT' }
    const answer = await send(`${method} ${line}`, { headers })
    assert.equal(answer.status, 403, method)
    assert.equal(answer.headers['access-control-allow-origin'], undefined)
  }
  const own = await send(`GET ${line}`, { headers: { Origin: server.adminUrl ?? '' } })
  assert.equal(own.status, 200)
  assert.equal(own.headers['access-control-allow-origin'], undefined)
  const empty = '<StorageServiceProperties><Cors/></StorageServiceProperties>'
  assert.equal((await send(`PUT ${properties}`, { body: empty })).status, 202)
})

test('what a page of another site embeds or links is refused', async () => {
  const line = `GET storage/blob/${ACCOUNT}?comp=list`
  for (const [site, status] of [
    ['cross-site', 403],
    ['same-site', 403],
    ['same-origin', 200],
    ['none', 200],
  ] as const)
    assert.equal((await send(line, { headers: { 'Sec-Fetch-Site': site } })).status, status, site)
  assert.equal((await send(line, { headers: { Host: 'evil.example' } })).status, 400)
})

const UNKNOWN: readonly [string, string][] = [
  ['storage/disk/devstoreaccount1', 'the services are blob, queue, table, file, not disk'],
  ['storage/blob/nobody/c', 'there is no account nobody'],
  ['storage/blob', 'there is no /api/storage/blob; see /api/openapi.json'],
]

for (const [path, message] of UNKNOWN) {
  test(`GET ${path}: ${message}`, async () => {
    const { status, text } = await send(`GET ${path}`)
    assert.deepEqual([status, JSON.parse(text)], [404, { error: { message } }])
  })
}

test('the journal names the console, and the address of the person', async () => {
  await send(`PUT storage/blob/${ACCOUNT}/named?restype=container`)
  const [entry] = server.journal.list({ resource: `/${ACCOUNT}/named` })
  assert.partialDeepStrictEqual(entry, {
    operation: 'Create Container',
    status: 201,
    client: { name: 'console', identity: 'console', address: '127.0.0.1' },
  })
  const headers = { 'x-lazuli-client': 'script' }
  await send(`DELETE storage/blob/${ACCOUNT}/named?restype=container`, { headers })
  const [, second] = server.journal.list({ resource: `/${ACCOUNT}/named` })
  assert.equal(second?.client.name, 'script')
})

test('a token is asked for, control has to be on, and getting messages needs it', async () => {
  const token = 'secret-of-this-test'
  const locked = await startServer({ adminPort: 0, controlToken: token })
  try {
    const url = `${locked.adminUrl}/api/storage/queue/${ACCOUNT}/locked`
    const bearer = { Authorization: `Bearer ${token}` }
    assert.equal((await fetch(url, { method: 'PUT' })).status, 401)
    assert.equal((await fetch(`${url}/messages`)).status, 401)
    // The token of the admin port is not shown to the service, which would refuse it.
    assert.equal((await fetch(url, { method: 'PUT', headers: bearer })).status, 201)
    assert.equal((await fetch(`${url}/messages`, { headers: bearer })).status, 200)
  } finally {
    await locked.close()
  }
})

test('a SAS opens what it names, for as long as it says', async () => {
  await send(`PUT storage/blob/${ACCOUNT}/shared?restype=container`)
  await send(`PUT storage/blob/${ACCOUNT}/shared/a%20b`, { headers: BLOCK_BLOB, body: 'hello' })
  const json = { 'Content-Type': 'application/json' }
  const ask = async (body: object) => {
    const answer = await send('POST sas', { headers: json, body: JSON.stringify(body) })
    return { status: answer.status, value: JSON.parse(answer.text) }
  }
  const terms = { service: 'blob', account: ACCOUNT, path: 'shared/a b', expiresInSeconds: 60 }
  const { value: blob } = await ask({ ...terms, permissions: 'r' })
  assert.equal(await (await fetch(blob.url)).text(), 'hello')
  assert.equal((await fetch(blob.url, { method: 'DELETE' })).status, 403)
  const { value: all } = await ask({ ...terms, path: 'shared', permissions: 'wlr' })
  assert.match(all.sas, /sp=rwl/)
  const names: string[] = []
  for await (const { name } of new ContainerClient(all.url).listBlobsFlat()) names.push(name)
  assert.deepEqual(names, ['a b'])
  aheadMs += 61_000
  assert.equal((await fetch(blob.url)).status, 403)
  const wrong = await ask({ ...terms, permissions: 'rZ' })
  assert.deepEqual(
    [wrong.status, wrong.value.error.field, wrong.value.error.message],
    [400, 'permissions', 'must be letters of racwdxyltmeopi, not Z'],
  )
  assert.equal((await ask({ ...terms, account: 'nobody', permissions: 'r' })).status, 404)
})

for (const [service, create, path, permissions, read] of [
  ['queue', '', 'sasq', 'r', '/messages?peekonly=true'],
  ['file', '?restype=share', 'sass', 'rl', '?restype=directory&comp=list'],
] as const) {
  test(`a SAS for a ${service}`, async () => {
    assert.equal((await send(`PUT storage/${service}/${ACCOUNT}/${path}${create}`)).status, 201)
    const terms = { service, account: ACCOUNT, path, permissions, expiresInSeconds: 60 }
    const headers = { 'Content-Type': 'application/json' }
    const { text } = await send('POST sas', { headers, body: JSON.stringify(terms) })
    const [url = '', sas = ''] = JSON.parse(text).url.split('?')
    const joined = read.includes('?') ? `${url}${read}&${sas}` : `${url}${read}?${sas}`
    assert.equal((await fetch(joined)).status, 200)
  })
}

test('a SAS for a table', async () => {
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json' }
  await send(`POST storage/table/${ACCOUNT}/Tables`, { headers, body: '{"TableName":"Sast"}' })
  const terms = {
    service: 'table',
    account: ACCOUNT,
    path: 'Sast',
    permissions: 'r',
    expiresInSeconds: 9,
  }
  const { text } = await send('POST sas', { headers, body: JSON.stringify(terms) })
  const { url } = JSON.parse(text)
  assert.equal(
    (await fetch(url.replace('?', '()?'), { headers: { Accept: 'application/json' } })).status,
    200,
  )
})

const CHUNK = Buffer.alloc(1024 * 1024, 'lazuli')
const CHUNK_COUNT = 40

test('a long body passes in both directions, unchanged', async () => {
  await send(`PUT storage/blob/${ACCOUNT}/long?restype=container`)
  const url = new URL(`${server.adminUrl}/api/storage/blob/${ACCOUNT}/long/blob`)
  const headers = { ...BLOCK_BLOB, 'Content-Length': CHUNK.length * CHUNK_COUNT }
  const sent = request(url, { method: 'PUT', agent: false, headers })
  const answered = once(sent, 'response')
  for (let at = 0; at < CHUNK_COUNT; at += 1) if (!sent.write(CHUNK)) await once(sent, 'drain')
  sent.end()
  const [put] = (await answered) as [IncomingMessage]
  put.resume()
  assert.equal(put.statusCode, 201)
  const [got] = (await once(request(url, { agent: false }).end(), 'response')) as [IncomingMessage]
  const hash = createHash('md5')
  let lengthBytes = 0
  for await (const chunk of got as AsyncIterable<Buffer>) {
    hash.update(chunk)
    lengthBytes += chunk.length
  }
  assert.equal(lengthBytes, CHUNK.length * CHUNK_COUNT)
  const expected = createHash('md5')
  for (let at = 0; at < CHUNK_COUNT; at += 1) expected.update(CHUNK)
  assert.equal(hash.digest('hex'), expected.digest('hex'))
})

test('an upload whose client disconnects stores nothing', async () => {
  await send(`PUT storage/blob/${ACCOUNT}/cut?restype=container`)
  const ended = new Promise<unknown>((resolve) => {
    const stop = server.journal.listen((entry) => {
      if (entry.resource !== `/${ACCOUNT}/cut/blob`) return
      stop()
      resolve(entry.errorCode)
    })
  })
  const socket = connect(Number(new URL(server.adminUrl ?? '').port), '127.0.0.1')
  const head = `PUT /api/storage/blob/${ACCOUNT}/cut/blob HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ms-blob-type: BlockBlob\r\nContent-Length: 9000000\r\n\r\n`
  socket.write(head + 'half')
  await once(socket, 'connect')
  socket.resetAndDestroy()
  assert.equal(await ended, 'ClientGone')
  assert.equal((await send(`HEAD storage/blob/${ACCOUNT}/cut/blob`)).status, 404)
})
