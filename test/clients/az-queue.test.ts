// The Queue service with `az storage queue` and `az storage message`, as scripts use them. Every call takes a second to
// start, so there are few of them, two at a time, and the SDK checks their results.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { QueueServiceClient, type QueueClient } from '@azure/storage-queue'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { startQueueFixture } from '../queue/fixture.ts'
import { cleanUp } from '../server-process.ts'
import { AZ_SUITE, azStorage } from './az.ts'

type ReceivedMessage = {
  readonly id: string
  readonly popReceipt: string
  readonly content: string
}

function isReceivedMessage(value: unknown): value is ReceivedMessage {
  return typeof value === 'object' && value !== null && 'popReceipt' in value && 'content' in value
}

function messagesOf(json: string): readonly ReceivedMessage[] {
  const value: unknown = JSON.parse(json)
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value]
  return messages.map((message) => {
    assert(isReceivedMessage(message), json)
    return message
  })
}

describe('az storage queue and message', AZ_SUITE, async () => {
  after(cleanUp)
  const server = await startQueueFixture()
  const connection =
    `DefaultEndpointsProtocol=http;AccountName=${ACCOUNT};AccountKey=${ACCOUNT_KEY};` +
    `QueueEndpoint=${server.endpoint};`
  const az = azStorage(connection)
  // It tries again: between two calls, az takes so long that the server may close its idle connection.
  const client = QueueServiceClient.fromConnectionString(connection)

  async function queueWith(name: string, ...texts: string[]): Promise<QueueClient> {
    const queue = client.getQueueClient(name)
    await queue.create()
    for (const text of texts) await queue.sendMessage(text)
    return queue
  }

  test('queue create, exists, delete', async () => {
    const name = ['--name', 'made']
    const created = await az.ok('queue', 'create', ...name, '--metadata', 'owner=me')
    assert.deepEqual(JSON.parse(created), { created: true })
    const queue = client.getQueueClient('made')
    assert.deepEqual((await queue.getProperties()).metadata, { owner: 'me' })
    assert.deepEqual(JSON.parse(await az.ok('queue', 'exists', ...name)), { exists: true })
    assert.deepEqual(JSON.parse(await az.ok('queue', 'delete', ...name)), { deleted: true })
    assert.equal(await queue.exists(), false)
  })

  test('queue list by prefix', async () => {
    for (const name of ['list-b', 'list-a', 'other']) await queueWith(name)
    const listed = await az.ok('queue', 'list', '--prefix', 'list-', '--query', '[].name')
    assert.deepEqual(JSON.parse(listed), ['list-a', 'list-b'])
  })

  test('message put, get, update, delete', async () => {
    const queue = await queueWith('box')
    const box = ['--queue-name', 'box']
    await az.ok('message', 'put', ...box, '--content', 'grüße & <mehr>', '--time-to-live', '60')
    const [got] = messagesOf(await az.ok('message', 'get', ...box, '--visibility-timeout', '5'))
    assert(got !== undefined)
    assert.equal(got.content, 'grüße & <mehr>')
    const claim = [...box, '--id', got.id, '--pop-receipt']
    const change = ['--visibility-timeout', '0', '--content', 'second']
    const updated = await az.ok('message', 'update', ...claim, got.popReceipt, ...change)
    const popReceipt = messagesOf(updated)[0]?.popReceipt ?? ''
    assert.match(await az.fails('message', 'delete', ...claim, got.popReceipt), /MessageNotFound/)
    const { peekedMessageItems } = await queue.peekMessages()
    assert.deepEqual(
      peekedMessageItems.map(({ messageText, dequeueCount }) => [messageText, dequeueCount]),
      [['second', 1]],
    )
    await az.ok('message', 'delete', ...claim, popReceipt)
    assert.equal((await queue.getProperties()).approximateMessagesCount, 0)
  })

  test('message peek, clear', async () => {
    const queue = await queueWith('many', '1', '2', '3')
    const many = ['--queue-name', 'many']
    const seen = messagesOf(await az.ok('message', 'peek', ...many, '--num-messages', '2'))
    assert.deepEqual(
      seen.map(({ content }) => content),
      ['1', '2'],
    )
    await az.ok('message', 'clear', ...many)
    assert.equal((await queue.getProperties()).approximateMessagesCount, 0)
  })

  test('queue policy and a SAS with it', async () => {
    const queue = await queueWith('shared', 'x')
    const policy = ['--name', 'readers', '--permissions', 'r', '--expiry', '2099-01-01T00:00Z']
    await az.ok('queue', 'policy', 'create', '--queue-name', 'shared', ...policy)
    const { signedIdentifiers } = await queue.getAccessPolicy()
    assert.deepEqual(
      signedIdentifiers.map(({ id, accessPolicy }) => [id, accessPolicy.permissions]),
      [['readers', 'r']],
    )
    const output = await az.ok(
      'queue',
      'generate-sas',
      '--name',
      'shared',
      '--policy-name',
      'readers',
    )
    const sas: unknown = JSON.parse(output)
    const answer = await fetch(`${queue.url}/messages?peekonly=true&${String(sas)}`)
    assert.match(await answer.text(), /<MessageText>x<\/MessageText>/)
  })
})
