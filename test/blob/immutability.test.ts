// Immutability policies and legal holds: setting and removing them on blobs, snapshots and versions, and what they
// protect from being overwritten or deleted. The clock stands still until a test advances it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Headers, assertRefused } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './fixture.ts'

const { server, container, send } = await startBlobFixture({ container: 'worm' })

const HOUR_MS = 60 * 60 * 1_000
const UNTIL = 'x-ms-immutability-policy-until-date'
const MODE = 'x-ms-immutability-policy-mode'

const put = (name: string, headers: Headers = {}, body = 'x') =>
  send('PUT', `/worm/${name}`, { ...BLOCK_BLOB, ...headers }, body)
const dateIn = (hours: number) => new Date(server.now() + hours * HOUR_MS).toUTCString()
const setPolicy = (path: string, hours: number, mode?: string, headers: Headers = {}) =>
  send('PUT', `/worm/${path}comp=immutabilityPolicies`, {
    [UNTIL]: dateIn(hours),
    ...(mode !== undefined && { [MODE]: mode }),
    ...headers,
  })
const deletePolicy = (path: string) => send('DELETE', `/worm/${path}comp=immutabilityPolicies`)
const setHold = (path: string, hold: string) =>
  send('PUT', `/worm/${path}comp=legalhold`, { 'x-ms-legal-hold': hold })

const policyOf = async (path: string) => {
  const { headers } = await send('HEAD', `/worm/${path}`)
  return [headers[UNTIL], headers[MODE], headers['x-ms-legal-hold']]
}

let count = 0
/** A held blob cannot be overwritten, so every test uses a new one. */
function newName(): string {
  count += 1
  return `b${count}`
}

