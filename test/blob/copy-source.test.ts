// The sources that a copy can read: blobs of this server, by any of its names, with the same permissions as a read;
// other servers only if --allowCopyFrom permits them.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import {
  AnonymousCredential,
  BlobSASPermissions,
  BlobServiceClient,
  ContainerSASPermissions,
  type ContainerClient,
} from '@azure/storage-blob'
import { ACCOUNT, ACCOUNT_KEY, outcome, type Headers } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const OTHER = 'otheraccount'
const OTHER_KEY = Buffer.alloc(64, 3).toString('base64')

const { server, container, send } = await startBlobFixture({
  accounts: { [ACCOUNT]: ACCOUNT_KEY, [OTHER]: OTHER_KEY },
  allowedHosts: ['storage.example.com'],
})
await container.getBlockBlobClient('source').upload('text', 4, { tags: { a: '1' } })
const endpoint = `http://127.0.0.1:${server.blobPort}/${OTHER}`
const other = BlobServiceClient.fromConnectionString(
  `DefaultEndpointsProtocol=http;AccountName=${OTHER};AccountKey=${OTHER_KEY};BlobEndpoint=${endpoint};`,
)
const elsewhere = other.getContainerClient('box')
await elsewhere.create()
await elsewhere.getBlockBlobClient('source').upload('other', 5, { tags: { b: '2' } })

async function outcomeOf(source: string, headers: Headers = {}, sign?: string): Promise<string> {
  const all = { 'x-ms-copy-source': source, ...headers }
  const answer = await send('PUT', '/box/copied', all, undefined, sign)
  if (answer.status !== 202) return outcome(answer)
  const bytes = await container.getBlobClient('copied').downloadToBuffer()
  await container.deleteBlob('copied')
  return `202 ${bytes.toString()}`
}

const expiresOn = () => new Date(server.now() + 3_600_000)

function sasUrl(of: ContainerClient, letters: string): Promise<string> {
  const permissions = BlobSASPermissions.parse(letters)
  return of.getBlobClient('source').generateSasUrl({ permissions, expiresOn: expiresOn() })
}

