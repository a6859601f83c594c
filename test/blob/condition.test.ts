// Conditional headers of each operation, as in "Specifying conditional headers for Blob service operations": conditions
// on existing blobs, missing blobs and containers. A write whose condition is not met changes nothing.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  BLOBS,
  OPERATIONS,
  PUT,
  PUT_HEADERS,
  type Headers,
  type Operation,
} from './condition-operations.ts'
import { outcome, type RawResponse } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

// Not a whole second, so that rounding to seconds shows.
let nowMs = Math.floor(Date.now() / 1000) * 1000 + 400
const { server, send } = await startBlobFixture({ clock: () => nowMs })

await send('PUT', '/box/source', PUT_HEADERS, 'copied')

type Target = { readonly etag: string; readonly modifiedMs: number }

/** The ETag and Last-Modified of a blob or container. */
function targetOf(response: RawResponse): Target {
  const { etag = '', 'last-modified': modified = '' } = response.headers
  return { etag, modifiedMs: Date.parse(modified) }
}

// The values of conditions: the ETag (E), others (O, P), any (*); Last-Modified (T), a second before and after it.
const VALUES: Readonly<Record<string, (target: Target) => string>> = {
  E: ({ etag }) => etag,
  'E bare': ({ etag }) => etag.replaceAll('"', ''),
  O: () => '"0x8D000000000000"',
  '*': () => '*',
  'O, E': ({ etag }) => `"0x8D000000000000", ${etag}`,
  'E invalid': ({ etag }) => `${etag}invalid`,
  'O then E': ({ etag }) => `"0x8D000000000000"${etag}`,
  'O E': ({ etag }) => `"0x8D000000000000" ${etag}`,
  'O, P': () => '"0x8D000000000000", "0x8D000000000001"',
  'T-1': ({ modifiedMs }) => new Date(modifiedMs - 1000).toUTCString(),
  T: ({ modifiedMs }) => new Date(modifiedMs).toUTCString(),
  'T+1': ({ modifiedMs }) => new Date(modifiedMs + 1000).toUTCString(),
  'no date': () => 'yesterday',
}

const NAMES: Readonly<Record<string, string>> = {
  IM: 'if-match',
  INM: 'if-none-match',
  IMS: 'if-modified-since',
  IUS: 'if-unmodified-since',
}

/** `IM=E IUS=T-1` as headers. */
function conditionHeaders(text: string, target: Target): Headers {
  const pairs = text.split('; ').map((part) => {
    const [name = '', value = ''] = part.split('=')
    return [NAMES[name] ?? name, VALUES[value]?.(target) ?? value] as const
  })
  return Object.fromEntries(pairs)
}

const MET = 'ok'
const UNMET = '412 ConditionNotMet'
const SAME = '304 ConditionNotMet'
const MANY = '400 MultipleConditionHeadersNotSupported'
const EXISTS = '409 BlobAlreadyExists'
const NEVER = '400 UnsatisfiableCondition'
const NO_DATE = '400 InvalidHeaderValue'

