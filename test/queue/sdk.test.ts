// All operations of @azure/storage-queue, Microsoft's own client.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startQueueFixture } from './fixture.ts'

const server = await startQueueFixture()
const service = server.client

test('queues are created, listed in pages and deleted', async () => {
  const names = ['list-1', 'list-2', 'list-3']
  for (const name of names) await service.createQueue(name, { metadata: { order: name } })
  const first = await service.getQueueClient('list-1').createIfNotExists({
    metadata: { order: 'list-1' },
  })
  assert.equal(first.succeeded, false)
  const pages: string[][] = []
  const list = service.listQueues({ prefix: 'list-', includeMetadata: true })
  for await (const { queueItems = [] } of list.byPage({ maxPageSize: 2 })) {
    pages.push(queueItems.map(({ name, metadata }) => `${name} ${metadata?.['order']}`))
  }
  assert.deepEqual(pages, [['list-1 list-1', 'list-2 list-2'], ['list-3 list-3']])
  for (const name of names) {
    assert.equal((await service.getQueueClient(name).deleteIfExists()).succeeded, true)
  }
  assert.equal((await service.getQueueClient('list-1').deleteIfExists()).succeeded, false)
  assert.equal(await service.getQueueClient('list-1').exists(), false)
})

test('metadata, policies and the message count are set and read', async () => {
  const queue = service.getQueueClient('properties')
  await queue.create()
  assert.equal(await queue.exists(), true)
  await queue.setMetadata({ keyA: 'a', key_b: 'b' })
  const startsOn = new Date(Date.UTC(2024, 0))
  const expiresOn = new Date(Date.UTC(2030, 0))
  const policy = { id: 'one', accessPolicy: { startsOn, expiresOn, permissions: 'raup' } }
  await queue.setAccessPolicy([policy])
  const { signedIdentifiers } = await queue.getAccessPolicy()
  assert.deepEqual(signedIdentifiers, [policy])
  for (let i = 0; i < 3; i += 1) await queue.sendMessage(String(i))
  await queue.receiveMessages()
  const properties = await queue.getProperties()
  assert.equal(properties.approximateMessagesCount, 3)
  // Node returns header names in lower case.
  assert.deepEqual(properties.metadata, { keya: 'a', key_b: 'b' })
})

test('a message is put, received, updated and deleted', async () => {
  const queue = service.getQueueClient('messages')
  await queue.create()
  const sent = await queue.sendMessage('hello', { messageTimeToLive: 60, visibilityTimeout: 1 })
  assert.equal(sent.insertedOn.getTime(), Math.floor(server.now() / 1_000) * 1_000)
  assert.deepEqual((await queue.peekMessages()).peekedMessageItems, [])
  server.advance(1_000)
  const { peekedMessageItems: peeked } = await queue.peekMessages({ numberOfMessages: 5 })
  assert.deepEqual(
    peeked.map(({ messageId, messageText, dequeueCount }) => [
      messageId,
      messageText,
      dequeueCount,
    ]),
    [[sent.messageId, 'hello', 0]],
  )
  const { receivedMessageItems: got } = await queue.receiveMessages({
    numberOfMessages: 5,
    visibilityTimeout: 10,
  })
  assert.equal(got.length, 1)
  const [message] = got
  assert.equal(message?.dequeueCount, 1)
  const updated = await queue.updateMessage(sent.messageId, message?.popReceipt ?? '', 'changed', 0)
  assert.equal(updated.nextVisibleOn?.getTime(), Math.floor(server.now() / 1_000) * 1_000)
  await assert.rejects(queue.deleteMessage(sent.messageId, message?.popReceipt ?? ''), {
    statusCode: 404,
    code: 'MessageNotFound',
  })
  await queue.deleteMessage(sent.messageId, updated.popReceipt ?? '')
  await queue.sendMessage('rest')
  await queue.clearMessages()
  assert.equal((await queue.getProperties()).approximateMessagesCount, 0)
  await queue.delete()
  await assert.rejects(queue.sendMessage('x'), { statusCode: 404, code: 'QueueNotFound' })
})

test('service properties are set and read', async () => {
  const cors = {
    allowedOrigins: 'https://example.org',
    allowedMethods: 'GET',
    allowedHeaders: 'x-ms-*',
    exposedHeaders: 'x-ms-*',
    maxAgeInSeconds: 60,
  }
  await service.setProperties({ cors: [cors] })
  assert.deepEqual((await service.getProperties()).cors, [cors])
})
