// Forks of a running server: each begins with the same state, and nobody sees what another one changes.
import assert from 'node:assert/strict'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { TableClient } from '@azure/data-tables'
import { BlobServiceClient } from '@azure/storage-blob'
import { ShareServiceClient } from '@azure/storage-file-share'
import { QueueServiceClient } from '@azure/storage-queue'
import { forkStore } from '../../src/control/fork.ts'
import { checkStore } from '../../src/extent/sweep/fsck.ts'
import { SKIP_REASON, testServer } from '../../src/postgres/harness.ts'
import { startServer, type LazuliServer, type ServerOptions } from '../../src/server.ts'
import { checkLocation } from '../../src/start/store/fsck.ts'
import { openStore } from '../../src/start/store/store.ts'
import { getState } from '../../src/storage/saved/saved-state.ts'
import { assertBytes } from '../assert-bytes.ts'
import { ACCOUNT, rawRequest } from '../harness.ts'
import { SmbClient } from '../smb/smb-client.ts'
import { contentsOf, fillStore } from '../store-contents.ts'

const NO_RETRIES = { retryOptions: { maxTries: 1 } }

async function start(t: TestContext, options: ServerOptions = {}): Promise<LazuliServer> {
  const server = await startServer(options)
  t.after(() => server.close())
  return server
}

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lazuli-fork-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

function clientsOf({ connectionString }: LazuliServer) {
  const http = { allowInsecureConnection: true }
  const blobs = BlobServiceClient.fromConnectionString(connectionString, NO_RETRIES)
  const shares = ShareServiceClient.fromConnectionString(connectionString)
  const queues = QueueServiceClient.fromConnectionString(connectionString)
  return {
    box: blobs.getContainerClient('box'),
    directory: shares.getShareClient('files').getDirectoryClient('dir'),
    people: TableClient.fromConnectionString(connectionString, 'People', http),
    share: shares.getShareClient('files'),
    work: queues.getQueueClient('work'),
  }
}

const MIB = 1_048_576
const LARGE = Buffer.alloc(5 * MIB, 'large body')

async function textsOf(server: LazuliServer): Promise<readonly unknown[]> {
  const { box, directory, people, work } = clientsOf(server)
  const { peekedMessageItems } = await work.peekMessages({ numberOfMessages: 32 })
  return [
    String(await box.getBlobClient('small.txt').downloadToBuffer()),
    String(await directory.getFileClient('note.txt').downloadToBuffer()),
    (await people.getEntity('p1', '1')).age,
    peekedMessageItems.map(({ messageText }) => messageText),
  ]
}

/** Changes the same blob, pages, file, entity and queue on every server. */
async function change(server: LazuliServer, text: string): Promise<void> {
  const { box, directory, people, share, work } = clientsOf(server)
  await box.getBlockBlobClient('small.txt').upload(text, text.length)
  await box.getPageBlobClient('page.vhd').uploadPages(Buffer.alloc(512, text), 512, 512)
  await box.getAppendBlobClient('log.txt').appendBlock(text, text.length)
  await box.getBlobClient('blocks.bin').delete()
  await directory.getFileClient('note.txt').uploadRange(text, 0, text.length)
  await share.rootDirectoryClient.getFileClient('large.bin').uploadRange(text, MIB, text.length)
  await people.updateEntity({ partitionKey: 'p1', rowKey: '1', age: text }, 'Replace')
  await work.clearMessages()
  await work.sendMessage(text)
}

function textsAfter(text: string): readonly unknown[] {
  return [text, text, text, [text]]
}

