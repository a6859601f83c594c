// Every effect of a fault, as the official clients see it.
import assert from 'node:assert/strict'
import { get } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import type { Fault, FaultRule } from '../../src/control/api.ts'
import { assertBytes } from '../assert-bytes.ts'
import { ACCOUNT, ACCOUNT_KEY, rawRequest, startTestServer } from '../harness.ts'
import { startSecureServer } from '../blob/secure-server.ts'
import { namedBlobs, namedQueues, namedShares, namedTable, outcomeOf } from './named-clients.ts'

const server = await startTestServer()
after(() => server.close())

const box = namedBlobs(server, 'A').getContainerClient('box')
before(() => box.create())

const put = (name: string, body = 'new') => box.getBlockBlobClient(name).upload(body, body.length)
const read = async (name: string) => String(await box.getBlobClient(name).downloadToBuffer())

/** Runs with a fault that is removed at the end. */
async function withFault<T>(rule: FaultRule, run: (fault: Fault) => Promise<T>): Promise<T> {
  const fault = server.faults.add(rule)
  try {
    return await run(fault)
  } finally {
    fault.remove()
  }
}

describe('an error instead of an answer', () => {
  const BUSY = { effect: { status: 503 } } as const
  const table = namedTable(server, 'A', 'people')
  const clients = {
    'Put Blob': () => put('busy'),
    'Put Message': () => namedQueues(server, 'A').getQueueClient('jobs').sendMessage('x'),
    'Insert Entity': () => table.createEntity({ partitionKey: 'p', rowKey: 'r' }),
    'Create Share': () => namedShares(server, 'A').createShare('files'),
  }
  for (const [operation, run] of Object.entries(clients)) {
    test(`${operation} gets 503 ServerBusy`, () =>
      withFault({ ...BUSY, match: { operation } }, async (fault) => {
        assert.equal(await outcomeOf(run()), 'ServerBusy')
        const { matchedCount, struckCount } = fault.state()
        assert.deepEqual([matchedCount, struckCount], [1, 1])
      }))
  }

  const STATUSES = [
    [{ status: 408 }, 'OperationTimedOut', undefined],
    [{ status: 429 }, 'TooManyRequests', '1'],
    [{ status: 500 }, 'InternalError', undefined],
    [{ status: 503, retryAfterSeconds: 7 }, 'ServerBusy', '7'],
    [{ status: 500, code: 'OperationTimedOut' }, 'OperationTimedOut', undefined],
    [{ status: 409, code: 'ContainerBeingDeleted' }, 'ContainerBeingDeleted', undefined],
  ] as const
  for (const [effect, code, retryAfter] of STATUSES) {
    test(`${JSON.stringify(effect)} is encoded as the service encodes errors`, () =>
      withFault({ effect }, async () => {
        const answer = await rawRequest(server, { method: 'GET', path: '/box/any' })
        assert.equal(answer.status, effect.status)
        assert.equal(answer.headers['x-ms-error-code'], code)
        assert.equal(answer.headers['retry-after'], retryAfter)
        assert.match(
          String(answer.body),
          new RegExp(`<Error><Code>${code}</Code><Message>.+\nRequestId`),
        )
      }))
  }

  test('is what a client with retries survives', () =>
    withFault({ ...BUSY, match: { path: '/box/retried' }, times: 2 }, async (fault) => {
      const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
      const retryOptions = { maxTries: 3, retryDelayInMs: 1, maxRetryDelayInMs: 1 }
      const client = new BlobServiceClient(server.blobEndpoint, credential, { retryOptions })
      await client.getContainerClient('box').getBlockBlobClient('retried').upload('x', 1)
      assert.deepEqual([fault.state().matchedCount, fault.state().struckCount], [3, 2])
    }))

  test('comes after authentication: a wrong signature is still found', () =>
    withFault(BUSY, async (fault) => {
      const wrong = new StorageSharedKeyCredential(ACCOUNT, Buffer.alloc(64).toString('base64'))
      const client = new BlobServiceClient(server.blobEndpoint, wrong)
      assert.equal(await outcomeOf(client.getProperties()), 'AuthenticationFailed')
      const unsigned = { method: 'GET', path: '/box/any', sign: 'none' } as const
      assert.equal((await rawRequest(server, unsigned)).status, 401)
      assert.equal(fault.state().matchedCount, 0)
    }))
})

