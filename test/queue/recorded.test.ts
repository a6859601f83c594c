// Responses of the Queue service compared with those recorded from Azure in the SDKs' own tests.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ACCOUNT, outcome } from '../harness.ts'
import { ownHeaders } from '../own-headers.ts'
import { send, createQueue, messageXml, startQueueFixture } from './fixture.ts'

const server = await startQueueFixture()

const PROPERTIES = '/?restype=service&comp=properties'
const ID = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'

describe('headers:', () => {
  test('Get and Peek Messages forbid caching, Put Message does not', async () => {
    await createQueue(server, 'headers')
    const path = '/headers/messages'
    const put = await send(server, { method: 'POST', path, body: messageXml('a') })
    assert.equal(ownHeaders(put), 'content-type')
    for (const read of [`${path}?peekonly=true`, path]) {
      const answer = await send(server, { method: 'GET', path: read })
      assert.equal(ownHeaders(answer), 'cache-control content-type')
    }
  })

  test('Get Queue Service Properties and Stats forbid caching', async () => {
    const properties = await send(server, { method: 'GET', path: PROPERTIES })
    assert.equal(ownHeaders(properties), 'cache-control content-type')
    const path = `/${ACCOUNT}-secondary/?restype=service&comp=stats`
    const stats = await send(server, { method: 'GET', path, wholePath: true })
    assert.equal(stats.status, 200)
    assert.equal(ownHeaders(stats), 'cache-control content-type')
  })
})

test('Set Queue Service Properties needs at least one setting', async () => {
  const body = '<StorageServiceProperties />'
  const answer = await send(server, { method: 'PUT', path: PROPERTIES, body })
  assert.equal(outcome(answer), '400 InvalidXmlDocument')
})

describe('a missing queue is reported before an invalid pop receipt or time', () => {
  const CLAIMS = [
    [
      'PUT',
      `/messages/${ID}?visibilitytimeout=0&popreceipt=none`,
      '400 InvalidQueryParameterValue',
    ],
    ['DELETE', `/messages/${ID}?popreceipt=none`, '400 InvalidQueryParameterValue'],
    ['PUT', '/messages/none?visibilitytimeout=0&popreceipt=none', '404 MessageNotFound'],
    ['DELETE', '/messages/none?popreceipt=none', '404 MessageNotFound'],
  ] as const
  for (const [method, path, expected] of CLAIMS) {
    test(`${method} ${path}`, async () => {
      const missing = await send(server, { method, path: `/missing${path}` })
      assert.equal(outcome(missing), '404 QueueNotFound')
      const present = await send(server, { method, path: `/headers${path}` })
      assert.equal(outcome(present), expected)
    })
  }

  test('but not before a missing parameter', async () => {
    const deleted = await send(server, { method: 'DELETE', path: `/missing/messages/${ID}` })
    assert.equal(outcome(deleted), '400 MissingRequiredQueryParameter')
  })
})