for (const kind of ['memory', 'a folder']) {
  test(`forks of a server in ${kind} change the same things without seeing each other`, async (t) => {
    const location = kind === 'memory' ? undefined : await newFolder(t)
    const prepared = await start(t, location === undefined ? {} : { location })
    await fillStore(prepared)
    const { box } = clientsOf(prepared)
    await box.getBlockBlobClient('large').upload(LARGE, LARGE.length)
    await prepared.snapshots.save('filled')
    const before = await contentsOf(prepared)
    const fork = () => prepared.snapshots.fork('filled')
    const changing = change(prepared, 'third')
    const [a, b] = await Promise.all([fork(), fork(), changing, prepared.sweep()])
    for (const forked of [a, b]) assert.deepEqual(await contentsOf(forked), before)

    await change(a, 'first')
    await change(b, 'other')
    assert.deepEqual(await textsOf(prepared), textsAfter('third'))
    await prepared.snapshots.delete('filled')
    await prepared.reset()
    for (let count = 0; count < 3; count += 1) {
      for (const server of [prepared, a, b]) await server.sweep()
    }
    assert.deepEqual(await contentsOf(prepared), [])
    for (const [forked, text] of [
      [a, 'first'],
      [b, 'other'],
    ] as const) {
      assert.deepEqual(await textsOf(forked), textsAfter(text))
      const own = clientsOf(forked)
      assertBytes(await own.box.getBlobClient('large').downloadToBuffer(), LARGE)
      const page = await own.box.getPageBlobClient('page.vhd').downloadToBuffer(512, 512)
      assertBytes(page, Buffer.alloc(512, text))
      const log = String(await own.box.getBlobClient('log.txt').downloadToBuffer())
      assert.equal(log, `one\ntwo\n${'x'.repeat(20_000)}${text}`)
      const file = own.share.rootDirectoryClient.getFileClient('large.bin')
      const expected = Buffer.alloc(5_000_000, 'large').fill(0, 100_000, 150_000)
      expected.fill('more', 7, 20_007).write(text, MIB)
      assertBytes(await file.downloadToBuffer(), expected)
    }
    await Promise.all([a.close(), b.close()])
    if (location === undefined) return
    await prepared.sweep()
    await prepared.sweep()
    await prepared.close()
    const { exitCode, lines } = await checkLocation(location, process.pid)
    assert.equal(exitCode, 0, lines.join('\n'))
    assert.match(lines[0] ?? '', / 0 bytes of content checked$/)
  })
}

test('fsck finds no problem in a fork of everything, which has no bytes of its own', async (t) => {
  const location = await newFolder(t)
  const prepared = await startServer({ location })
  await fillStore(prepared)
  await prepared.snapshots.save('filled')
  await prepared.close()
  const store = await openStore({ folder: location, pid: process.pid }, Date.now)
  t.after(() => store.close())
  const state = await store.kv.read((tx) => getState(tx, 'filled'))
  assert(state !== undefined)
  const forked = await openStore({ forked: await forkStore(store, state) }, Date.now)
  t.after(() => forked.close())
  for (let count = 0; count < 3; count += 1) {
    const { problems, checkedBytes, contentCount } = await checkStore(forked.kv, forked.extents)
    assert.deepEqual(problems, [])
    assert(checkedBytes > 5 * MIB && contentCount > 20)
    assert.equal(forked.extents.sizeBytes(), 0)
    await forked.sweep({ graceMs: 0 })
  }
})

test('a fork has snapshots of its own, and can be forked again', async (t) => {
  const prepared = await start(t)
  await fillStore(prepared)
  await prepared.snapshots.save('filled')
  const child = await prepared.snapshots.fork('filled')
  assert.deepEqual(await child.snapshots.list(), [])
  await assert.rejects(
    child.snapshots.fork('filled'),
    /there is no snapshot "filled"; there is none/,
  )
  await change(child, 'child')
  await child.snapshots.save('changed')
  const changed = await contentsOf(child)
  const grandchild = await child.snapshots.fork('changed')
  await child.reset()
  await child.sweep()
  assert.deepEqual(await contentsOf(grandchild), changed)
  await child.snapshots.restore('changed')
  assert.deepEqual(await contentsOf(child), changed)
})

test('an ETag of a fork is never one of the state', async (t) => {
  const prepared = await start(t, { clock: 'held' })
  const { box } = clientsOf(prepared)
  await box.create()
  const etags = new Set<string | undefined>()
  for (const name of ['a', 'b', 'c', 'd']) {
    etags.add((await box.getBlockBlobClient(name).upload(name, 1)).etag)
  }
  await prepared.snapshots.save('state')
  const forked = await prepared.snapshots.fork('state')
  const own = clientsOf(forked).box
  for (const name of ['a', 'b', 'c', 'd']) {
    const { etag } = await own.getBlockBlobClient(name).upload('x', 1)
    assert(!etags.has(etag))
    assert(etag !== undefined)
  }
})