describe('Set Blob Immutability Policy', () => {
  test('returns the policy, which reads also show, and does not change the ETag', async () => {
    const blob = container.getBlockBlobClient(newName())
    await blob.upload('x', 1)
    const { etag, lastModified } = await blob.getProperties()
    server.advance(5_000)
    const expiriesOn = new Date(dateIn(2))
    const set = await blob.setImmutabilityPolicy({ expiriesOn, policyMode: 'Unlocked' })
    assert.equal(set.immutabilityPolicyExpiry?.toUTCString(), dateIn(2))
    assert.equal(set.immutabilityPolicyMode, 'unlocked')
    const now = await blob.getProperties()
    assert.deepEqual([now.etag, now.lastModified], [etag, lastModified])
    assert.equal(now.immutabilityPolicyExpiresOn?.toUTCString(), dateIn(2))
    assert.equal(now.immutabilityPolicyMode, 'unlocked')
    const { headers } = await send('GET', `/worm/${blob.name}`)
    assert.deepEqual([headers[UNTIL], headers[MODE]], [dateIn(2), 'unlocked'])
    await blob.deleteImmutabilityPolicy()
    assert.deepEqual(await policyOf(blob.name), [undefined, undefined, undefined])
  })

  // before (in hours)   after                outcome
  const CHANGES: readonly (readonly [string, number, string | undefined, number, string])[] = [
    ['Unlocked', 2, 'Unlocked', 3, 'ok'],
    ['Unlocked', 2, 'Unlocked', 1, 'ok'],
    ['Unlocked', 2, undefined, 1, 'ok'],
    ['Unlocked', 2, 'Locked', 1, 'ok'],
    ['Locked', 2, 'locked', 3, 'ok'],
    ['Locked', 2, 'Locked', 2, 'ok'],
    ['Locked', 2, 'Locked', 1, 'BlobImmutableDueToPolicy'],
    ['Locked', 2, 'Unlocked', 3, 'BlobImmutableDueToPolicy'],
    ['Locked', 2, undefined, 3, 'BlobImmutableDueToPolicy'],
  ]
  for (const [mode, hours, newMode, newHours, outcome] of CHANGES) {
    const change = `${mode} for ${hours} h to ${newMode ?? 'no mode'} for ${newHours} h`
    test(`${change} → ${outcome}`, async () => {
      const name = newName()
      await put(name)
      assert.equal((await setPolicy(`${name}?`, hours, mode)).status, 200)
      const answer = await setPolicy(`${name}?`, newHours, newMode)
      const isSet = outcome === 'ok'
      assert.equal(answer.status, isSet ? 200 : 409)
      assert.equal(answer.headers['x-ms-error-code'], isSet ? undefined : outcome)
      const expected = isSet
        ? [dateIn(newHours), (newMode ?? 'Unlocked').toLowerCase(), undefined]
        : [dateIn(hours), mode.toLowerCase(), undefined]
      assert.deepEqual(await policyOf(name), expected)
    })
  }

  test('cannot delete a locked policy before it expires', async () => {
    const name = newName()
    await put(name)
    await setPolicy(`${name}?`, 1, 'Locked')
    await assertRefused(deletePolicy(`${name}?`), 409, 'ImmutabilityPolicyDeleteOnLockedPolicy')
    server.advance(HOUR_MS)
    assert.equal((await deletePolicy(`${name}?`)).status, 200)
    assert.equal((await send('DELETE', `/worm/${name}`)).status, 202)
  })

  const past = () => new Date(server.now() - 60_000).toUTCString()
  const REFUSED: readonly (readonly [string, () => Headers, number, string])[] = [
    ['no date', () => ({ [UNTIL]: '' }), 400, 'MissingRequiredHeader'],
    ['a mode without a date', () => ({ [UNTIL]: '', [MODE]: 'Locked' }), 400, 'MissingRequiredHeader'],
    ['an invalid date', () => ({ [UNTIL]: 'soon' }), 400, 'InvalidHeaderValue'],
    ['a date in the past', () => ({ [UNTIL]: past() }), 400, 'InvalidHeaderValue'],
    ['an unknown mode', () => ({ [MODE]: 'Mutable' }), 400, 'InvalidHeaderValue'],
    ['If-Unmodified-Since before', () => ({ 'If-Unmodified-Since': past() }), 412, 'ConditionNotMet'],
    ['If-Match', () => ({ 'If-Match': '*' }), 400, 'ConditionHeadersNotSupported'],
    ['tags', () => ({ 'x-ms-if-tags': "k = 'v'" }), 400, 'ConditionHeadersNotSupported'],
  ] // prettier-ignore
  for (const [name, headers, status, code] of REFUSED) {
    test(`with ${name} → ${status} ${code}, and no policy is set`, async () => {
      const blob = newName()
      await put(blob)
      await assertRefused(setPolicy(`${blob}?`, 1, undefined, headers()), status, code)
      assert.deepEqual(await policyOf(blob), [undefined, undefined, undefined])
    })
  }

  test('accepts If-Unmodified-Since with the time of the last write', async () => {
    const name = newName()
    const { headers } = await put(name)
    const since = { 'If-Unmodified-Since': String(headers['last-modified']) }
    assert.equal((await setPolicy(`${name}?`, 1, 'Unlocked', since)).status, 200)
  })
})

describe('Set Blob Legal Hold', () => {
  test('sets and removes the hold without changing the ETag', async () => {
    const blob = container.getBlockBlobClient(newName())
    await blob.upload('x', 1)
    const { etag } = await blob.getProperties()
    assert.equal((await blob.setLegalHold(true)).legalHold, true)
    const held = await blob.getProperties()
    assert.deepEqual([held.legalHold, held.etag], [true, etag])
    assert.equal((await blob.setLegalHold(false)).legalHold, false)
    assert.equal((await blob.getProperties()).legalHold, undefined)
    await blob.delete()
  })

  test('needs one of two values and an existing blob', async () => {
    const name = newName()
    await put(name)
    await assertRefused(setHold(`${name}?`, ''), 400, 'MissingRequiredHeader')
    await assertRefused(setHold(`${name}?`, 'maybe'), 400, 'InvalidHeaderValue')
    await assertRefused(setHold('none?', 'true'), 404, 'BlobNotFound')
    await assertRefused(setPolicy('none?', 1), 404, 'BlobNotFound')
    await assertRefused(deletePolicy('none?'), 404, 'BlobNotFound')
    const elsewhere = send('PUT', '/none/b?comp=legalhold', { 'x-ms-legal-hold': 'true' })
    await assertRefused(elsewhere, 404, 'ContainerNotFound')
  })
})

