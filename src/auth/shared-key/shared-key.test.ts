import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import { AzureNamedKeyCredential, TableClient } from '@azure/data-tables'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import * as shares from '@azure/storage-file-share'
import * as queues from '@azure/storage-queue'
import { authenticate } from '../authenticate.ts'
import {
  ACCOUNT,
  KEYS,
  AUTH_NOW_MS,
  outcome,
  authRequest,
  AUTH_WORLD,
  type Sent,
} from '../example.ts'
import type { AuthRequest, ServiceName } from '../request.ts'
import { stringToSign } from './shared-key.ts'

const HOST = 'https://devstoreaccount1.blob.core.windows.net'
const DATE = new Date(AUTH_NOW_MS).toUTCString()

// The SDKs send to a server that only records requests.
const received: Sent[] = []
const server = createServer((request, response) => {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
  const { method = '', url = '' } = request
  received.push({ url: origin() + url, method, headers: Object.fromEntries(headers) })
  request.resume()
  response.writeHead(400).end()
})
before(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)))
after(() => server.close())

function origin(): string {
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  return `http://127.0.0.1:${address.port}`
}

async function capture(call: (url: string) => Promise<unknown>): Promise<Sent> {
  await assert.rejects(call(`${origin()}/${ACCOUNT}`), { statusCode: 400 })
  const sent = received.pop()
  assert.ok(sent)
  return sent
}

function blobs(url: string, key = KEYS[0] ?? '') {
  return new BlobServiceClient(url, new StorageSharedKeyCredential(ACCOUNT, key))
}

/** The SDKs sign with the machine's time. */
const sdkWorld = () => ({ ...AUTH_WORLD, wallNowMs: Date.now() })

async function checkAccepted(service: ServiceName, sent: Sent) {
  const identity = await authenticate(authRequest(service, sent), sdkWorld())
  assert.equal(identity.kind, 'sharedKey')
}

const metadata = { a: '1', a_b: '2', a1: '3', ab: 'two  spaces', _: 'x', A2b: 'y' }

test('requests of the blob SDK are accepted', async () => {
  const container = (url: string) => blobs(url).getContainerClient('c')
  const blob = (url: string) => container(url).getBlockBlobClient('a b/ü+&?#')
  const calls: ((url: string) => Promise<unknown>)[] = [
    (url) => blobs(url).getProperties(),
    (url) => container(url).create({ metadata }),
    (url) => blob(url).upload('hello', 5, { metadata }),
    (url) => blob(url).upload('', 0, { blobHTTPHeaders: { blobContentEncoding: 'gzip' } }),
    (url) => blob(url).download(3, 4),
    (url) => blob(url).delete({ conditions: { ifMatch: '*', ifModifiedSince: new Date(0) } }),
    (url) => container(url).listBlobsFlat({ prefix: 'a/ü&', includeTags: true }).next(),
    (url) => blob(url).withSnapshot('2026-01-01T00:00:00.0Z').getProperties(),
    (url) => blobs(`${url}-secondary`).getStatistics(),
  ]
  for (const call of calls) await checkAccepted('blob', await capture(call))
})

test('either key of the account is accepted', async () => {
  for (const key of KEYS) {
    await checkAccepted('blob', await capture((url) => blobs(url, key).getProperties()))
  }
})

test('requests of the queue and file SDKs are accepted', async () => {
  const queue = await capture((url) => {
    const credential = new queues.StorageSharedKeyCredential(ACCOUNT, KEYS[0] ?? '')
    const client = new queues.QueueServiceClient(url, credential).getQueueClient('q')
    return client.sendMessage('hello', { messageTimeToLive: 60 })
  })
  await checkAccepted('queue', queue)
  const file = await capture((url) => {
    const credential = new shares.StorageSharedKeyCredential(ACCOUNT, KEYS[0] ?? '')
    const client = new shares.ShareServiceClient(url, credential).getShareClient('s')
    return client.getDirectoryClient('d').createFile('f', 10, { metadata })
  })
  await checkAccepted('file', file)
})

test('requests of the table SDK are accepted', async () => {
  const credential = new AzureNamedKeyCredential(ACCOUNT, KEYS[0] ?? '')
  const table = (url: string) =>
    new TableClient(url, 'People', credential, { allowInsecureConnection: true })
  const calls: ((url: string) => Promise<unknown>)[] = [
    (url) => table(url).createEntity({ partitionKey: 'p', rowKey: 'r' }),
    (url) => table(url).getEntity("p'", 'ü'),
    (url) => table(url).getAccessPolicy(),
  ]
  for (const call of calls) await checkAccepted('table', await capture(call))
})

