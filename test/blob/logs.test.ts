// Storage Analytics logging: requests as lines in blobs of $logs, deleted after the account's retention time.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { ACCOUNT, ACCOUNT_KEY, DAY_MS, rawRequest, startTestServer } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { server, service, send } = await startBlobFixture()

type Logging = NonNullable<
  Parameters<BlobServiceClient['setProperties']>[0]['blobAnalyticsLogging']
>

const set = (logging: Partial<Logging>) =>
  service.setProperties({
    blobAnalyticsLogging: {
      version: '1.0',
      read: false,
      write: false,
      deleteProperty: false,
      retentionPolicy: { enabled: false },
      ...logging,
    },
  })

/** Every line of $logs, split into its fields. */
async function logged(): Promise<string[][]> {
  await server.sweep()
  const logs = service.getContainerClient('$logs')
  if (!(await logs.exists())) return []
  const lines: string[] = []
  for await (const { name } of logs.listBlobsFlat()) {
    const bytes = await logs.getBlobClient(name).downloadToBuffer()
    lines.push(...bytes.toString().trimEnd().split('\n'))
  }
  return lines.map((line) => line.match(/"[^"]*"|[^;]+|(?<=;|^)(?=;|$)/g) ?? [])
}

const operations = async () => (await logged()).map((fields) => fields[2])

describe('the log', () => {
  test('is off by default', async () => {
    await service.getContainerClient('box').getBlockBlobClient('a').upload('x', 1)
    assert.deepEqual(await logged(), [])
  })

  test('contains only the kinds of requests that are enabled', async () => {
    await set({ write: true, deleteProperty: true })
    const blob = service.getContainerClient('box').getBlockBlobClient('b')
    await blob.upload('x', 1)
    await blob.getProperties()
    await blob.delete()
    await set({ deleteProperty: true })
    await blob.upload('x', 1)
    await set({})
    assert.deepEqual(
      (await operations()).filter((name) => name !== 'SetBlobServiceProperties'),
      ['PutBlob', 'DeleteBlob'],
    )
  })

  test('has a line of 30 fields with the client, the request and the outcome', async () => {
    await set({ read: true })
    const path = '/box/none%3B%22x'
    const headers = { 'user-agent': 'a "quoted"; agent', 'x-ms-client-request-id': 'mine' }
    const answer = await send('GET', path, headers)
    await set({})
    const line = (await logged()).find((fields) => fields.includes('"mine"')) ?? []
    assert.equal(line.length, 30)
    assert.equal(line[0], '1.0')
    assert.match(line[1] ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/)
    assert.deepEqual(line.slice(2, 5), ['GetBlob', 'ClientOtherError', '404'])
    assert.deepEqual(line.slice(7, 11), ['authenticated', ACCOUNT, ACCOUNT, 'blob'])
    assert.equal(line[12], `"/${ACCOUNT}/box/none;&quot;x"`)
    assert.equal(line[13], answer.headers['x-ms-request-id'])
    assert.equal(line[27], '"a &quot;quoted&quot;; agent"')
  })

  test('never contains the signature of a SAS', async () => {
    await set({ read: true })
    await send('GET', '/box/x', {}, undefined, 'sv=2022-11-02&sig=c2VjcmV0')
    await set({})
    const text = JSON.stringify(await logged())
    assert.match(text, /sig=XXXXX/)
    assert.doesNotMatch(text, /c2VjcmV0/)
  })

  test('never contains it in another spelling or in the referer', async () => {
    await set({ read: true })
    for (const name of ['SIG', '%73ig', 's%49%47']) {
      const sign = `sv=2022-11-02&${name}=aGlkZGVu&${name}=aGlkZGVu`
      await send('GET', '/box/x', {}, undefined, sign)
    }
    const headers = { referer: 'https://app.example/?sv=1&sig=aGlkZGVu' }
    await send('GET', '/box/x', headers)
    await set({})
    const text = JSON.stringify(await logged())
    assert.match(text, /%73ig=XXXXX/)
    assert.doesNotMatch(text, /aGlkZGVu/)
  })

  test('has a line for every Host header', async (t) => {
    const open = await startTestServer({ host: '0.0.0.0' })
    t.after(() => open.close())
    const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
    const endpoint = open.blobEndpoint.replace('0.0.0.0', '127.0.0.1')
    const client = new BlobServiceClient(endpoint, credential)
    const hosts = ['storage_1:10000', 'storage:99999', '[::1', 'a b', '%zz']
    const blobAnalyticsLogging = {
      version: '1.0',
      read: true,
      write: false,
      deleteProperty: false,
      retentionPolicy: { enabled: false },
    }
    await client.setProperties({ blobAnalyticsLogging })
    for (const host of hosts) {
      await rawRequest(open, { method: 'GET', path: '/box/x', headers: { host } })
    }
    const proxied = `http://proxied.example/${ACCOUNT}/box/x?sig=aGlkZGVu`
    await rawRequest(open, { method: 'GET', path: proxied, wholePath: true, sign: 'none' })
    await open.sweep()
    const logs = client.getContainerClient('$logs')
    let text = ''
    for await (const { name } of logs.listBlobsFlat()) {
      text += String(await logs.getBlobClient(name).downloadToBuffer())
    }
    for (const host of hosts) assert(text.includes(`"http://${host}/${ACCOUNT}/box/x"`), host)
    assert(text.includes(`"http://proxied.example/${ACCOUNT}/box/x?sig=XXXXX"`))
  })

  test('is in blobs per hour, with metadata about their content', async () => {
    await set({ write: true, version: '2.0' })
    await service.getContainerClient('box').getBlockBlobClient('c').upload('x', 1)
    await set({})
    await server.sweep()
    const logs = service.getContainerClient('$logs')
    const items = []
    for await (const item of logs.listBlobsFlat({ includeMetadata: true })) items.push(item)
    const hour = new Date(server.now()).toISOString().slice(0, 13).replaceAll(/[-T]/g, '/')
    assert(items.length > 0)
    for (const [at, item] of items.entries()) {
      assert.equal(item.name, `blob/${hour}00/${String(at).padStart(6, '0')}.log`)
      assert.match(item.metadata?.StartTime ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    }
    assert.equal(items.at(-1)?.metadata?.LogVersion, '2.0')
    assert.equal(items.at(-1)?.metadata?.LogType, 'write')
    const line = (await logged()).find(([version]) => version === '2.0') ?? []
    assert.equal(line.length, 38)
  })

  test('is deleted after the retention time', async () => {
    await set({ write: true, retentionPolicy: { enabled: true, days: 2 } })
    await service.getContainerClient('box').getBlockBlobClient('kept').upload('x', 1)
    await set({})
    const all = (await operations()).length
    server.advance(2 * DAY_MS - 1_000)
    assert.equal((await operations()).length, all)
    server.advance(2_000)
    assert((await operations()).length < all)
  })

  test('is in a container that clients can neither delete nor create', async () => {
    const logs = service.getContainerClient('$logs')
    await assert.rejects(logs.delete(), { statusCode: 403 })
    await assert.rejects(logs.create(), { statusCode: 400 })
  })
})