const KEEPERS: readonly (readonly [string, (name: string) => Promise<unknown>, string])[] = [
  ['an unlocked policy', (name) => setPolicy(`${name}?`, 1, 'Unlocked'), 'BlobImmutableDueToPolicy'],
  ['a locked policy', (name) => setPolicy(`${name}?`, 1, 'Locked'), 'BlobImmutableDueToPolicy'],
  ['a legal hold', (name) => setHold(`${name}?`, 'true'), 'BlobImmutableDueToLegalHold'],
] // prettier-ignore

describe('a protected blob:', () => {
  const WRITES: readonly (readonly [string, string, string, Headers, string?])[] = [
    ['Put Blob', 'PUT', '', BLOCK_BLOB, 'new'],
    ['Put Blob of another type', 'PUT', '', { 'x-ms-blob-type': 'AppendBlob' }],
    ['Delete Blob', 'DELETE', '', {}],
    ['Set Blob Metadata', 'PUT', '?comp=metadata', {}],
    ['Set Blob Properties', 'PUT', '?comp=properties', {}],
    ['Set Blob Expiry', 'PUT', '?comp=expiry', { 'x-ms-expiry-option': 'NeverExpire' }],
  ]
  for (const [keeper, keep, code] of KEEPERS) {
    for (const [name, method, query, headers, body] of WRITES) {
      test(`with ${keeper}, ${name} → 409 ${code}`, async () => {
        const blob = newName()
        const { headers: before } = await put(blob)
        await keep(blob)
        await assertRefused(send(method, `/worm/${blob}${query}`, headers, body), 409, code)
        const now = await send('GET', `/worm/${blob}`)
        assert.deepEqual([now.text, now.headers.etag], ['x', before.etag])
        const { status } = await send('PUT', `/worm/${blob}?comp=tier`, {
          'x-ms-access-tier': 'Cool',
        })
        assert.equal(status, 200)
      })
    }

    test(`with ${keeper}, no block can be appended`, async () => {
      const log = newName()
      await send('PUT', `/worm/${log}`, { 'x-ms-blob-type': 'AppendBlob' })
      await keep(log)
      await assertRefused(send('PUT', `/worm/${log}?comp=appendblock`, {}, 'x'), 409, code)
    })
  }

  test('a hold is checked before a policy, and each ends independently', async () => {
    const name = newName()
    await put(name)
    await setPolicy(`${name}?`, 1, 'Locked')
    await setHold(`${name}?`, 'true')
    await assertRefused(put(name), 409, 'BlobImmutableDueToLegalHold')
    await setHold(`${name}?`, 'false')
    await assertRefused(put(name), 409, 'BlobImmutableDueToPolicy')
    server.advance(HOUR_MS - 1_000)
    await assertRefused(put(name), 409, 'BlobImmutableDueToPolicy')
    server.advance(1_000)
    assert.equal((await put(name, {}, 'new')).status, 201)
    assert.deepEqual(await policyOf(name), [undefined, undefined, undefined])
  })

  test("a snapshot is protected by its own hold, not by the blob's", async () => {
    const blob = container.getBlockBlobClient(newName())
    await blob.upload('x', 1)
    const { snapshot = '' } = await blob.createSnapshot()
    const query = `snapshot=${encodeURIComponent(snapshot)}`
    assert.equal((await setHold(`${blob.name}?${query}&`, 'true')).status, 200)
    assert.deepEqual((await policyOf(`${blob.name}?${query}`))[2], 'true')
    assert.deepEqual((await policyOf(blob.name))[2], undefined)
    const removal = send('DELETE', `/worm/${blob.name}?${query}`)
    await assertRefused(removal, 409, 'BlobImmutableDueToLegalHold')
    const all = { 'x-ms-delete-snapshots': 'include' }
    await assertRefused(
      send('DELETE', `/worm/${blob.name}`, all),
      409,
      'BlobImmutableDueToLegalHold',
    )
    assert.equal((await setPolicy(`${blob.name}?${query}&`, 1, 'Unlocked')).status, 200)
    await setHold(`${blob.name}?${query}&`, 'false')
    await assertRefused(
      send('DELETE', `/worm/${blob.name}?${query}`),
      409,
      'BlobImmutableDueToPolicy',
    )
    assert.equal((await deletePolicy(`${blob.name}?${query}&`)).status, 200)
    assert.equal((await send('DELETE', `/worm/${blob.name}`, all)).status, 202)
  })
})

