// Races between two clients whose order a barrier decides: both orders give the two outcomes that are legal. And what becomes
// of held requests.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { BarrierRule } from '../../src/control/api.ts'
import { POINTS } from '../../src/control/point.ts'
import { rawRequest, startTestServer } from '../harness.ts'
import { namedBlobs, namedQueues, namedShares, namedTable, outcomeOf } from './named-clients.ts'

const server = await startTestServer()
after(() => server.close())

const ORDERS = [
  ['A', 'B'],
  ['B', 'A'],
] as const

type Racer = { readonly A: () => Promise<string>; readonly B: () => Promise<string> }

/** Runs both up to the barrier, then lets them go on in this order. */
async function race(rule: BarrierRule, order: readonly string[], racers: Racer) {
  const barrier = server.barriers.hold(rule)
  const running = { A: racers.A(), B: racers.B() }
  await barrier.held(2)
  await barrier.release(...order)
  barrier.remove()
  return { A: await running.A, B: await running.B }
}

/** The outcomes in the order in which the clients went on. */
async function outcomes(rule: BarrierRule, order: readonly ('A' | 'B')[], racers: Racer) {
  const found = await race(rule, order, racers)
  return order.map((name) => found[name])
}

let count = 0
const fresh = (): string => `race${(count += 1)}`

describe('the first one released wins', () => {
  for (const order of ORDERS) {
    test(`two Put Blobs with If-Match: ${order.join(', ')}`, async () => {
      const container = fresh()
      await namedBlobs(server, 'setup').createContainer(container)
      const blobOf = (name: string) =>
        namedBlobs(server, name).getContainerClient(container).getBlockBlobClient('doc')
      const { etag: ifMatch = '' } = await blobOf('setup').upload('old', 3)
      const put = (name: string) => () =>
        outcomeOf(blobOf(name).upload(name, 1, { conditions: { ifMatch } }))
      const rule = { at: 'checked', match: { operation: 'Put Blob', path: `/${container}/doc` } }
      const found = await outcomes(rule as BarrierRule, order, { A: put('A'), B: put('B') })
      assert.deepEqual(found, ['ok', 'ConditionNotMet'])
      assert.equal(String(await blobOf('setup').downloadToBuffer()), order[0])
    })

    test(`two Copy Blobs with If-None-Match: *: ${order.join(', ')}`, async () => {
      const container = fresh()
      await namedBlobs(server, 'setup').createContainer(container)
      const blobOf = (client: string, name: string) =>
        namedBlobs(server, client).getContainerClient(container).getBlockBlobClient(name)
      for (const name of ['A', 'B']) await blobOf('setup', name).upload(name, 1)
      const copy = (client: string) => async () => {
        const conditions = { conditions: { ifNoneMatch: '*' } }
        return outcomeOf(
          blobOf(client, 'doc').syncCopyFromURL(blobOf('setup', client).url, conditions),
        )
      }
      const rule = { at: 'checked', match: { path: `/${container}/doc` } } as const
      const found = await outcomes(rule, order, { A: copy('A'), B: copy('B') })
      assert.deepEqual(found, ['ok', 'BlobAlreadyExists'])
      assert.equal(String(await blobOf('setup', 'doc').downloadToBuffer()), order[0])
    })

    test(`two Get Messages for one message: ${order.join(', ')}`, async () => {
      const name = fresh()
      const queueOf = (client: string) => namedQueues(server, client).getQueueClient(name)
      await queueOf('setup').create()
      await queueOf('setup').sendMessage('job')
      const get = (client: string) => async () => {
        const { receivedMessageItems } = await queueOf(client).receiveMessages()
        return String(receivedMessageItems.length)
      }
      const rule = { at: 'checked', match: { operation: 'Get Messages' } } as const
      assert.deepEqual(await outcomes(rule, order, { A: get('A'), B: get('B') }), ['1', '0'])
    })

    test(`two merges with an ETag: ${order.join(', ')}`, async () => {
      const table = fresh()
      const clientOf = (name: string) => namedTable(server, name, table)
      await clientOf('setup').createTable()
      const entity = { partitionKey: 'p', rowKey: 'r' }
      const { etag = '' } = await clientOf('setup').createEntity({ ...entity, by: 'setup' })
      const merge = (by: string) => () =>
        outcomeOf(clientOf(by).updateEntity({ ...entity, by }, 'Merge', { etag }))
      const rule = {
        at: 'checked',
        match: { service: 'table', operation: 'Merge Entity' },
      } as const
      const found = await outcomes(rule, order, { A: merge('A'), B: merge('B') })
      assert.deepEqual(found, ['ok', 'UpdateConditionNotSatisfied'])
      assert.equal((await clientOf('setup').getEntity('p', 'r'))['by'], order[0])
    })

    test(`two leases of a file: ${order.join(', ')}`, async () => {
      const share = fresh()
      await namedShares(server, 'setup').createShare(share)
      const fileOf = (name: string) =>
        namedShares(server, name).getShareClient(share).rootDirectoryClient.getFileClient('doc')
      await fileOf('setup').create(1)
      const acquire = (name: string) => () =>
        outcomeOf(fileOf(name).getShareLeaseClient().acquireLease())
      const rule = { at: 'checked', match: { operation: 'Lease File' } } as const
      const found = await outcomes(rule, order, { A: acquire('A'), B: acquire('B') })
      assert.deepEqual(found, ['ok', 'LeaseAlreadyPresent'])
    })
  }

  test('a delete with a receipt against the next get', async () => {
    for (const order of ORDERS) {
      const name = fresh()
      const queueOf = (client: string) => namedQueues(server, client).getQueueClient(name)
      await queueOf('setup').create()
      await queueOf('setup').sendMessage('job')
      const { receivedMessageItems } = await queueOf('A').receiveMessages({ visibilityTimeout: 1 })
      const [message] = receivedMessageItems
      assert(message !== undefined)
      server.advance(1_000)
      const remove = () =>
        outcomeOf(queueOf('A').deleteMessage(message.messageId, message.popReceipt))
      const get = async () =>
        String((await queueOf('B').receiveMessages()).receivedMessageItems.length)
      const rule = {
        at: 'checked',
        match: { service: 'queue', path: `/${name}/messages*` },
      } as const
      const found = await race(rule, order, { A: remove, B: get })
      const expected = order[0] === 'A' ? { A: 'ok', B: '0' } : { A: 'MessageNotFound', B: '1' }
      assert.deepEqual(found, expected)
    }
  })
})