describe('a lost connection', () => {
  const isLost = (error: unknown) => (error as { readonly code?: string }).code === 'ECONNRESET'

  test('before the commit: nothing is stored', () =>
    withFault({ match: { operation: 'Put Blob' }, effect: { reset: 'before' } }, async () => {
      await assert.rejects(put('before'), isLost)
      const entry = server.journal.list({ resource: `/${ACCOUNT}/box/before` }).at(-1)
      assert.deepEqual([entry?.status, entry?.errorCode], [0, 'ConnectionReset'])
      assert.equal(await box.getBlobClient('before').exists(), false)
    }))

  test('after the commit: the write is stored, and its answer lost', () =>
    withFault({ match: { operation: 'Put Blob' }, effect: { reset: 'after' } }, async () => {
      await assert.rejects(put('after'), isLost)
      assert.equal(await read('after'), 'new')
    }))

  test('after the commit, for the other services', async () => {
    const rule = { effect: { reset: 'after' }, times: 1 } as const
    const queue = namedQueues(server, 'A').getQueueClient('lost')
    await withFault(rule, () => assert.rejects(queue.create(), isLost))
    assert.equal(await queue.exists(), true)
    const table = namedTable(server, 'A', 'lost')
    await withFault(rule, () => assert.rejects(table.createTable(), isLost))
    await table.createEntity({ partitionKey: 'p', rowKey: 'r' })
    const share = namedShares(server, 'A').getShareClient('lost')
    await withFault(rule, () => assert.rejects(share.create(), isLost))
    assert.equal(await share.exists(), true)
  })
})

describe('a damaged answer', () => {
  const LARGE = Buffer.alloc(3_000_000, 'ab')
  before(async () => {
    await put('small', '0123456789')
    await box.getBlockBlobClient('large').uploadData(LARGE)
  })

  /** What arrives, and whether it is all that was announced. */
  async function received(url: string) {
    return new Promise<{ readonly bytes: Buffer; readonly isWhole: boolean }>((resolve, reject) => {
      get(url, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', () => undefined)
        answer.on('close', () =>
          resolve({ bytes: Buffer.concat(chunks), isWhole: answer.complete }),
        )
      }).on('error', reject)
    })
  }

  const CUTS = [
    ['small', 4, 4],
    ['small', 0, 0],
    ['small', 9, 9],
    ['small', 10, 10],
    ['small', 11, 10],
    ['large', 2_000_000, 2_000_000],
    ['large', 3_000_000, 3_000_000],
  ] as const
  for (const [name, truncate, expected] of CUTS) {
    test(`${name}, cut off after ${truncate} bytes`, async () => {
      await box.setAccessPolicy('blob')
      await withFault({ match: { operation: 'Get Blob' }, effect: { truncate } }, async () => {
        const { bytes, isWhole } = await received(box.getBlobClient(name).url)
        assert.equal(bytes.length, expected)
        assert.equal(isWhole, name === 'small' ? truncate >= 10 : truncate >= 3_000_000)
      })
    })
  }

  test('a cut off list fails in the client', () =>
    withFault({ match: { operation: 'List Blobs' }, effect: { truncate: 20 } }, async () => {
      await assert.rejects(box.listBlobsFlat().next())
    }))

  test('a slow one is whole in the end, and so is a slow upload', () =>
    withFault({ effect: { bytesPerSecond: 100_000_000 } }, async (fault) => {
      assertBytes(await box.getBlobClient('large').downloadToBuffer(), LARGE)
      await box.getBlockBlobClient('copy').upload(LARGE, LARGE.length)
      assertBytes(await box.getBlobClient('copy').downloadToBuffer(), LARGE)
      assert.equal(await read('small'), '0123456789')
      assert(fault.state().struckCount >= 4)
    }))

  test('a very slow one goes on when the fault is removed', async () => {
    const match = { operation: 'Get Blob' }
    const fault = server.faults.add({ match, effect: { bytesPerSecond: 1 } })
    const reached = server.barriers.hold({ at: 'read', match })
    const reading = read('small')
    await reached.held()
    reached.remove()
    fault.remove()
    assert.equal(await reading, '0123456789')
  })
})

test('over HTTPS, connections are lost and answers cut off as well', async () => {
  const secure = await startSecureServer()
  after(() => secure.close())
  const { faults, barriers } = secure.control
  const container = secure.client.getContainerClient('box')
  await container.create()
  const blob = container.getBlockBlobClient('doc')

  const reset = faults.add({ effect: { reset: 'after' } })
  await assert.rejects(blob.upload('0123456789', 10), { code: 'ECONNRESET' })
  reset.remove()
  assert.equal(await blob.exists(), true)

  const cut = faults.add({ effect: { truncate: 4 } })
  const { readableStreamBody } = await blob.download(0, undefined, { maxRetryRequests: 0 })
  const received: Uint8Array[] = []
  await assert.rejects(async () => {
    for await (const chunk of readableStreamBody ?? []) received.push(chunk as Uint8Array)
  })
  assert.equal(String(Buffer.concat(received)), '0123')
  cut.remove()

  const barrier = barriers.hold({ at: 'authorized' })
  const abort = new AbortController()
  const leaving = blob.upload('new', 3, { abortSignal: abort.signal })
  await barrier.held()
  abort.abort()
  await assert.rejects(leaving, { name: 'AbortError' })
  while (barrier.state().held.length > 0) await immediate()
  barrier.remove()
})