// condition                      reads    Put Blob updates
const EXISTING: readonly (readonly [string, string, string, string])[] = [
  ['IM=E',                        MET,     MET,     MET],
  ['IM=E bare',                   MET,     MET,     MET],
  ['IM=*',                        MET,     MET,     MET],
  ['IM=O',                        UNMET,   UNMET,   UNMET],
  ['IM=O, E',                     MET,     MANY,    MANY],
  ['IM=O, P',                     UNMET,   MANY,    MANY],
  ['IM=E invalid',                UNMET,   UNMET,   UNMET],
  ['IM=O then E',                 UNMET,   UNMET,   UNMET],
  ['IM=O E',                      UNMET,   UNMET,   UNMET],
  ['INM=E invalid',               MET,     MET,     MET],
  ['INM=O E',                     MET,     MET,     MET],
  ['INM=E',                       SAME,    UNMET,   UNMET],
  ['INM=E bare',                  SAME,    UNMET,   UNMET],
  ['INM=O',                       MET,     MET,     MET],
  ['INM=*',                       NEVER,   EXISTS,  UNMET],
  ['INM=O, E',                    SAME,    MANY,    MANY],
  ['INM=O, P',                    MET,     MANY,    MANY],
  ['IMS=T-1',                     MET,     MET,     MET],
  ['IMS=T',                       SAME,    UNMET,   UNMET],
  ['IMS=T+1',                     SAME,    UNMET,   UNMET],
  ['IMS=no date',                 NO_DATE, NO_DATE, NO_DATE],
  ['IUS=T-1',                     UNMET,   UNMET,   UNMET],
  ['IUS=T',                       MET,     MET,     MET],
  ['IUS=T+1',                     MET,     MET,     MET],
  ['IUS=no date',                 NO_DATE, NO_DATE, NO_DATE],
  // With an ETag and its date, writes check only the ETag; reads check both.
  ['IM=E; IUS=T',                 MET,     MET,     MET],
  ['IM=E; IUS=T-1',               UNMET,   MET,     MET],
  ['IM=O; IUS=T',                 UNMET,   UNMET,   UNMET],
  ['INM=O; IMS=T',                MET,     MET,     MET],
  ['INM=E; IMS=T-1',              MET,     UNMET,   UNMET],
  ['INM=E; IMS=T',                SAME,    UNMET,   UNMET],
  ['INM=*; IMS=T-1',              NEVER,   EXISTS,  UNMET],
  // Only reads accept other pairs; 412 takes precedence over 304.
  ['IM=E; INM=O',                 MET,     MANY,    MANY],
  ['IM=E; INM=E',                 SAME,    MANY,    MANY],
  ['IM=O; INM=E',                 UNMET,   MANY,    MANY],
  ['IM=E; IMS=T-1',               MET,     MANY,    MANY],
  ['IM=E; IMS=T',                 SAME,    MANY,    MANY],
  ['IUS=T; INM=O',                MET,     MANY,    MANY],
  ['IUS=T-1; INM=E',              UNMET,   MANY,    MANY],
  ['IUS=T; IMS=T',                SAME,    MANY,    MANY],
  ['IUS=T-1; IMS=T',              UNMET,   MANY,    MANY],
  ['IM=E; IUS=T; INM=O; IMS=T-1', MET,     MANY,    MANY],
  ['IM=E; IUS=T; INM=E; IMS=T-1', MET,     MANY,    MANY],
  ['IM=E; IUS=T; INM=E; IMS=T',   SAME,    MANY,    MANY],
] // prettier-ignore

function run(operation: Operation, path: string, conditions: Headers): Promise<RawResponse> {
  const { method, query = '', headers = {}, body } = operation
  const source = { 'x-ms-copy-source': `${server.blobEndpoint}/box/source` }
  const sent = 'x-ms-copy-source' in headers ? { ...headers, ...source } : headers
  return send(method, path + query, { ...sent, ...conditions }, body)
}

function putBefore({ blob }: Operation, path: string): Promise<RawResponse> {
  const before = BLOBS[blob ?? 'BlockBlob']
  return send('PUT', path, before.headers, before.body)
}

async function state(path: string) {
  const { status, headers, text } = await send('GET', path)
  const { date: _date, 'x-ms-request-id': _id, ...kept } = headers
  return { status, headers: kept, text }
}

/** Copies have their own code for conditions of the destination. */
function targetCode({ name }: Operation, expected: string): string {
  const isCopy = name.startsWith('Copy Blob') || name === 'Put Blob From URL'
  return isCopy && expected === UNMET ? '412 TargetConditionNotMet' : expected
}

describe('a condition on a blob that exists', () => {
  let count = 0
  for (const operation of OPERATIONS) {
    for (const [condition, read, put, update] of EXISTING) {
      const expected = targetCode(operation, { read, put, update }[operation.kind])
      test(`${operation.name}, ${condition} → ${expected}`, async () => {
        const path = `/box/existing-${(count += 1)}`
        const target = targetOf(await putBefore(operation, path))
        const before = await state(path)
        const response = await run(operation, path, conditionHeaders(condition, target))
        assert.equal(outcome(response), expected === MET ? operation.ok : expected)
        const isSeen = operation.kind !== 'read' && operation.isUnseen !== true
        if (expected !== MET || !isSeen) assert.deepEqual(await state(path), before)
        else assert.notDeepEqual(await state(path), before)
        if (operation.method === 'HEAD') assert.equal(response.text, '')
      })
    }
  }
})

