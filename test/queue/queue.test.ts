// Queues: create, metadata, access policies, list, delete; invalid names and parameters; operations on the account.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { encodePopReceipt } from '../../src/storage/queue/pop-receipt.ts'
import { ACCOUNT, outcome, xmlText, xmlTexts } from '../harness.ts'
import {
  send,
  countMessages,
  get,
  createQueue,
  messageXml,
  put,
  startQueueFixture,
} from './fixture.ts'

const server = await startQueueFixture()

const request = (method: string, path: string, headers: Record<string, string> = {}, body = '') =>
  send(server, { method, path, headers, ...(body !== '' && { body }) })

describe('create', () => {
  test('is answered with 201, the second time with 204, and with other metadata with 409', async () => {
    const one = { 'x-ms-meta-One': '1', 'x-ms-meta-two': '2' }
    assert.equal(outcome(await request('PUT', '/made', one)), '201')
    assert.equal(outcome(await request('PUT', '/made', one)), '204')
    const reordered = { 'x-ms-meta-two': '2', 'x-ms-meta-one': '1' }
    assert.equal(outcome(await request('PUT', '/made', reordered)), '204')
    for (const other of [{}, { 'x-ms-meta-one': '1' }, { ...one, 'x-ms-meta-two': '3' }]) {
      assert.equal(outcome(await request('PUT', '/made', other)), '409 QueueAlreadyExists')
    }
  })

  const NAMES: readonly (readonly [string, string])[] = [
    ['abc', '201'],
    ['0-1-2', '201'],
    ['a'.repeat(63), '201'],
    ['ab', '400 OutOfRangeInput'],
    ['a'.repeat(64), '400 OutOfRangeInput'],
    ['Upper', '400 InvalidResourceName'],
    ['-dash', '400 InvalidResourceName'],
    ['dash-', '400 InvalidResourceName'],
    ['two--dashes', '400 InvalidResourceName'],
    ['under_score', '400 InvalidResourceName'],
    ['$root', '400 InvalidResourceName'],
    ['%C3%A4%C3%B6%C3%BC', '400 InvalidResourceName'],
  ]
  for (const [name, expected] of NAMES) {
    test(`${name} → ${expected}`, async () => {
      assert.equal(outcome(await request('PUT', `/${name}`)), expected)
      if (expected !== '201') {
        assert.equal(outcome(await request('GET', `/${name}/messages`)), expected)
      }
    })
  }

  const METADATA: readonly (readonly [string, string, string])[] = [
    ['x-ms-meta-', 'v', '400 EmptyMetadataKey'],
    ['x-ms-meta-1a', 'v', '400 InvalidMetadata'],
    ['x-ms-meta-a-b', 'v', '400 InvalidMetadata'],
    ['x-ms-meta-large', 'v'.repeat(8_192), '400 MetadataTooLarge'],
  ]
  for (const [name, value, expected] of METADATA) {
    test(`with ${name} → ${expected}`, async () => {
      assert.equal(outcome(await request('PUT', '/refused', { [name]: value })), expected)
      assert.equal(outcome(await request('DELETE', '/refused')), '404 QueueNotFound')
    })
  }
})

describe('metadata', () => {
  test('keeps the case of names, is replaced as a whole, and is returned with the message count', async () => {
    await createQueue(server, 'meta')
    await put(server, 'meta', 'x')
    await get(server, 'meta')
    const set = { 'x-ms-meta-A': '1', 'x-ms-meta-b': 'two words' }
    assert.equal(outcome(await request('PUT', '/meta?comp=metadata', set)), '204')
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, text } = await request(method, '/meta?comp=metadata')
      assert.deepEqual([status, text], [200, ''])
      assert.equal(headers['x-ms-meta-a'], '1')
      assert.equal(headers['x-ms-meta-b'], 'two words')
      assert.equal(headers['x-ms-approximate-messages-count'], '1')
    }
    await request('PUT', '/meta?comp=metadata')
    const { headers } = await request('GET', '/meta?comp=metadata')
    assert.equal(headers['x-ms-meta-a'], undefined)
  })
})