describe('a delay', () => {
  test('ends when the fault is removed, and the request succeeds', async () => {
    const match = { operation: 'Put Blob', path: '/box/delayed' }
    const fault = server.faults.add({ match, effect: { delay: 'PT1H' } })
    const running = put('delayed')
    while (fault.state().struckCount === 0) await put('other')
    assert.equal(await box.getBlobClient('delayed').exists(), false)
    fault.remove()
    await running
    assert.equal(await read('delayed'), 'new')
  })

  test('may be drawn from a range', () =>
    withFault({ effect: { delay: { from: 0, to: 'PT0.005S' } } }, async (fault) => {
      await Promise.all([put('d1'), put('d2'), put('d3')])
      assert.equal(fault.state().struckCount, 3)
    }))
})

describe('a throttle', () => {
  test('lets so many requests pass in a second of the server’s clock', () =>
    withFault({ match: { client: 'A' }, effect: { requestsPerSecond: 2 } }, async (fault) => {
      const outcomes = async () => {
        const found: string[] = []
        for (let count = 0; count < 3; count += 1) found.push(await outcomeOf(put('t')))
        return found
      }
      assert.deepEqual(await outcomes(), ['ok', 'ok', 'ServerBusy'])
      server.advance(999)
      assert.equal(await outcomeOf(put('t')), 'ServerBusy')
      server.advance(1)
      assert.deepEqual(await outcomes(), ['ok', 'ok', 'ServerBusy'])
      assert.deepEqual([fault.state().matchedCount, fault.state().struckCount], [7, 3])
    }))
})

for (const disk of ['full', 'sync failure'] as const) {
  describe(`a disk with ${disk}`, () => {
    test('fails writes of any length and changes nothing', async () => {
      await put('kept', 'old')
      const large = Buffer.alloc(100_000)
      await withFault({ effect: { disk } }, async (fault) => {
        assert.equal(await outcomeOf(put('kept')), 'InternalError')
        const long = box.getBlockBlobClient('kept').upload(large, large.length)
        assert.equal(await outcomeOf(long), 'InternalError')
        assert.equal(await outcomeOf(box.getBlobClient('kept').delete()), 'InternalError')
        assert.equal(await read('kept'), 'old')
        assert.deepEqual([fault.state().matchedCount, fault.state().struckCount], [3, 3])
      })
      assert.equal(await read('kept'), 'old')
      await put('kept')
    })

    test('does not change which error a refused write gets', () =>
      withFault({ effect: { disk } }, async (fault) => {
        const conditions = { ifMatch: '"0x1"' }
        const refused = box.getBlockBlobClient('kept').upload('x', 1, { conditions })
        assert.equal(await outcomeOf(refused), 'ConditionNotMet')
        assert.equal(fault.state().matchedCount, 0)
      }))

    test('is no obstacle to a get that finds no message', async () => {
      const queue = namedQueues(server, 'A').getQueueClient(`empty-${disk.slice(0, 4)}`)
      await queue.create()
      await withFault({ effect: { disk } }, async () => {
        assert.equal((await queue.receiveMessages()).receivedMessageItems.length, 0)
        assert.equal(await outcomeOf(queue.sendMessage('x')), 'InternalError')
      })
      assert.equal((await queue.receiveMessages()).receivedMessageItems.length, 0)
    })
  })
}

describe('which requests are struck', () => {
  const outcomes = async (rule: Omit<FaultRule, 'effect'>) =>
    withFault({ ...rule, effect: { status: 500 } }, async () => {
      const found: boolean[] = []
      for (let count = 0; count < 20; count += 1) {
        found.push((await outcomeOf(put('seeded'))) === 'InternalError')
      }
      return found
    })

  test('the same seed gives the same faults, another seed others', async () => {
    const first = await outcomes({ probability: 0.5, seed: 7 })
    assert.deepEqual(await outcomes({ probability: 0.5, seed: 7 }), first)
    assert.notDeepEqual(await outcomes({ probability: 0.5, seed: 8 }), first)
    assert(first.includes(true) && first.includes(false))
  })

  test('only the third, or the first two', async () => {
    const third = await outcomes({ nth: 3 })
    assert.deepEqual([third.indexOf(true), third.lastIndexOf(true)], [2, 2])
    const two = await outcomes({ times: 2 })
    assert.deepEqual([two.indexOf(true), two.lastIndexOf(true)], [0, 1])
  })
})
