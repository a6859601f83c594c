// A shop whose programs race, for looking at every page of the console with something on it: leases, invisible messages, files
// open over SMB, conflicts, races, a pending copy, requests that a barrier holds.
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { text } from 'node:stream/consumers'
import { ACCOUNT } from '../harness.ts'
import {
  namedBlobs,
  namedQueues,
  namedShares,
  namedTable,
  outcomeOf,
} from '../control/named-clients.ts'
import { ACCESS, LEASE, SHARE } from '../smb/client-message.ts'
import { LOCK } from '../smb/client-message-info.ts'
import { randomFrom } from '../random.ts'
import { SmbClient } from '../smb/smb-client.ts'
import { startSourceServer, type SourceServer } from '../source-server.ts'
import { startServer, type LazuliServer, type ServerOptions } from '../../src/server.ts'

export type Scene = {
  readonly server: LazuliServer
  /** Requests as a shop has them, for so long. */
  makeTraffic(forMs: number): Promise<void>
  /** Ends what goes on. */
  close(): Promise<void>
}

const STOCK = `/${ACCOUNT}/shop/stock.json`
export const SCENE_RESOURCE = STOCK

/** Starts a server on which all of it has happened. */
export async function startScene(options: ServerOptions = {}): Promise<Scene> {
  const source = await startSourceServer()
  const server = await startServer({ adminPort: 0, allowCopyFrom: [source.origin], ...options })
  await storeThings(server)
  await loseAnUpdate(server)
  await conflict(server)
  const endHolding = await hold(server, source)
  const endWaiting = await wait(server)
  return {
    server,
    makeTraffic: (forMs) => makeTraffic(server, forMs),
    close: async () => {
      await endWaiting()
      endHolding()
      await server.close()
      await source.close()
    },
  }
}

const PRICES =
  'article,price,currency\nLantern,24.90,EUR\n"Tent, two persons",189.00,EUR\nCamp stove,49.50,EUR\n'

async function storeThings(server: LazuliServer): Promise<void> {
  const blobs = namedBlobs(server, 'set-up')
  const { containerClient: shop } = await blobs.createContainer('shop')
  for (const name of ['invoices', 'photos', 'backups']) await blobs.createContainer(name)
  const put = (name: string, content: string, type: string): Promise<unknown> =>
    shop.getBlockBlobClient(name).upload(content, Buffer.byteLength(content), {
      blobHTTPHeaders: { blobContentType: type },
      metadata: { owner: 'checkout', season: 'summer' },
      tags: { stage: 'live' },
    })
  await put('prices.csv', PRICES, 'text/csv')
  await put('stock.json', '{"lantern":12,"tent":4}', 'application/json')
  for (const month of ['05', '06', '07'])
    await put(`2026/${month}/orders.json`, '[]', 'application/json')
  for (const name of ['welcome.html', 'terms.md', 'logo.svg'])
    await put(name, `<h1>${name}</h1>`, 'text/plain')
  const queue = namedQueues(server, 'checkout').getQueueClient('orders')
  await queue.create()
  for (let order = 1001; order <= 1007; order += 1)
    await queue.sendMessage(JSON.stringify({ order, article: 'lantern', count: (order % 3) + 1 }))
  const customers = namedTable(server, 'set-up', 'customers')
  await customers.createTable()
  for (const [at, name] of ['Ada', 'Grace', 'Edsger', 'Barbara', 'Leslie'].entries())
    await customers.createEntity({
      partitionKey: at % 2 === 0 ? 'north' : 'south', rowKey: String(100 + at), name, orders: at * 7, vip: at === 1,
      since: new Date(Date.UTC(2024, at, 12)),
    }) // prettier-ignore
  const { shareClient: reports } = await namedShares(server, 'set-up').createShare('reports')
  for (const name of ['budget.xlsx', 'minutes.txt', 'notes.txt']) {
    const file = reports.rootDirectoryClient.getFileClient(name)
    await file.create(16)
    await file.uploadRange('quarterly numbers'.slice(0, 16), 0, 16)
  }
  await reports.rootDirectoryClient.getDirectoryClient('2026').create()
}

/** The classic: both read, both write, and what the first one wrote is gone. */
async function loseAnUpdate(server: LazuliServer): Promise<void> {
  const stock = stockOf(server)
  for (const client of ['checkout', 'warehouse']) {
    const { readableStreamBody: body } = await stock(client).download()
    assert(body !== undefined)
    await text(body)
  }
  await stock('warehouse').upload('{"lantern":62,"tent":4}', 23)
  await stock('checkout').upload('{"lantern":11,"tent":4}', 23)
}

function stockOf(server: LazuliServer) {
  return (client: string) =>
    namedBlobs(server, client).getContainerClient('shop').getBlockBlobClient('stock.json')
}