test('the string to sign depends on service, scheme and version', () => {
  const headers = { 'content-length': '0', 'content-type': 'text/plain', 'content-md5': 'M' }
  const withDate = { ...headers, date: DATE }
  const withMsDate = { ...withDate, 'x-ms-date': DATE }
  const sent = (headers: Record<string, string>): Sent => {
    return { url: `${HOST}/c?comp=acl&restype=container`, method: 'PUT', headers }
  }
  // prettier-ignore
  const rows: [ServiceName, 'SharedKey' | 'SharedKeyLite', Record<string, string>, Partial<AuthRequest>, string][] = [
    ['blob', 'SharedKey', withDate, {}, `PUT\n\n\n\nM\ntext/plain\n${DATE}\n\n\n\n\n\n/${ACCOUNT}/c\ncomp:acl\nrestype:container`],
    ['blob', 'SharedKey', withMsDate, {}, `PUT\n\n\n\nM\ntext/plain\n\n\n\n\n\n\nx-ms-date:${DATE}\n/${ACCOUNT}/c\ncomp:acl\nrestype:container`],
    ['blob', 'SharedKey', { ...withDate, 'x-ms-date': '' }, {}, `PUT\n\n\n\nM\ntext/plain\n${DATE}\n\n\n\n\n\nx-ms-date:\n/${ACCOUNT}/c\ncomp:acl\nrestype:container`],
    ['queue', 'SharedKeyLite', { ...withDate, 'x-ms-date': '' }, {}, `PUT\nM\ntext/plain\n${DATE}\nx-ms-date:\n/${ACCOUNT}/c?comp=acl`],
    ['blob', 'SharedKey', withDate, { version: '2014-02-14' }, `PUT\n\n\n0\nM\ntext/plain\n${DATE}\n\n\n\n\n\n/${ACCOUNT}/c\ncomp:acl\nrestype:container`],
    ['queue', 'SharedKeyLite', withDate, {}, `PUT\nM\ntext/plain\n${DATE}\n/${ACCOUNT}/c?comp=acl`],
    ['file', 'SharedKeyLite', withMsDate, {}, `PUT\nM\ntext/plain\n\nx-ms-date:${DATE}\n/${ACCOUNT}/c?comp=acl`],
    ['table', 'SharedKey', withMsDate, {}, `PUT\nM\ntext/plain\n${DATE}\n/${ACCOUNT}/c?comp=acl`],
    ['table', 'SharedKeyLite', withDate, {}, `${DATE}\n/${ACCOUNT}/c?comp=acl`],
  ]
  for (const [service, scheme, sentHeaders, more, expected] of rows) {
    const request = authRequest(service, sent(sentHeaders), more)
    assert.equal(stringToSign(request, scheme, request.rawPath), expected)
  }
})

function signedRequest(text: string, scheme: string, sent: Sent): AuthRequest {
  const key = Buffer.from(KEYS[0] ?? '', 'base64')
  const signature = createHmac('sha256', key).update(text).digest('base64')
  const authorization = `${scheme} ${ACCOUNT}:${signature}`
  return authRequest('blob', { ...sent, headers: { ...sent.headers, authorization } })
}

test('a request signed in another canonical form is accepted', async () => {
  const lines = 'GET\n\n\n\n\n\n\n\n\n\n\n\n'
  const url = 'http://127.0.0.1:10000/devstoreaccount1-secondary/c'
  const rows: [name: string, text: string, headers: Record<string, string>, url: string][] = [
    ['folded', `${lines}x-ms-date:${DATE}\nx-ms-meta-a:a b\n`, { 'x-ms-meta-a': 'a  b' }, url],
    ['not folded', `${lines}x-ms-date:${DATE}\nx-ms-meta-a:a  b\n`, { 'x-ms-meta-a': 'a  b' }, url],
    ['UTF-8', `${lines}x-ms-date:${DATE}\nx-ms-meta-a:ü\n`, { 'x-ms-meta-a': 'Ã¼' }, url],
  ]
  for (const [name, text, more, address] of rows) {
    for (const path of ['/devstoreaccount1-secondary/c', '/devstoreaccount1/c']) {
      const sent = { url: address, headers: { 'x-ms-date': DATE, ...more } }
      const request = signedRequest(`${text}/${ACCOUNT}${path}`, 'SharedKey', sent)
      assert.equal(await outcome(() => authenticate(request, AUTH_WORLD)), 'ok', `${name} ${path}`)
    }
  }
})

test('a wrong signature, date, account or scheme is refused', async () => {
  const at = (ms: number) => ({ 'x-ms-date': new Date(AUTH_NOW_MS + ms).toUTCString() })
  const minutes = (count: number) => count * 60_000
  const signed = (authorization: string, headers: Record<string, string>) =>
    authRequest('blob', { url: `${HOST}/c`, headers: { ...headers, authorization } })
  const good = `SharedKey ${ACCOUNT}:c2ln`
  const failed = '403 AuthenticationFailed'
  // prettier-ignore
  const rows: [authorization: string, headers: Record<string, string>, expected: string][] = [
    [good, at(0), `${failed} The MAC signature found in the HTTP request 'c2ln' is not the same as any computed signature. Server used following string to sign: 'GET`],
    [good, at(-minutes(16)), `${failed} Request date header too old: '${at(-minutes(16))['x-ms-date']}'`],
    [good, at(minutes(16)), `${failed} Request date header too far in the future: '${at(minutes(16))['x-ms-date']}'`],
    [good, {}, `${failed} Neither x-ms-date nor Date is given`],
    [good, { date: '2026-01-15' }, `${failed} The Date header in the request is incorrect.`],
    [good, { date: 'Thu, 5 Jan 2026 12:00:00 GMT' }, `${failed} The Date header in the request is incorrect.`],
    [good, { date: 'Thu, 45 Jan 2026 12:00:00 GMT' }, `${failed} The Date header in the request is incorrect.`],
    ['SharedKey other:c2ln', at(0), failed],
    ['SharedKey devstoreaccount1', at(0), '400 InvalidAuthenticationInfo'],
    ['SharedKey devstoreaccount1:', at(0), '400 InvalidAuthenticationInfo'],
    ['SharedKey :c2ln', at(0), '400 InvalidAuthenticationInfo'],
    ['SharedKey', at(0), '400 InvalidAuthenticationInfo'],
    ['', at(0), '400 InvalidAuthenticationInfo'],
    ['token abc', at(0), '400 InvalidAuthenticationInfo'],
  ]
  for (const [authorization, headers, expected] of rows) {
    const request = signed(authorization, headers)
    assert.equal(await outcome(() => authenticate(request, AUTH_WORLD)), expected, authorization)
  }
})