test('304 has the error code, but no validators, body or length', async () => {
  const put = await send('PUT', '/box/not-modified', PUT_HEADERS, 'old')
  const { etag = '' } = put.headers
  for (const method of ['GET', 'HEAD']) {
    const { status, headers, text } = await send(method, '/box/not-modified', {
      'If-None-Match': etag,
    })
    assert.equal(status, 304)
    assert.equal(headers.etag, undefined)
    assert.equal(headers['last-modified'], undefined)
    assert.equal(headers['x-ms-error-code'], 'ConditionNotMet')
    assert.equal(headers['content-length'], undefined)
    assert.equal(headers['content-type'], undefined)
    assert.equal(text, '')
  }
})

describe('before 2013-08-15 reads treat pairs of conditions as writes do', () => {
  for (const [condition, , , update] of EXISTING) {
    if (!condition.includes('; ') || condition.includes('INM=*')) continue
    test(`Get Blob, ${condition}`, async () => {
      const target = targetOf(await send('PUT', '/box/pairs', PUT_HEADERS, 'old'))
      const headers = { ...conditionHeaders(condition, target), 'x-ms-version': '2012-02-12' }
      const { status } = await send('GET', '/box/pairs', headers)
      const isSame = update === UNMET && condition.startsWith('INM')
      assert.equal(status, update === MET ? 200 : isSame ? 304 : Number(update.slice(0, 3)))
    })
  }
})

describe('a condition on a blob that does not exist', () => {
  const ABSENT_TARGET: Target = { etag: '"0x8D000000000009"', modifiedMs: 1_700_000_000_000 }
  for (const operation of OPERATIONS) {
    for (const condition of ['IM=E', 'IM=*', 'INM=E', 'INM=*', 'IMS=T', 'IUS=T']) {
      const isUnmetPut = condition.startsWith('IM=')
      const isNever = operation.kind === 'read' && condition === 'INM=*'
      const put = targetCode(operation, isUnmetPut ? UNMET : operation.ok)
      const expected = isNever ? NEVER : operation.kind === 'put' ? put : '404 BlobNotFound'
      test(`${operation.name}, ${condition} → ${expected}`, async () => {
        const path = `/box/absent-${operation.name.replaceAll(' ', '-')}-${NAMES[condition.split('=')[0] ?? '']}${condition.endsWith('*') ? '-any' : ''}`
        const headers = conditionHeaders(condition, ABSENT_TARGET)
        assert.equal(outcome(await run(operation, path, headers)), expected)
        const found = (await send('HEAD', path)).status
        assert.equal(found, expected === operation.ok ? 200 : 404)
        assert.equal(
          outcome(await run(operation, '/nobox/absent', headers)),
          isNever ? NEVER : '404 ContainerNotFound',
        )
      })
    }
  }
})

describe('dates are compared in whole seconds:', () => {
  test('a blob that changed again in the same second is unmodified', async () => {
    const first = targetOf(await send('PUT', '/box/second', PUT_HEADERS, 'one'))
    nowMs += 300
    const second = targetOf(await send('PUT', '/box/second', PUT_HEADERS, 'two'))
    assert.equal(second.modifiedMs, first.modifiedMs)
    assert.notEqual(second.etag, first.etag)
    const since = new Date(first.modifiedMs).toUTCString()
    const headers: readonly (readonly [string, number])[] = [
      ['If-Unmodified-Since', 200],
      ['If-Modified-Since', 304],
    ]
    for (const [name, status] of headers) {
      assert.equal((await send('GET', '/box/second', { [name]: since })).status, status)
    }
  })

  test('a blob that changed in the next second is modified', async () => {
    const first = targetOf(await send('PUT', '/box/next', PUT_HEADERS, 'one'))
    nowMs += 1000
    await send('PUT', '/box/next', PUT_HEADERS, 'two')
    const since = new Date(first.modifiedMs).toUTCString()
    assert.equal((await send('GET', '/box/next', { 'If-Modified-Since': since })).status, 200)
    assert.equal((await send('GET', '/box/next', { 'If-Unmodified-Since': since })).status, 412)
  })
})