describe('a blob of this server can be copied', () => {
  test('within the account, with its key', async () =>
    assert.equal(await outcomeOf(container.getBlobClient('source').url), '202 text'))

  const NAMES: Readonly<Record<string, (port: number) => string>> = {
    'another loopback name': (port) => `http://localhost:${port}/${ACCOUNT}/box/source`,
    'the IPv6 loopback': (port) => `http://[::1]:${port}/${ACCOUNT}/box/source`,
    'host style': (port) => `http://${ACCOUNT}.blob.localhost:${port}/box/source`,
    'the secondary': (port) => `http://127.0.0.1:${port}/${ACCOUNT}-secondary/box/source`,
    'another scheme': (port) => `https://127.0.0.1:${port}/${ACCOUNT}/box/source`,
    'an encoded name': (port) => `http://127.0.0.1:${port}/${ACCOUNT}/box/s%6Furce`,
  }
  for (const [what, url] of Object.entries(NAMES)) {
    test(`by ${what}`, async () => assert.equal(await outcomeOf(url(server.blobPort)), '202 text'))
  }

  test('by the host name of the request, behind a proxy', async () => {
    const source = `https://storage.example.com/${ACCOUNT}/box/source`
    assert.equal(await outcomeOf(source, { host: 'storage.example.com' }), '202 text')
    const styled = `https://${ACCOUNT}.storage.example.com/box/source`
    assert.equal(await outcomeOf(styled, { host: 'storage.example.com' }), '202 text')
    assert.equal(await outcomeOf(source), '403 CannotVerifyCopySource')
  })

  test('from another account with a SAS that permits reading', async () => {
    assert.equal(await outcomeOf(await sasUrl(elsewhere, 'r')), '202 other')
    assert.equal(await outcomeOf(await sasUrl(elsewhere, 'w')), '403 CannotVerifyCopySource')
    assert.equal(
      await outcomeOf(elsewhere.getBlobClient('source').url),
      '401 CannotVerifyCopySource',
    )
    const old = { 'x-ms-version': '2019-02-02' }
    const answer = await outcomeOf(elsewhere.getBlobClient('source').url, old)
    assert.equal(answer, '404 CannotVerifyCopySource')
  })

  test('without its SAS signature in the properties of the copy', async () => {
    const url = await sasUrl(elsewhere, 'r')
    const headers = { 'x-ms-copy-source': url.replace('sig=', 'Si%67=') }
    await send('PUT', '/box/shown', headers)
    const { copySource = '' } = await container.getBlobClient('shown').getProperties()
    assert.match(copySource, /[?&]sp=/)
    assert.doesNotMatch(copySource, /si%67|sig/i)
  })

  test('but not with a changed or expired SAS', async () => {
    const url = await sasUrl(elsewhere, 'r')
    assert.equal(await outcomeOf(url.replace(/sig=./, 'sig=x')), '403 CannotVerifyCopySource')
    server.advance(2 * 3_600_000)
    assert.equal(await outcomeOf(url), '403 CannotVerifyCopySource')
  })

  test('from another account if it is public', async () => {
    await elsewhere.setAccessPolicy('blob')
    assert.equal(await outcomeOf(elsewhere.getBlobClient('source').url), '202 other')
    await elsewhere.setAccessPolicy()
  })

  test('but not with a SAS for the destination only', async () => {
    const permissions = ContainerSASPermissions.parse('rcw')
    const url = await container.generateSasUrl({ permissions, expiresOn: expiresOn() })
    const sas = url.split('?')[1] ?? ''
    const source = container.getBlobClient('source').url
    assert.equal(await outcomeOf(source, {}, sas), '401 CannotVerifyCopySource')
    assert.equal(await outcomeOf(`${source}?${sas}`, {}, sas), '202 text')
  })

  test('with its tags only with the permission to read them', async () => {
    const option = { 'x-ms-copy-source-tag-option': 'COPY' }
    assert.equal(
      await outcomeOf(await sasUrl(elsewhere, 'r'), option),
      '403 CannotVerifyCopySource',
    )
    assert.equal(await outcomeOf(await sasUrl(elsewhere, 'rt'), option), '202 other')
  })

  test('with a token in a header, but no other authorization', async () => {
    const headers = { 'x-ms-copy-source-authorization': 'SharedKey a:b' }
    const source = elsewhere.getBlobClient('source').url
    assert.equal(await outcomeOf(source, headers), '400 InvalidHeaderValue')
    const token = { 'x-ms-copy-source-authorization': 'Bearer a.b.c' }
    assert.match(await outcomeOf(source, token), /^40[13] CannotVerifyCopySource$/)
  })

  test('but not by an anonymous client', async () => {
    const client = new BlobServiceClient(server.blobEndpoint, new AnonymousCredential())
    const blob = client.getContainerClient('box').getBlobClient('x')
    await assert.rejects(blob.syncCopyFromURL(container.getBlobClient('source').url), {
      statusCode: 401,
    })
  })
})

describe('other servers', () => {
  let web: Server
  let port: number
  let requests = 0

  before(async () => {
    web = createServer((_req, res) => {
      requests += 1
      res.end('elsewhere')
    })
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
    port = (web.address() as AddressInfo).port
  })
  after(() => web.close())

  test('get no request unless --allowCopyFrom permits them', async () => {
    for (const headers of [
      {},
      { 'x-ms-requires-sync': 'true' },
      { 'x-ms-blob-type': 'BlockBlob' },
    ]) {
      for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
        const source = `http://${host}:${port}/file`
        assert.equal(await outcomeOf(source, headers), '403 CannotVerifyCopySource')
      }
    }
    assert.equal(requests, 0)
  })

  test('are refused with a hint how to permit them and without the SAS', async () => {
    const source = `http://127.0.0.1:${port}/file?sig=secret`
    const headers = { 'x-ms-copy-source': source }
    const { text } = await send('PUT', '/box/x', headers)
    assert.ok(text.includes(`--allowCopyFrom http://127.0.0.1:${port}`))
    assert.ok(!text.includes('secret'))
  })

  test('with private addresses are not permitted by a wildcard', async () => {
    const open = await startBlobFixture({ allowCopyFrom: [`http://*:${port}`] })
    const headers = { 'x-ms-copy-source': `http://127.0.0.1:${port}/file` }
    const { status, text } = await open.send('PUT', '/box/x', headers)
    assert.equal(status, 403)
    assert.match(text, /its address is not public/)
    assert.equal(requests, 0)
  })
})
