// Everything that the time brings about has happened when `advance` resolves: each row a moment before its time, and at it.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startServer } from '../../src/server.ts'
import { DIALECT } from '../../src/smb/session/dialect.ts'
import { COMMAND } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY, outcome, sendTo, xmlText } from '../harness.ts'
import { LAKE, sendAs } from '../datalake/fixture.ts'
import { durableRequest, reconnectRequest } from '../smb/durable-request.ts'
import { RawClient } from '../smb/raw-client.ts'

const server = await startServer({ clock: 'held', nameReuseSeconds: 30 })
after(() => server.close())
// Headers have whole seconds.
await server.clock.set('2030-01-01T00:00:00Z')
const blob = sendTo(server.blobPort)
const queue = sendTo(server.queuePort)
const file = sendTo(server.filePort)
const lake = sendAs(server.blobPort, LAKE)

const HOUR = 60 * 60 * 1_000
const DAY = 24 * HOUR
const BLOCK = { 'x-ms-blob-type': 'BlockBlob' }
const put = (name: string, headers = {}) =>
  blob('PUT', `/box/${name}`, { ...BLOCK, ...headers }, 'text')
const later = (ms: number) => new Date(Date.parse(server.clock.state().now) + ms).toUTCString()
const retention = (days: number) =>
  `<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>${days}</Days></DeleteRetentionPolicy></StorageServiceProperties>`
const acquire = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '60' }
const message = (text: string) => `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`
const peek = async (name: string) =>
  xmlText((await queue('GET', `/${name}/messages?peekonly=true`)).text, 'MessageText') ?? 'nothing'

assert.equal(outcome(await blob('PUT', '/box?restype=container')), '201')
assert.equal(outcome(await lake('PUT', '/lake?resource=filesystem')), '201')

type Row = readonly [
  what: string,
  prepare: () => Promise<unknown>,
  afterMs: number,
  look: () => Promise<unknown>,
  before: unknown,
  then: unknown,
]

const ROWS: readonly Row[] = [
  ['a lease of a container ends', async () => {
    await blob('PUT', '/leased?restype=container')
    await blob('PUT', '/leased?restype=container&comp=lease', acquire)
  }, 60_000, async () => (await blob('HEAD', '/leased?restype=container')).headers['x-ms-lease-state'], 'leased', 'expired'],
  ['a lease that is broken ends after the break period', async () => {
    await put('broken')
    await blob('PUT', '/box/broken?comp=lease', { ...acquire, 'x-ms-lease-duration': '-1' })
    await blob('PUT', '/box/broken?comp=lease', { 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '30' })
  }, 30_000, async () => (await blob('HEAD', '/box/broken')).headers['x-ms-lease-state'], 'breaking', 'broken'],
  ['a lease is no longer in the list of what is held', async () => {
    await put('listed')
    await blob('PUT', '/box/listed?comp=lease', acquire)
  }, 60_000, async () => (await server.held.leases()).some(({ resource }) => resource.endsWith('/box/listed')), true, false],
  ['a message that was put with a delay becomes visible', async () => {
    await queue('PUT', '/late')
    await queue('POST', '/late/messages?visibilitytimeout=3600', {}, message('job'))
  }, HOUR, () => peek('late'), 'nothing', 'job'],
  ['a message expires', async () => {
    await queue('PUT', '/short')
    await queue('POST', '/short/messages?messagettl=90', {}, message('job'))
  }, 90_000, () => peek('short'), 'job', 'nothing'],
  ['a soft-deleted container can no longer be restored', async () => {
    await blob('PUT', '/?restype=service&comp=properties', {}, '<StorageServiceProperties><ContainerDeleteRetentionPolicy><Enabled>true</Enabled><Days>3</Days></ContainerDeleteRetentionPolicy></StorageServiceProperties>')
    await blob('PUT', '/soft?restype=container')
    await blob('DELETE', '/soft?restype=container')
  }, 3 * DAY, async () => (await blob('GET', '/?comp=list&include=deleted&prefix=soft')).text.includes('<Name>soft</Name>'), true, false],
  ['a soft-deleted share can no longer be restored', async () => {
    await file('PUT', '/?restype=service&comp=properties', {}, '<StorageServiceProperties><ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>2</Days></ShareDeleteRetentionPolicy></StorageServiceProperties>')
    await file('PUT', '/share?restype=share')
    await file('DELETE', '/share?restype=share')
  }, 2 * DAY, async () => (await file('GET', '/?comp=list&include=deleted')).text.includes('<Name>share</Name>'), true, false],
  ['a soft-deleted path of Data Lake Storage is gone', async () => {
    await lake('PUT', '/?restype=service&comp=properties', {}, retention(5))
    await lake('PUT', '/lake/soft?resource=file')
    await lake('DELETE', '/lake/soft')
  }, 5 * DAY, async () => (await lake('GET', '/lake?restype=container&comp=list&showonly=deleted')).text.includes('<Name>soft</Name>'), true, false],
  ['an archived blob is rehydrated', async () => {
    await put('cold', { 'x-ms-access-tier': 'Archive' })
    await blob('PUT', '/box/cold?comp=tier', { 'x-ms-access-tier': 'Hot' })
  }, 15 * HOUR, async () => outcome(await blob('GET', '/box/cold')), '409 BlobBeingRehydrated', '200'],
  ['an immutability policy ends', async () => {
    await put('immutable')
    await blob('PUT', '/box/immutable?comp=immutabilityPolicies', { 'x-ms-immutability-policy-until-date': later(10 * DAY) })
  }, 10 * DAY, async () => outcome(await put('immutable')), '409 BlobImmutableDueToPolicy', '201'],
  ['a path of Data Lake Storage expires', async () => {
    await lake('PUT', '/lake/mayfly?resource=file')
    await lake('PUT', '/lake/mayfly?comp=expiry', { 'x-ms-expiry-option': 'RelativeToNow', 'x-ms-expiry-time': String(2 * HOUR) })
  }, 2 * HOUR, async () => [
    outcome(await lake('HEAD', '/lake/mayfly')),
    (await lake('GET', '/lake?resource=filesystem&recursive=true')).text.includes('mayfly'),
  ], ['200', true], ['404 BlobNotFound', false]],
  ['uncommitted blocks are discarded', async () => {
    await blob('PUT', '/box/staged?comp=block&blockid=AAAA', {}, 'text')
  }, 7 * DAY, async () => [
    outcome(await blob('GET', '/box/staged?comp=blocklist&blocklisttype=uncommitted')),
    (await server.held.uncommitted()).length,
  ], ['200', 1], ['404 BlobNotFound', 0]],
  ['the name of a deleted container is free again', async () => {
    await blob('PUT', '/?restype=service&comp=properties', {}, '<StorageServiceProperties><ContainerDeleteRetentionPolicy><Enabled>false</Enabled></ContainerDeleteRetentionPolicy></StorageServiceProperties>')
    await blob('PUT', '/again?restype=container')
    await blob('DELETE', '/again?restype=container')
  }, 30_000, async () => outcome(await blob('PUT', '/again?restype=container')), '409 ContainerBeingDeleted', '201'],
] // prettier-ignore