const REFUSED = '400 ConditionHeadersNotSupported'

// condition   Delete   Set ACL  Set Metadata  others
const CONTAINER: readonly (readonly [string, string, string, string, string])[] = [
  ['IMS=T-1',  MET,     MET,     MET,          REFUSED],
  ['IMS=T',    UNMET,   UNMET,   UNMET,        REFUSED],
  ['IMS=T+1',  UNMET,   UNMET,   UNMET,        REFUSED],
  ['IUS=T-1',  UNMET,   UNMET,   REFUSED,      REFUSED],
  ['IUS=T',    MET,     MET,     REFUSED,      REFUSED],
  ['IUS=T+1',  MET,     MET,     REFUSED,      REFUSED],
  ['IM=E',     REFUSED, REFUSED, REFUSED,      REFUSED],
  ['IM=*',     REFUSED, REFUSED, REFUSED,      REFUSED],
  ['INM=O',    REFUSED, REFUSED, REFUSED,      REFUSED],
  ['INM=*',    REFUSED, REFUSED, REFUSED,      REFUSED],
  ['IUS=T; IMS=T-1', MANY, MANY, REFUSED,      REFUSED],
] // prettier-ignore

const CONTAINER_OPERATIONS: readonly (readonly [string, 1 | 2 | 3 | 4, string, string, string])[] =
  [
    ['Delete Container', 1, '202', 'DELETE', ''],
    ['Set Container ACL', 2, '200', 'PUT', '&comp=acl'],
    ['Set Container Metadata', 3, '200', 'PUT', '&comp=metadata'],
    ['Get Container Properties', 4, '200', 'GET', ''],
    ['Get Container Metadata', 4, '200', 'HEAD', '&comp=metadata'],
    ['Get Container ACL', 4, '200', 'GET', '&comp=acl'],
  ]

describe('a condition on a container', () => {
  let count = 0
  for (const [name, column, ok, method, comp] of CONTAINER_OPERATIONS) {
    for (const row of CONTAINER) {
      const expected = row[column]
      test(`${name}, ${row[0]} → ${expected}`, async () => {
        const path = `/conditions-${(count += 1)}?restype=container`
        const created = await send('PUT', path, { 'x-ms-meta-state': 'first' })
        const target = targetOf(created)
        const response = await send(method, path + comp, conditionHeaders(row[0], target))
        assert.equal(outcome(response), expected === MET ? ok : expected)
        const now = await send('HEAD', path)
        if (expected !== MET) assert.equal(now.headers.etag, target.etag)
        else if (method === 'DELETE') assert.equal(now.status, 404)
        else assert.notEqual(now.headers.etag, target.etag)
      })
    }
  }

  test('is refused by Create Container', async () => {
    const path = '/conditional?restype=container'
    const response = await send('PUT', path, { 'If-None-Match': '*' })
    assert.equal(outcome(response), REFUSED)
    assert.equal((await send('HEAD', path)).status, 404)
  })
})

test('a lease id without a lease is an unmet condition', async () => {
  const lease = { 'x-ms-lease-id': '6e3ea2a3-8d3c-4b6d-8c4c-7d7a3a1f0c11' }
  await send('PUT', '/box/lease', PUT_HEADERS, 'old')
  const before = await state('/box/lease')
  // For Lease Blob the id is that to acquire, renew or release.
  for (const operation of OPERATIONS.filter(({ name }) => name !== 'Lease Blob')) {
    const actual = outcome(await run(operation, '/box/lease', lease))
    assert.equal(actual, '412 LeaseNotPresentWithBlobOperation', operation.name)
  }
  assert.deepEqual(await state('/box/lease'), before)
  const missing = await run({ ...PUT, name: '', headers: PUT_HEADERS, body: '' }, '/box/new', lease)
  assert.equal(outcome(missing), '412 LeaseNotPresentWithBlobOperation')
  for (const [name, , , method, comp] of CONTAINER_OPERATIONS) {
    const actual = outcome(await send(method, `/box?restype=container${comp}`, lease))
    assert.equal(actual, '412 LeaseNotPresentWithContainerOperation', name)
  }
})