describe('access policies', () => {
  const policy = (id: string) =>
    `<SignedIdentifier><Id>${id}</Id><AccessPolicy><Start>2024-01-01</Start>` +
    '<Expiry>2030-01-01T00:00:00Z</Expiry><Permission>raup</Permission></AccessPolicy></SignedIdentifier>'
  const policies = (...ids: readonly string[]) =>
    `<SignedIdentifiers>${ids.map(policy).join('')}</SignedIdentifiers>`

  test('are set and returned', async () => {
    await createQueue(server, 'guarded')
    const path = '/guarded?comp=acl'
    assert.equal(outcome(await request('PUT', path, {}, policies('one', 'two'))), '204')
    const { status, text } = await request('GET', path)
    assert.equal(status, 200)
    assert.deepEqual(xmlTexts(text, 'Id'), ['one', 'two'])
    assert.equal(xmlText(text, 'Expiry'), '2030-01-01T00:00:00.0000000Z')
    assert.equal(xmlText(text, 'Permission'), 'raup')
    assert.equal((await request('HEAD', path)).status, 200)
    assert.equal(outcome(await request('PUT', path)), '204')
    assert.deepEqual(xmlTexts((await request('GET', path)).text, 'Id'), [])
  })

  test('are refused if there are six, or with an id of 65 characters', async () => {
    await createQueue(server, 'full')
    const bodies = [policies('1', '2', '3', '4', '5', '6'), policies('x'.repeat(65)), '<x']
    for (const body of bodies) {
      const answer = await request('PUT', '/full?comp=acl', {}, body)
      assert.equal(outcome(answer), '400 InvalidXmlDocument')
    }
  })
})

test('a delete takes effect at once, and a new queue with the same name is empty', async () => {
  await createQueue(server, 'gone')
  await put(server, 'gone', 'x')
  assert.equal(outcome(await request('DELETE', '/gone')), '204')
  await createQueue(server, 'gone')
  assert.equal(await countMessages(server, 'gone'), 0)
  assert.deepEqual(await get(server, 'gone'), [])
  await server.sweep()
  await put(server, 'gone', 'y')
  assert.equal(await countMessages(server, 'gone'), 1)
})

describe('for a missing queue', () => {
  const id = '00000000-0000-0000-0000-000000000000'
  const receipt = encodeURIComponent(encodePopReceipt({ messageId: id, sequence: 1 }))
  const REQUESTS: readonly (readonly [string, string, string?])[] = [
    ['DELETE', ''],
    ['GET', '?comp=metadata'],
    ['PUT', '?comp=metadata'],
    ['GET', '?comp=acl'],
    ['PUT', '?comp=acl'],
    ['POST', '/messages', messageXml('x')],
    ['GET', '/messages'],
    ['GET', '/messages?peekonly=true'],
    ['DELETE', '/messages'],
    ['DELETE', `/messages/${id}?popreceipt=${receipt}`],
    ['PUT', `/messages/${id}?popreceipt=${receipt}&visibilitytimeout=0`],
  ]
  for (const [method, rest, body] of REQUESTS) {
    test(`${method} ${rest} → 404 QueueNotFound`, async () => {
      const answer = await request(method, `/absent${rest}`, {}, body)
      assert.equal(outcome(answer), '404 QueueNotFound')
      assert.equal(xmlText(answer.text, 'Code'), 'QueueNotFound')
    })
  }
})

