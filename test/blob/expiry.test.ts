// Set Blob Expiry: the four options, invalid requests, and that an expired blob is gone for every operation, before and
// after a sweep.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { encodeKey } from '../../src/kv/key.ts'
import { prefixRange } from '../../src/kv/kv.ts'
import { assertRefused, DAY_MS, type Headers } from '../harness.ts'
import { runTestServer } from '../running-server.ts'
import { BLOCK_BLOB, blobFixtureOn } from './fixture.ts'

const running = await runTestServer({ silent: true, logLevel: 'error' })
const { server, service, container, send } = await blobFixtureOn(running)

const put = (name: string, body: string | Uint8Array = 'x', headers: Headers = {}) =>
  send('PUT', `/box/${name}`, { ...BLOCK_BLOB, ...headers }, body)

function setExpiry(name: string, option: string, time?: string, headers: Headers = {}) {
  const given = {
    'x-ms-expiry-option': option,
    ...(time !== undefined && { 'x-ms-expiry-time': time }),
  }
  return send('PUT', `/box/${name}?comp=expiry`, { ...given, ...headers })
}

const httpDate = (timeMs: number) => new Date(timeMs).toUTCString()
const expiryOf = async (name: string) =>
  (await send('HEAD', `/box/${name}`)).headers['x-ms-expiry-time']

describe('Set Blob Expiry', () => {
  const AGE_MS = 10_000
  const OPTIONS: readonly (readonly [string, string, () => string, number])[] = [
    // option                              time                           expires after
    ['RelativeToNow', 'milliseconds', () => '60000', 60_000],
    ['RelativeToCreation', 'milliseconds', () => '60000', 60_000 - AGE_MS],
    ['relativetocreation', 'in any case', () => '10001', 1],
    ['Absolute', 'a date', () => httpDate(server.now() + 60_000), 60_000],
  ]
  for (const [option, name, time, afterMs] of OPTIONS) {
    test(`${option}, ${name}: the blob exists until then`, async () => {
      await put('b')
      server.advance(AGE_MS)
      // Dates are whole seconds.
      server.advance(1_000 - (server.now() % 1_000))
      await put('fresh')
      server.advance(AGE_MS)
      const untilMs = server.now() + afterMs
      const { status } = await setExpiry('fresh', option, time())
      assert.equal(status, 200)
      assert.equal(await expiryOf('fresh'), httpDate(untilMs))
      server.advance(afterMs - 1)
      assert.equal((await send('GET', '/box/fresh')).text, 'x')
      server.advance(1)
      await assertRefused(send('GET', '/box/fresh'), 404, 'BlobNotFound')
      assert.equal((await send('GET', '/box/b')).status, 200)
    })
  }

  test('leaves ETag and Last-Modified as they are', async () => {
    const { headers: before } = await put('etag')
    server.advance(2_000)
    const { headers } = await setExpiry('etag', 'RelativeToNow', '60000')
    assert.equal(headers.etag, before.etag)
    assert.equal(headers['last-modified'], before['last-modified'])
    assert.equal((await send('HEAD', '/box/etag')).headers.etag, before.etag)
  })

  test('can be repeated, extended and removed by NeverExpire', async () => {
    await put('kept')
    await setExpiry('kept', 'RelativeToNow', '1000')
    await setExpiry('kept', 'RelativeToNow', '5000')
    server.advance(4_999)
    assert.equal((await send('HEAD', '/box/kept')).status, 200)
    assert.equal((await setExpiry('kept', 'NeverExpire')).status, 200)
    assert.equal(await expiryOf('kept'), undefined)
    server.advance(DAY_MS)
    await server.store.sweep({ graceMs: 0 })
    assert.equal((await send('GET', '/box/kept')).text, 'x')
  })

  test('does not apply to a blob that replaces the first one', async () => {
    await put('anew')
    await setExpiry('anew', 'RelativeToNow', '1000')
    await put('anew', 'new')
    assert.equal(await expiryOf('anew'), undefined)
    server.advance(1_000)
    await server.store.sweep({ graceMs: 0 })
    assert.equal((await send('GET', '/box/anew')).text, 'new')
  })

  const REFUSED: readonly (readonly [string, string, (() => string) | undefined, string])[] = [
    ['no option', '', () => '1000', 'MissingRequiredHeader'],
    ['an unknown option', 'Soon', () => '1000', 'InvalidHeaderValue'],
    ['no time', 'RelativeToNow', undefined, 'MissingRequiredHeader'],
    ['no date', 'Absolute', undefined, 'MissingRequiredHeader'],
    ['a time in the past', 'RelativeToCreation', () => '1', 'InvalidHeaderValue'],
    ['zero time', 'RelativeToNow', () => '0', 'InvalidHeaderValue'],
    ['a negative time', 'RelativeToNow', () => '-1', 'InvalidHeaderValue'],
    ['a date instead of a time', 'RelativeToNow', () => httpDate(server.now() + DAY_MS), 'InvalidHeaderValue'],
    ['a time instead of a date', 'Absolute', () => '60000', 'InvalidHeaderValue'],
    ['a date in the past', 'Absolute', () => httpDate(server.now() - 1_000), 'InvalidHeaderValue'],
    ['a time beyond all dates', 'RelativeToNow', () => '9000000000000000', 'InvalidHeaderValue'],
    ['a time with NeverExpire', 'NeverExpire', () => '1000', 'InvalidHeaderValue'],
  ] // prettier-ignore
  for (const [name, option, time, code] of REFUSED) {
    test(`with ${name} → 400 ${code}, and the blob stays`, async () => {
      const { headers } = await put('stays')
      server.advance(5)
      await assertRefused(setExpiry('stays', option, time?.()), 400, code)
      const now = await send('HEAD', '/box/stays')
      assert.deepEqual(
        [now.headers.etag, now.headers['x-ms-expiry-time']],
        [headers.etag, undefined],
      )
    })
  }

  test('refuses conditions and needs the lease id and an existing blob', async () => {
    await put('guarded')
    const conditional = setExpiry('guarded', 'NeverExpire', undefined, { 'If-Match': '*' })
    await assertRefused(conditional, 400, 'ConditionHeadersNotSupported')
    const id = randomUUID()
    await container.getBlobClient('guarded').getBlobLeaseClient(id).acquireLease(15)
    await assertRefused(setExpiry('guarded', 'RelativeToNow', '9'), 412, 'LeaseIdMissing')
    const leased = setExpiry('guarded', 'RelativeToNow', '9000', { 'x-ms-lease-id': id })
    assert.equal((await leased).status, 200)
    await assertRefused(setExpiry('none', 'NeverExpire'), 404, 'BlobNotFound')
  })
})