describe('a held request', () => {
  const blobs = namedBlobs(server, 'A').getContainerClient('held')
  const upload = (name: string, client = 'A') =>
    namedBlobs(server, client).getContainerClient('held').getBlockBlobClient(name).upload('x', 1)
  before(() => blobs.create())

  for (const at of POINTS) {
    test(`waits at '${at}'`, async () => {
      const path = `/held/${at}`
      const reads = at === 'read'
      if (reads) await upload(at)
      const operation = reads ? 'Get Blob' : 'Put Blob'
      const barrier = server.barriers.hold({ at, match: { operation, path } })
      const running = reads ? blobs.getBlobClient(at).download() : upload(at)
      const held = await barrier.held()
      assert.deepEqual(
        held.map(({ client, operation: name, path: of }) => [client, name, of]),
        [['A', operation, path]],
      )
      const isStored = await blobs.getBlobClient(at).exists()
      assert.equal(isStored, reads || at === 'committed' || at === 'answered')
      if (at === 'answered') await running
      await barrier.release()
      await running
      assert.deepEqual(barrier.state().held, [])
      assert.equal(barrier.state().releasedCount, 1)
      barrier.remove()
      assert.equal(await blobs.getBlobClient(at).exists(), true)
    })
  }

  test('holds up no request that it does not race with, not even for the same blob', async () => {
    const barrier = server.barriers.hold({ at: 'checked', match: { client: 'A' } })
    const running = upload('shared', 'A')
    await barrier.held()
    await upload('shared', 'B')
    await barrier.release('A')
    await running
    barrier.remove()
  })

  test('goes on when its client gives up', async () => {
    const barrier = server.barriers.hold({
      at: 'authorized',
      match: { operation: 'Put Blob', path: '/held/left' },
    })
    const abort = new AbortController()
    const { signal: abortSignal } = abort
    const running = blobs.getBlockBlobClient('left').upload('x', 1, { abortSignal })
    await barrier.held()
    abort.abort()
    await assert.rejects(running, { name: 'AbortError' })
    while (!(await blobs.getBlobClient('left').exists())) continue
    assert.equal(barrier.state().releasedCount, 1)
    barrier.remove()
  })

  test('goes on after the time limit', async () => {
    const match = { path: '/held/limit' }
    const barrier = server.barriers.hold({ at: 'checked', match, timeLimit: 'PT0.01S' })
    await upload('limit')
    assert.equal(barrier.state().releasedCount, 1)
    barrier.remove()
  })

  test('goes on when the barrier is removed', async () => {
    const barrier = server.barriers.hold({ at: 'checked', match: { path: '/held/removed*' } })
    const running = [upload('removed1'), upload('removed2')]
    await barrier.held(2)
    assert.equal(server.barriers.remove(barrier.id), true)
    await Promise.all(running)
    assert.equal(server.barriers.remove(barrier.id), false)
    assert.deepEqual(server.barriers.list(), [])
  })

  test('is one of `count`; later ones pass', async () => {
    const match = { path: '/held/count*' }
    const barrier = server.barriers.hold({ at: 'received', match, count: 1 })
    const first = upload('count1')
    await barrier.held()
    await upload('count2')
    assert.equal(barrier.state().held.length, 1)
    barrier.remove()
    await first
  })

  test('does not keep a server from closing', async () => {
    const other = await startTestServer()
    const barrier = other.barriers.hold({ at: 'received' })
    const running = rawRequest(other, { method: 'PUT', path: '/box?restype=container' })
    await barrier.held()
    const waiting = assert.rejects(barrier.held(2), /the barrier was removed, and 1 of 2 requests/)
    await other.close()
    assert.equal((await running).status, 201)
    await waiting
  })

  test('stays held when a release names a client that is not', async () => {
    const barrier = server.barriers.hold({ at: 'checked', match: { path: '/held/named' } })
    const running = upload('named')
    await barrier.held()
    await assert.rejects(barrier.release('A', 'C'), {
      field: 'clients',
      message: 'clients names "C", which has no request here; held: "A"',
    })
    assert.equal(barrier.state().held.length, 1)
    await barrier.release('A')
    await running
    barrier.remove()
  })
})