describe('with Put Blob', () => {
  test('a policy and a hold can be set', async () => {
    const name = newName()
    const policy = { [UNTIL]: dateIn(1), [MODE]: 'Locked', 'x-ms-legal-hold': 'true' }
    assert.equal((await put(name, policy)).status, 201)
    assert.deepEqual(await policyOf(name), [dateIn(1), 'locked', 'true'])
    await assertRefused(put(name), 409, 'BlobImmutableDueToLegalHold')
  })

  for (const body of ['x', 'x'.repeat(20_000)]) {
    test(`an expired policy is refused, for ${body.length} bytes`, async () => {
      const name = newName()
      await assertRefused(put(name, { [UNTIL]: dateIn(-1) }, body), 400, 'InvalidHeaderValue')
      await assertRefused(send('HEAD', `/worm/${name}`), 404, 'BlobNotFound')
    })
  }
})

describe('with versioning', () => {
  const setVersioning = (isOn: boolean) => {
    const xml = `<StorageServiceProperties><IsVersioningEnabled>${isOn}</IsVersioningEnabled></StorageServiceProperties>`
    return send('PUT', '/?restype=service&comp=properties', {}, xml)
  }
  before(async () => assert.equal((await setVersioning(true)).status, 202))
  after(() => setVersioning(false))

  for (const [keeper, keep, code] of KEEPERS) {
    test(`a blob with ${keeper} can be overwritten and deleted, since it becomes a protected version`, async () => {
      const name = newName()
      const { headers } = await put(name)
      await keep(name)
      const kept = await policyOf(name)
      assert.equal((await put(name, {}, 'new')).status, 201)
      assert.deepEqual(await policyOf(name), [undefined, undefined, undefined])
      const version = `versionid=${encodeURIComponent(String(headers['x-ms-version-id']))}`
      assert.deepEqual(await policyOf(`${name}?${version}`), kept)
      await assertRefused(send('DELETE', `/worm/${name}?${version}`), 409, code)
      assert.equal((await send('DELETE', `/worm/${name}`)).status, 202)
      assert.equal((await send('GET', `/worm/${name}?${version}`)).text, 'x')
    })
  }

  test('a hold can be set on a version and removed', async () => {
    const name = newName()
    const { headers } = await put(name)
    await put(name, {}, 'new')
    const version = `versionid=${encodeURIComponent(String(headers['x-ms-version-id']))}`
    assert.equal((await setHold(`${name}?${version}&`, 'true')).status, 200)
    await assertRefused(
      send('DELETE', `/worm/${name}?${version}`),
      409,
      'BlobImmutableDueToLegalHold',
    )
    assert.deepEqual((await policyOf(name))[2], undefined)
    await setHold(`${name}?${version}&`, 'false')
    assert.equal((await send('DELETE', `/worm/${name}?${version}`)).status, 202)
  })
})