/** The same with conditions: one of them is refused, and tries again. */
async function conflict(server: LazuliServer): Promise<void> {
  const stock = stockOf(server)
  const [one, other] = [stock('checkout'), stock('warehouse')]
  const { etag: ifMatch = '' } = await one.getProperties()
  await other.getProperties()
  await other.upload('{"lantern":61,"tent":4}', 23, { conditions: { ifMatch } })
  await outcomeOf(one.upload('{"lantern":10,"tent":4}', 23, { conditions: { ifMatch } }))
  const again = await one.getProperties()
  await one.upload('{"lantern":60,"tent":4}', 23, { conditions: { ifMatch: again.etag ?? '' } })
}

async function hold(server: LazuliServer, source: SourceServer): Promise<() => void> {
  const shop = (client: string) => namedBlobs(server, client).getContainerClient('shop')
  await shop('nightly import')
    .getBlobClient('prices.csv')
    .getBlobLeaseClient('6ffa8d2c-6b1a-4b52-9f0c-6d5a3c3c9d11')
    .acquireLease(60)
  await shop('leader election')
    .getBlobLeaseClient('a1a6f3d0-3e5c-4a8e-8a4c-1f5b9a0d2e77')
    .acquireLease(-1)
  await outcomeOf(shop('checkout').getBlockBlobClient('prices.csv').upload('x', 1))
  await outcomeOf(
    shop('price bot')
      .getBlobClient('prices.csv')
      .getBlobLeaseClient('0c7b1b1e-98cf-4a3b-b0f3-fd6f0b8a1c55')
      .acquireLease(15),
  )
  const orders = (client: string) => namedQueues(server, client).getQueueClient('orders')
  await orders('mailer 1').receiveMessages({ numberOfMessages: 2, visibilityTimeout: 90 })
  await orders('mailer 2').receiveMessages({ numberOfMessages: 1, visibilityTimeout: 45 })
  const smb = await SmbClient.connect({ port: server.smbPort, share: 'reports' })
  const budget = await smb.open('budget.xlsx', {
    access: ACCESS.read | ACCESS.write, share: SHARE.R, lease: { key: Buffer.alloc(16, 7), state: LEASE.RWH },
  }) // prettier-ignore
  await budget.lock(4, 8, LOCK.exclusive)
  await smb.open('minutes.txt', { access: ACCESS.read, share: SHARE.none })
  await shop('uploader')
    .getBlockBlobClient('video.mp4')
    .stageBlock('MDAwMQ==', 'x'.repeat(4_096), 4_096)
  source.answer('/catalogue.zip', (res) => {
    res.writeHead(200, { 'content-length': 40_000, 'content-type': 'application/zip' })
    res.write('z'.repeat(26_000))
  })
  await shop('mirror')
    .getBlockBlobClient('catalogue.zip')
    .beginCopyFromURL(`${source.origin}/catalogue.zip`)
  return () => smb.end()
}

/** Two clients wait at a barrier. */
async function wait(server: LazuliServer): Promise<() => Promise<void>> {
  const barrier = server.barriers.hold({
    at: 'checked',
    match: { operation: 'Put Blob', path: '/shop/stock.json' },
    timeLimit: 600_000,
  })
  const sending = ['checkout', 'warehouse'].map((client) =>
    outcomeOf(stockOf(server)(client).upload('{}', 2)),
  )
  await barrier.held(2)
  server.faults.add({
    match: { operation: 'Get Messages' },
    effect: { status: 503 },
    probability: 0.1,
    seed: 7,
  })
  server.faults.add({ match: { client: 'mirror' }, effect: { delay: 300 }, times: 5 })
  await server.snapshots.save('before-the-sale')
  return async () => {
    barrier.remove()
    await Promise.all(sending)
  }
}

const PAUSE_MS_MAX = 40

async function makeTraffic(server: LazuliServer, forMs: number): Promise<void> {
  const random = randomFrom(7)
  const counterOf = (client: string) =>
    namedBlobs(server, client).getContainerClient('shop').getBlockBlobClient('counter')
  const [one, other] = [counterOf('web 1'), counterOf('web 2')]
  const untilMs = performance.now() + forMs
  let { etag: ifMatch = '' } = await one.upload('1', 1)
  while (performance.now() < untilMs) {
    const leftShare = (untilMs - performance.now()) / forMs
    ifMatch = (await one.upload('1', 1, { conditions: { ifMatch } })).etag ?? ''
    await other.getProperties()
    if (random.below(16) === 0)
      await outcomeOf(other.upload('2', 1, { conditions: { ifMatch: '"0x0"' } }))
    await setTimeout(random.below(PAUSE_MS_MAX) * (0.3 + leftShare))
  }
}