describe('parameters:', () => {
  before(() => createQueue(server, 'strict'))

  const GET = 'GET /messages?'
  const PUT = 'POST /messages?'
  const OUT = '400 OutOfRangeQueryParameterValue'
  const INVALID = '400 InvalidQueryParameterValue'
  // prettier-ignore
  const CASES: readonly (readonly [string, string])[] = [
    [`${GET}numofmessages=1`, '200'], [`${GET}numofmessages=32`, '200'], [`${GET}numofmessages=`, '200'],
    [`${GET}numofmessages=0`, OUT], [`${GET}numofmessages=33`, OUT], [`${GET}numofmessages=-1`, OUT],
    [`${GET}numofmessages=x`, INVALID], [`${GET}numofmessages=1.5`, INVALID],
    [`${GET}peekonly=true&numofmessages=33`, OUT], [`${GET}peekonly=TRUE`, '200'],
    [`${GET}peekonly=false`, '200'], [`${GET}peekonly=maybe`, INVALID],
    [`${GET}visibilitytimeout=1`, '200'], [`${GET}visibilitytimeout=604800`, '200'],
    [`${GET}visibilitytimeout=0`, OUT], [`${GET}visibilitytimeout=604801`, OUT],
    [`${GET}visibilitytimeout=99999999999`, INVALID],
    [`${PUT}visibilitytimeout=0`, '201'], [`${PUT}visibilitytimeout=604799`, '201'],
    [`${PUT}visibilitytimeout=-1`, OUT], [`${PUT}visibilitytimeout=604801`, OUT],
    [`${PUT}visibilitytimeout=604800`, INVALID], [`${PUT}visibilitytimeout=604800&messagettl=-1`, '201'],
    [`${PUT}visibilitytimeout=10&messagettl=10`, INVALID], [`${PUT}visibilitytimeout=9&messagettl=10`, '201'],
    [`${PUT}messagettl=1`, '201'], [`${PUT}messagettl=-1`, '201'], [`${PUT}messagettl=2147483647`, '201'],
    [`${PUT}messagettl=0`, OUT], [`${PUT}messagettl=-2`, OUT], [`${PUT}messagettl=week`, INVALID],
    ['GET /other', '400 InvalidUri'], ['GET /messages/a/b', '400 InvalidUri'],
    ['PUT /messages', '405 UnsupportedHttpVerb'], ['GET ?comp=nothing', INVALID],
  ]
  for (const [line, expected] of CASES) {
    test(`${line} → ${expected}`, async () => {
      const [method = '', rest = ''] = line.split(' ')
      const body = method === 'POST' ? messageXml('x') : ''
      assert.equal(outcome(await request(method, `/strict${rest}`, {}, body)), expected)
    })
  }

  test('the error for a value out of range has its name and limits', async () => {
    const { text } = await request('GET', '/strict/messages?numofmessages=33')
    const names = ['QueryParameterName', 'QueryParameterValue', 'MinimumAllowed', 'MaximumAllowed']
    assert.deepEqual(
      names.map((name) => xmlText(text, name)),
      ['numofmessages', '33', '1', '32'],
    )
  })

  test('before 2017-07-29 the lifetime of a message is limited to a week', async () => {
    const headers = { 'x-ms-version': '2016-05-31' }
    for (const seconds of [604_801, -1]) {
      const path = `/strict/messages?messagettl=${seconds}`
      assert.equal(outcome(await request('POST', path, headers, messageXml('x'))), OUT)
    }
  })
})