test('a fork begins with the time of its server, and goes on by itself', async (t) => {
  const prepared = await start(t, { clock: 'held' })
  const { box } = clientsOf(prepared)
  await box.create()
  const blob = box.getBlockBlobClient('doc')
  await blob.upload('x', 1)
  await prepared.clock.set('2031-05-01T00:00:00Z')
  await blob.getBlobLeaseClient().acquireLease(60)
  await prepared.snapshots.save('leased')
  await prepared.clock.advance('PT10S')
  const forked = await prepared.snapshots.fork('leased')
  assert.equal(forked.clock.state().now, '2031-05-01T00:00:10.000Z')
  assert(forked.clock.state().isHeld)
  await forked.clock.advance('PT50S')
  assert.equal(forked.clock.state().now, '2031-05-01T00:01:00.000Z')
  assert.equal(prepared.clock.state().now, '2031-05-01T00:00:10.000Z')
  assert.deepEqual(await forked.held.leases(), [])
  assert.equal((await prepared.held.leases()).length, 1)
})

test('a fork has the options of its server, ports of its own, and an empty journal', async (t) => {
  const folder = await newFolder(t)
  const file = join(folder, 'journal')
  const key = Buffer.from('a key for tests').toString('base64')
  const prepared = await start(t, {
    accounts: { [ACCOUNT]: key, other: key },
    adminPort: 0,
    encryptionScopes: ['scope'],
    journal: { countMax: 3, file },
    seed: { blobs: { box: { doc: 'seeded' } } },
    smbUsers: [{ user: 'alice', account: ACCOUNT, password: 'secret' }],
  })
  const { box, share } = clientsOf(prepared)
  await box.getBlockBlobClient('secret').upload('hidden', 6, { encryptionScope: 'scope' })
  await share.create()
  await prepared.snapshots.save('state')
  const forked = await prepared.snapshots.fork('state')
  assert.deepEqual(forked.journal.list(), [])
  assert(forked.adminUrl !== undefined && forked.adminUrl !== prepared.adminUrl)
  const size = (await stat(file)).size
  const own = clientsOf(forked)
  assert.equal(String(await own.box.getBlobClient('secret').downloadToBuffer()), 'hidden')
  for (const text of ['1', '2', '3', '4']) await own.box.getBlockBlobClient('doc').upload(text, 1)
  assert.equal(forked.journal.list().length, 3)
  assert.equal((await stat(file)).size, size)
  const login = { user: 'alice', password: 'secret' }
  const client = await SmbClient.connect({ port: forked.smbPort, share: 'files', login })
  client.end()
})

test('a server closes its forks before itself', async (t) => {
  const prepared = await start(t)
  await clientsOf(prepared).box.create()
  await prepared.snapshots.save('state')
  const forked = await prepared.snapshots.fork('state')
  const closed = await prepared.snapshots.fork('state')
  await closed.close()
  const starting = prepared.snapshots.fork('state')
  await prepared.close()
  for (const { blobPort } of [forked, closed, await starting]) {
    const asked = rawRequest({ blobPort }, { method: 'GET', path: '/box?restype=container' })
    await assert.rejects(asked, { code: 'ECONNREFUSED' })
  }
  await assert.rejects(prepared.snapshots.fork('state'), { message: 'the server is closed' })
})

test('a wrong name is refused and says what there is', async (t) => {
  const server = await start(t)
  await assert.rejects(server.snapshots.fork('x'), /there is no snapshot "x"; there is none/)
  await server.snapshots.save('a')
  await assert.rejects(server.snapshots.fork('x'), /there is no snapshot "x"; there is a$/)
  await assert.rejects(server.snapshots.fork('../x'), /the name of a snapshot has 1 to 63/)
})

test('a server with `store` is not forked', { skip: SKIP_REASON }, async (t) => {
  const database = await testServer()
  const server = await start(t, { store: database.tcpUrl(await database.newDatabase()) })
  await assert.rejects(server.snapshots.fork('a'), {
    name: 'ControlError',
    message:
      'Snapshots need the whole store for themselves, so they are not available with --store, where other nodes use it, too.',
  })
})
