// Clients of three nodes use the same objects at once: no update is lost, no message is delivered twice, a lease has one
// holder, a name has one creator, and a batch is seen whole.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { AzureNamedKeyCredential, TableClient } from '@azure/data-tables'
import { SKIP_REASON, testServer } from '../../src/postgres/harness.ts'
import { putMessage } from '../../src/storage/queue/message.ts'
import { ACCOUNT, ACCOUNT_KEY, outcome, sendTo, xmlText, xmlTexts, type Send } from '../harness.ts'
import {
  entityPath,
  outcome as tableOutcome,
  send as sendToTable,
  type TableServer,
} from '../table/fixture.ts'
import { startLocalNode, type LocalNode, type ServiceName } from './rig.ts'

const NODES = 3
const CLIENTS = NODES * 16

describe('three nodes', { skip: SKIP_REASON ?? false }, () => {
  let nodes: readonly LocalNode[]

  before(async () => {
    const postgres = await testServer()
    const url = postgres.url(await postgres.newDatabase())
    nodes = await Promise.all(Array.from({ length: NODES }, () => startLocalNode({ url })))
    assert.equal(outcome(await sendOf('blob', 0)('PUT', '/box?restype=container')), '201')
  })

  after(async () => {
    for (const node of nodes) await node.close()
    for (const node of nodes) assert.doesNotMatch(node.logged(), / error: /)
  })

  /** The client's node. */
  const nodeOf = (client: number): LocalNode => {
    const node = nodes[client % NODES]
    assert(node !== undefined)
    return node
  }

  const sendOf = (service: ServiceName, client: number): Send =>
    sendTo(nodeOf(client).ports[service])

  const tableOf = (client: number): Pick<TableServer, 'tablePort'> => {
    return { tablePort: nodeOf(client).ports.table }
  }

  const allClients = <T>(run: (client: number) => Promise<T>): Promise<readonly T[]> =>
    Promise.all(Array.from({ length: CLIENTS }, (_, client) => run(client)))

  test('a counter in a blob loses no increment with If-Match', async () => {
    const path = '/box/counter'
    await sendOf('blob', 0)('PUT', path, { 'x-ms-blob-type': 'BlockBlob' }, '0')
    await allClients(async (client) => {
      const send = sendOf('blob', client)
      for (;;) {
        const { text, headers } = await send('GET', path)
        const condition = { 'x-ms-blob-type': 'BlockBlob', 'If-Match': headers.etag ?? '' }
        const put = outcome(await send('PUT', path, condition, String(Number(text) + 1)))
        if (put === '201') return
        assert.equal(put, '412 ConditionNotMet')
      }
    })
    for (let at = 0; at < NODES; at += 1) {
      assert.equal((await sendOf('blob', at)('GET', path)).text, String(CLIENTS))
    }
  })

  test('a counter in an entity loses no increment with its ETag', async () => {
    const body = JSON.stringify({ TableName: 'counters' })
    await sendToTable(tableOf(0), { method: 'POST', path: '/Tables', body })
    const path = entityPath('counters', 'p', 'r')
    const request = (client: number, method: string, count?: number, etag?: string) =>
      sendToTable(tableOf(client), {
        method,
        path,
        headers: {
          accept: 'application/json;odata=minimalmetadata',
          ...(etag !== undefined && { 'if-match': etag }),
        },
        ...(count !== undefined && { body: JSON.stringify({ Count: count }) }),
      })
    const read = async (client: number) => {
      const { text, headers } = await request(client, 'GET')
      return { count: (JSON.parse(text) as { Count: number }).Count, etag: headers.etag ?? '' }
    }
    assert.equal((await request(0, 'PUT', 0)).status, 204)
    await allClients(async (client) => {
      for (;;) {
        const { count, etag } = await read(client)
        const put = tableOutcome(await request(client, 'PUT', count + 1, etag))
        if (put === '204') return
        assert.equal(put, '412 UpdateConditionNotSatisfied')
      }
    })
    for (let at = 0; at < NODES; at += 1) assert.equal((await read(at)).count, CLIENTS)
  })

  test('a counter in a message has one holder at a time', async () => {
    await sendOf('queue', 0)('PUT', '/counter')
    await sendOf('queue', 0)('POST', '/counter/messages', {}, messageXml('0'))
    await allClients(async (client) => {
      const send = sendOf('queue', client)
      for (;;) {
        const { text } = await send('GET', '/counter/messages?visibilitytimeout=600')
        const [id, receipt] = [xmlText(text, 'MessageId'), xmlText(text, 'PopReceipt')]
        if (id === undefined) continue
        const count = Number(xmlText(text, 'MessageText'))
        const path = (given = '') =>
          `/counter/messages/${id}?popreceipt=${encodeURIComponent(given)}&visibilitytimeout=0`
        const updated = await send('PUT', path(receipt), {}, messageXml(String(count + 1)))
        assert.equal(outcome(updated), '204')
        // From now on, others have it: the receipt is no longer good, on any node.
        const stale = await sendOf('queue', client + 1)('PUT', path(receipt), {}, messageXml('x'))
        assert.equal(outcome(stale), '404 MessageNotFound')
        return
      }
    })
    const peeked = await sendOf('queue', 1)('GET', '/counter/messages?peekonly=true')
    assert.equal(xmlText(peeked.text, 'MessageText'), String(CLIENTS))
    assert.equal(xmlText(peeked.text, 'DequeueCount'), String(CLIENTS))
  })

  test('a queue is drained by all: each message goes to one consumer', async () => {
    const messageCount = 2_000
    await sendOf('queue', 0)('PUT', '/work')
    await Promise.all(nodes.map((node, at) => fill(node, 'work', at, messageCount)))
    const delivered: string[] = []
    await allClients(async (client) => {
      const send = sendOf('queue', client)
      for (;;) {
        const { text } = await send('GET', '/work/messages?numofmessages=32&visibilitytimeout=600')
        const [ids, receipts] = [xmlTexts(text, 'MessageId'), xmlTexts(text, 'PopReceipt')]
        if (ids.length === 0) return
        delivered.push(...xmlTexts(text, 'MessageText'))
        for (const [at, id] of ids.entries()) {
          const receipt = encodeURIComponent(receipts[at] ?? '')
          // From another node than the one that handed it out.
          const path = `/work/messages/${id}?popreceipt=${receipt}`
          assert.equal(outcome(await sendOf('queue', client + 1)('DELETE', path)), '204')
        }
      }
    })
    const expected = Array.from({ length: messageCount }, (_, at) => at)
    assert.deepEqual(delivered.map(Number).sort((a, b) => a - b), expected) // prettier-ignore
    const { headers } = await sendOf('queue', 2)('HEAD', '/work?comp=metadata')
    assert.equal(headers['x-ms-approximate-messages-count'], '0')
  })

  test('a lease has one holder, whichever nodes are asked', async () => {
    const path = '/box/leased'
    await sendOf('blob', 0)('PUT', path, { 'x-ms-blob-type': 'BlockBlob' }, '')
    const lease = (client: number, action: string, more: Readonly<Record<string, string>> = {}) =>
      sendOf('blob', client)('PUT', `${path}?comp=lease`, { 'x-ms-lease-action': action, ...more })
    const write = async (client: number, id: string) => {
      const headers = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-lease-id': id }
      return outcome(await sendOf('blob', client)('PUT', path, headers, id))
    }
    for (let round = 0; round < 4; round += 1) {
      const ids = Array.from({ length: CLIENTS }, () => randomUUID())
      const outcomes = await allClients(async (client) => {
        const terms = { 'x-ms-lease-duration': '-1', 'x-ms-proposed-lease-id': ids[client] ?? '' }
        return outcome(await lease(client, 'acquire', terms))
      })
      const holder = outcomes.indexOf('201')
      const refused = outcomes.filter((_, client) => client !== holder)
      assert.deepEqual(new Set(refused), new Set(['409 LeaseAlreadyPresent']))
      const id = ids[holder] ?? ''
      const writes = await allClients((client) => write(client, ids[client] ?? ''))
      assert.deepEqual(writes.flatMap((each, client) => (each === '201' ? [client] : [])), [holder]) // prettier-ignore
      for (let at = 0; at < NODES; at += 1) {
        assert.equal(outcome(await lease(at, 'renew', { 'x-ms-lease-id': id })), '200')
      }
      // One breaks it, the others renew it: whatever comes first, nobody has it in the end.
      const raced = await allClients(async (client) =>
        client === round
          ? outcome(await lease(client, 'break', { 'x-ms-lease-break-period': '0' }))
          : outcome(await lease(client, 'renew', { 'x-ms-lease-id': id })),
      )
      assert.equal(raced[round], '202')
      for (const each of raced.filter((_, client) => client !== round)) {
        assert(['200', '409 LeaseIsBrokenAndCannotBeRenewed'].includes(each), each)
      }
      assert.equal(outcome(await lease(round + 1, 'renew', { 'x-ms-lease-id': id })), '409 LeaseIsBrokenAndCannotBeRenewed') // prettier-ignore
      assert.equal(await write(round + 2, id), '412 LeaseLost')
    }
  })

  const CREATIONS = {
    container: (client: number) => sendOf('blob', client)('PUT', '/unique?restype=container'),
    share: (client: number) => sendOf('file', client)('PUT', '/unique?restype=share'),
    table: (client: number) => {
      const body = JSON.stringify({ TableName: 'unique' })
      return sendToTable(tableOf(client), { method: 'POST', path: '/Tables', body })
    },
    blob: (client: number) => {
      const headers = { 'x-ms-blob-type': 'BlockBlob', 'If-None-Match': '*' }
      return sendOf('blob', client)('PUT', '/box/unique', headers, String(client))
    },
    // With metadata of its own: creating a queue again as it is succeeds with 204.
    queue: (client: number) =>
      sendOf('queue', client)('PUT', '/unique', { 'x-ms-meta-client': String(client) }),
  }

  for (const [what, create] of Object.entries(CREATIONS)) {
    test(`a ${what} has one creator`, async () => {
      const statuses = (await allClients(create)).map(({ status }) => status).sort()
      assert.deepEqual(statuses, [201, ...Array.from({ length: CLIENTS - 1 }, () => 409)])
    })
  }

  test('appends with a position are all there, at the positions that were confirmed', async () => {
    const path = '/box/appended'
    await sendOf('blob', 0)('PUT', path, { 'x-ms-blob-type': 'AppendBlob' })
    const blockOf = (client: number): string => `client ${String(client).padStart(2, '0')};`
    const offsets = await allClients(async (client) => {
      const send = sendOf('blob', client)
      for (let position = 0; ;) {
        const condition = { 'x-ms-blob-condition-appendpos': String(position) }
        const answer = await send('PUT', `${path}?comp=appendblock`, condition, blockOf(client))
        if (answer.status === 201) return Number(answer.headers['x-ms-blob-append-offset'])
        assert.equal(outcome(answer), '412 AppendPositionConditionNotMet')
        position = Number((await send('HEAD', path)).headers['content-length'])
      }
    })
    const { text } = await sendOf('blob', 1)('GET', path)
    assert.equal(text.length, CLIENTS * blockOf(0).length)
    for (const [client, offset] of offsets.entries()) {
      assert.equal(text.slice(offset, offset + blockOf(client).length), blockOf(client))
    }
  })

  test('a batch of entities is seen whole or not at all, from every node', async () => {
    const clients = nodes.map(({ ports }) => {
      const credential = new AzureNamedKeyCredential(ACCOUNT, ACCOUNT_KEY)
      const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } }
      const url = `http://127.0.0.1:${ports.table}/${ACCOUNT}`
      return new TableClient(url, 'batches', credential, options)
    })
    const [writer, ...readers] = clients
    assert(writer !== undefined)
    await writer.createTable()
    const rows = Array.from({ length: 20 }, (_, at) => String(at))
    const writeAll = (version: number) =>
      writer.submitTransaction(rows.map((rowKey) => ['upsert', { partitionKey: 'p', rowKey, version }])) // prettier-ignore
    const versions = async (client: TableClient): Promise<readonly number[]> => {
      const found: number[] = []
      for await (const { version } of client.listEntities<{ version: number }>()) found.push(version) // prettier-ignore
      return found
    }
    await writeAll(0)
    const writing = new AbortController()
    const watched = readers.map(async (reader) => {
      let last = 0
      while (!writing.signal.aborted) {
        const found = await versions(reader)
        assert.equal(found.length, rows.length)
        assert.equal(new Set(found).size, 1, `versions ${found.join()}`)
        const [version = 0] = found
        assert(version >= last, 'a later read sees a later state')
        last = version
      }
    })
    for (let version = 1; version <= 30; version += 1) await writeAll(version)
    writing.abort()
    await Promise.all(watched)
    // One of its operations fails, so none of them is done.
    await assert.rejects(
      writer.submitTransaction([
        ['upsert', { partitionKey: 'p', rowKey: '0', version: -1 }],
        ['create', { partitionKey: 'p', rowKey: '1', version: -1 }],
      ]),
    )
    for (const client of clients) assert.deepEqual(new Set(await versions(client)), new Set([30]))
  })
})

/** The node puts its share of the messages, whose texts are their numbers. */
async function fill(
  { server, joined }: LocalNode,
  queue: string,
  node: number,
  messageCount: number,
): Promise<void> {
  for (let from = node; from < messageCount; from += NODES * 100) {
    const guids = Array.from({ length: 100 }, () => randomUUID())
    await server.store.kv.write(function* (tx) {
      for (const [at, randomGuid] of guids.entries()) {
        const number = from + at * NODES
        if (number >= messageCount) return
        const text = Buffer.from(String(number))
        const put = { randomGuid, text, visibilityTimeoutMs: 0, timeToLiveMs: undefined }
        yield* putMessage(tx, { account: ACCOUNT, queue }, put, joined.clock())
      }
    })
  }
}

function messageXml(text: string): string {
  return `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`
}