describe('an expired blob', () => {
  const GONE: readonly (readonly [string, string, Headers])[] = [
    ['GET', '', {}],
    ['HEAD', '', {}],
    ['GET', '?comp=metadata', {}],
    ['PUT', '?comp=metadata', {}],
    ['PUT', '?comp=properties', {}],
    ['PUT', '?comp=snapshot', {}],
    ['GET', '?comp=tags', {}],
    ['PUT', '?comp=tier', { 'x-ms-access-tier': 'Cool' }],
    ['PUT', '?comp=expiry', { 'x-ms-expiry-option': 'NeverExpire' }],
    ['PUT', '?comp=legalhold', { 'x-ms-legal-hold': 'true' }],
    ['PUT', '?comp=lease', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' }],
    ['DELETE', '', {}],
  ]
  for (const isSwept of [false, true]) {
    test(`is gone for every operation ${isSwept ? 'after' : 'before'} a sweep`, async () => {
      await put('over', 'x', { 'x-ms-tags': 'over=yes' })
      await setExpiry('over', 'RelativeToNow', '1000')
      server.advance(1_000)
      if (isSwept) await server.store.sweep({ graceMs: 0 })
      for (const [method, query, headers] of GONE) {
        await assertRefused(send(method, `/box/over${query}`, headers), 404, 'BlobNotFound')
      }
      const names: string[] = []
      for await (const { name } of container.listBlobsFlat({ prefix: 'over' })) names.push(name)
      assert.deepEqual(names, [])
      const found: string[] = []
      for await (const { name } of service.findBlobsByTags("over = 'yes'")) found.push(name)
      assert.deepEqual(found, [])
    })
  }

  test('does not exist for If-None-Match: * and If-Match', async () => {
    await put('name')
    await setExpiry('name', 'RelativeToNow', '1000')
    server.advance(1_000)
    await assertRefused(put('name', 'x', { 'If-Match': '*' }), 412, 'ConditionNotMet')
    assert.equal((await put('name', 'new', { 'If-None-Match': '*' })).status, 201)
    const { headers, text } = await send('GET', '/box/name')
    assert.deepEqual([text, headers['x-ms-creation-time']], ['new', httpDate(server.now())])
  })

  test('leaves no record, tag or bytes in the store after a sweep', async () => {
    const entries = async () => {
      const parts = ['blob', 'blob-tag', 'due', 'map', 'deleted-map', 'extent-reference']
      const counts = parts.map((part) =>
        server.store.kv.read((tx) =>
          tx.scan({ ...prefixRange(encodeKey(part)), countMax: 10_000 }),
        ),
      )
      return (await Promise.all(counts)).map((found, i) => `${parts[i]} ${found.length}`)
    }
    await server.store.sweep({ graceMs: 0 })
    const before = await entries()
    await put('swept', Buffer.alloc(50_000, 1), { 'x-ms-tags': 'over=yes' })
    await send('PUT', '/box/swept-log', { 'x-ms-blob-type': 'AppendBlob' })
    await send('PUT', '/box/swept-log?comp=appendblock', {}, 'block')
    for (const name of ['swept', 'swept-log']) await setExpiry(name, 'RelativeToNow', '1000')
    for (const [i, found] of (await entries()).entries()) {
      if (!found.startsWith('deleted-map')) assert.notEqual(found, before[i])
    }
    server.advance(1_000)
    await server.store.sweep({ graceMs: 0 })
    assert.deepEqual(await entries(), before)
  })

  test('is kept as long as a legal hold or a policy protects it', async () => {
    await put('held')
    await setExpiry('held', 'RelativeToNow', '1000')
    await send('PUT', '/box/held?comp=legalhold', { 'x-ms-legal-hold': 'true' })
    server.advance(DAY_MS)
    await server.store.sweep({ graceMs: 0 })
    assert.equal((await send('GET', '/box/held')).status, 200)
    const until = httpDate(server.now() + 60_000)
    const policy = { 'x-ms-immutability-policy-until-date': until }
    await send('PUT', '/box/held?comp=immutabilityPolicies', policy)
    await send('PUT', '/box/held?comp=legalhold', { 'x-ms-legal-hold': 'false' })
    assert.equal((await send('GET', '/box/held')).status, 200)
    server.advance(60_000)
    await assertRefused(send('GET', '/box/held'), 404, 'BlobNotFound')
  })
})