describe('list', async () => {
  const own = await startQueueFixture()
  const list = async (query: string) => (await send(own, { method: 'GET', path: query })).text

  before(async () => {
    for (const name of ['bbb', 'aaa', 'aab', 'ccc', 'aa-1']) await createQueue(own, name)
    const headers = { 'x-ms-meta-k': 'a < b' }
    await send(own, { method: 'PUT', path: '/aaa?comp=metadata', headers })
  })

  test('returns all queues by name, without metadata', async () => {
    const text = await list('/?comp=list')
    assert.deepEqual(xmlTexts(text, 'Name'), ['aa-1', 'aaa', 'aab', 'bbb', 'ccc'])
    assert(text.includes(`ServiceEndpoint="${own.endpoint}/"`))
    assert(!text.includes('<Metadata'))
    assert(text.includes('<NextMarker />'))
  })

  test('continues in pages even if the queue of the marker was deleted', async () => {
    await createQueue(own, 'aaaa')
    const first = await list('/?comp=list&maxresults=3')
    assert.deepEqual(xmlTexts(first, 'Name'), ['aa-1', 'aaa', 'aaaa'])
    await send(own, { method: 'DELETE', path: '/aaaa' })
    const marker = xmlText(first, 'NextMarker') ?? ''
    const second = await list(`/?comp=list&maxresults=3&marker=${marker}`)
    assert.deepEqual(xmlTexts(second, 'Name'), ['aab', 'bbb', 'ccc'])
    assert.equal(xmlText(second, 'Marker'), marker)
    assert.equal(xmlText(second, 'MaxResults'), '3')
    assert.equal(xmlText(second, 'NextMarker'), undefined)
  })

  test('can be limited to a prefix and include metadata', async () => {
    const text = await list('/?comp=list&prefix=aa&include=metadata')
    assert.deepEqual(xmlTexts(text, 'Name'), ['aa-1', 'aaa', 'aab'])
    assert(text.includes('<Name>aaa</Name><Metadata><k>a &lt; b</k></Metadata>'))
    assert.equal(xmlText(text, 'Prefix'), 'aa')
    for (const prefix of ['b'.repeat(70), 'z', 'b'.repeat(9_000)]) {
      assert((await list(`/?comp=list&prefix=${prefix}`)).includes('<Queues />'))
    }
  })

  const REFUSED: readonly (readonly [string, string])[] = [
    ['maxresults=0', '400 OutOfRangeQueryParameterValue'],
    ['maxresults=x', '400 InvalidQueryParameterValue'],
    ['include=everything', '400 InvalidQueryParameterValue'],
    ['marker=!', '400 InvalidMarker'],
  ]
  for (const [query, expected] of REFUSED) {
    test(`${query} → ${expected}`, async () => {
      const answer = await send(own, { method: 'GET', path: `/?comp=list&${query}` })
      assert.equal(outcome(answer), expected)
    })
  }
})

describe('the account', () => {
  const PROPERTIES = '/?restype=service&comp=properties'

  test('has service properties and CORS', async () => {
    const rule =
      '<CorsRule><AllowedOrigins>https://a.example</AllowedOrigins><AllowedMethods>GET</AllowedMethods>' +
      '<AllowedHeaders>*</AllowedHeaders><ExposedHeaders>x-ms-*</ExposedHeaders>' +
      '<MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule>'
    const body = `<StorageServiceProperties><Cors>${rule}</Cors></StorageServiceProperties>`
    assert.equal((await request('PUT', PROPERTIES, {}, body)).status, 202)
    const { text } = await request('GET', PROPERTIES)
    assert.equal(xmlText(text, 'AllowedOrigins'), 'https://a.example')
    assert(!text.includes('StaticWebsite'))
    const preflightHeaders = { Origin: 'https://a.example', 'Access-Control-Request-Method': 'GET' }
    const preflight = await send(server, {
      method: 'OPTIONS',
      path: '/meta/messages',
      headers: preflightHeaders,
      sign: 'none',
    })
    assert.equal(preflight.status, 200)
    const { headers } = await request('GET', '/meta/messages', { Origin: 'https://a.example' })
    assert.equal(headers['access-control-allow-origin'], 'https://a.example')
  })

  test('has a secondary, which only permits reads and peeks', async () => {
    const secondary = (method: string, rest: string) =>
      send(server, { method, path: `/${ACCOUNT}-secondary${rest}`, wholePath: true })
    assert.equal((await secondary('GET', '/?restype=service&comp=stats')).status, 200)
    assert.equal((await secondary('GET', '/meta?comp=metadata')).status, 200)
    assert.equal((await secondary('GET', '/meta/messages?peekonly=true')).status, 200)
    assert.equal((await secondary('GET', '/meta/messages')).status, 403)
    assert.equal((await secondary('DELETE', '/meta')).status, 403)
  })

  test('has account information', async () => {
    const { headers } = await request('GET', '/?comp=list')
    assert.equal(headers.server, 'Windows-Azure-Queue/1.0 Microsoft-HTTPAPI/2.0')
  })
})