for (const [what, prepare, afterMs, look, before, then] of ROWS) {
  test(what, async () => {
    await prepare()
    await server.clock.advance(afterMs - 1)
    assert.deepEqual(await look(), before)
    await server.clock.advance(1)
    assert.deepEqual(await look(), then)
  })
}

test('a soft-deleted blob is gone, also from the list', async () => {
  await blob('PUT', '/?restype=service&comp=properties', {}, retention(1))
  await put('soft')
  await blob('DELETE', '/box/soft')
  const isListed = async () =>
    (await blob('GET', '/box?restype=container&comp=list&include=deleted')).text.includes(
      '<Name>soft<',
    )
  await server.clock.advance(DAY - 1)
  assert.equal(await isListed(), true)
  await server.clock.advance(1)
  assert.equal(await isListed(), false)
})

test('analytics logs are written', async () => {
  const logging = '<StorageServiceProperties><Logging><Version>1.0</Version><Delete>false</Delete><Read>false</Read><Write>true</Write><RetentionPolicy><Enabled>true</Enabled><Days>1</Days></RetentionPolicy></Logging></StorageServiceProperties>' // prettier-ignore
  await blob('PUT', '/?restype=service&comp=properties', {}, logging)
  await put('logged')
  const logs = async () =>
    ((await blob('GET', '/$logs?restype=container&comp=list')).text.match(/<Name>/g) ?? []).length
  await server.clock.advance(1)
  assert.equal(await logs(), 1)
  await server.clock.advance(DAY)
  assert.equal(await logs(), 0)
})

test('a durable handle of an SMB client that has lost its connection is closed', async (t) => {
  await file('PUT', '/durable?restype=share')
  const connect = async () => {
    const client = await RawClient.open(server.smbPort)
    t.after(() => client.close())
    await client.negotiate([DIALECT.smb300])
    assert.equal((await client.setUpSession(ACCOUNT, ACCOUNT_KEY))?.status, 'SUCCESS')
    assert.equal((await client.connectTree('durable'))?.status, 'SUCCESS')
    return client
  }
  const BATCH = 9
  const lost = await connect()
  const opened = await lost.ask(COMMAND.CREATE, durableRequest(0, BATCH))
  assert.equal(opened?.status, 'SUCCESS')
  const fileId = opened.message.subarray(64 + 64, 64 + 80)
  lost.close()
  await lost.hasEnded()
  // The server notices the lost connection at some later time.
  for (let turn = 0; turn < 20; turn += 1) await file('GET', '/?comp=list')
  await server.clock.advance('PT20M')
  assert.deepEqual(await server.held.opens(), [])
  const client = await connect()
  const again = await client.ask(COMMAND.CREATE, reconnectRequest(fileId))
  assert.equal(again?.status, 'OBJECT_NAME_NOT_FOUND')
})
