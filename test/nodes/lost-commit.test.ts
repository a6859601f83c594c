// A connection to PostgreSQL that is lost during a commit: the node finds out whether the commit was stored and answers
// accordingly. What was sent once is stored once.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { checkStore } from '../../src/extent/sweep/fsck.ts'
import { SKIP_REASON, testServer } from '../../src/postgres/harness.ts'
import { outcome, sendTo, xmlTexts } from '../harness.ts'
import { DatabaseProxy } from './database-proxy.ts'
import { startLocalNode, type LocalNode } from './rig.ts'

const PARTS = ['request', 'answer'] as const

describe('a lost connection', { skip: SKIP_REASON ?? false }, () => {
  let proxy: DatabaseProxy
  let node: LocalNode
  let other: LocalNode

  before(async () => {
    const postgres = await testServer()
    proxy = await DatabaseProxy.start(postgres.port)
    const database = await postgres.newDatabase()
    node = await startLocalNode({ url: proxy.url(database) })
    other = await startLocalNode({ url: postgres.url(database) })
  })

  after(async () => {
    await node.close()
    await other.close()
    await proxy.close()
  })

  for (const part of PARTS) {
    test(`before the ${part} of a commit arrives: Append Block appends once`, async () => {
      const send = sendTo(node.ports.blob)
      const path = `/box-${part}/log`
      assert.equal(outcome(await send('PUT', `/box-${part}?restype=container`)), '201')
      assert.equal(outcome(await send('PUT', path, { 'x-ms-blob-type': 'AppendBlob' })), '201')
      let expected = ''
      for (let count = 0; count < 5; count += 1) {
        const block = `block ${count} of ${part};`
        const lost = proxy.loseCommit(part, block)
        const answer = await send('PUT', `${path}?comp=appendblock`, {}, block)
        await lost
        assert.equal(outcome(answer), '201', answer.text)
        expected += block
        const read = await sendTo(other.ports.blob)('GET', path)
        assert.equal(read.text, expected)
        assert.equal(read.headers.etag, answer.headers.etag)
      }
    })

    test(`before the ${part} of a commit arrives: Put Message puts once`, async () => {
      const send = sendTo(node.ports.queue)
      assert.equal(outcome(await send('PUT', `/box-${part}`)), '201')
      const texts = ['first', 'second', 'third']
      for (const text of texts) {
        const lost = proxy.loseCommit(part, text)
        const body = `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`
        const answer = await send('POST', `/box-${part}/messages`, {}, body)
        await lost
        assert.equal(outcome(answer), '201', answer.text)
      }
      const peek = `/box-${part}/messages?peekonly=true&numofmessages=32`
      const peeked = await sendTo(other.ports.queue)('GET', peek)
      assert.deepEqual(xmlTexts(peeked.text, 'MessageText'), texts)
    })

    test(`before the ${part} of a commit arrives: only one of two creates a container`, async () => {
      const lost = proxy.loseCommit(part, `new-${part}`)
      const created = sendTo(node.ports.blob)('PUT', `/new-${part}?restype=container`)
      await lost
      const again = await sendTo(other.ports.blob)('PUT', `/new-${part}?restype=container`)
      const outcomes = [outcome(await created), outcome(again)].sort()
      assert.deepEqual(outcomes, ['201', '409 ContainerAlreadyExists'])
    })
  }

  test('for longer than a request waits: what was stored stays whole', async () => {
    const send = sendTo(node.ports.blob)
    assert.equal(outcome(await send('PUT', '/box-whole?restype=container')), '201')
    // Long enough to be in an extent.
    const content = 'whole '.repeat(10_000)
    const lost = proxy.loseCommit('all', 'kept-whole')
    const path = '/box-whole/kept-whole'
    const put = send('PUT', path, { 'x-ms-blob-type': 'BlockBlob' }, content)
    await lost
    // It began after the commit, so the node has given that up when this one fails.
    assert.equal(outcome(await send('GET', path)), '503 ServerBusy')
    proxy.heal()
    assert.equal(outcome(await put), '503 ServerBusy')
    assert.equal((await sendTo(other.ports.blob)('GET', path)).text, content)
    const { kv, extents } = other.server.store
    assert.deepEqual((await checkStore(kv, extents)).problems, [])
  })
})
