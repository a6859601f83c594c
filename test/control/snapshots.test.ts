// Snapshots of a running server: a restore brings everything back, bytes are shared and stay, nothing is damaged.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { BlobServiceClient } from '@azure/storage-blob'
import { ShareServiceClient } from '@azure/storage-file-share'
import { checkLocation } from '../../src/start/store/fsck.ts'
import { startServer, type LazuliServer, type ServerOptions } from '../../src/server.ts'
import { DIALECT } from '../../src/smb/session/dialect.ts'
import { COMMAND } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY, rawRequest } from '../harness.ts'
import { createBody, RawClient } from '../smb/raw-client.ts'
import { contentsOf, fillStore } from '../store-contents.ts'

const NO_RETRIES = { retryOptions: { maxTries: 1 } }

async function start(t: TestContext, options: ServerOptions = {}): Promise<LazuliServer> {
  const server = await startServer(options)
  t.after(() => server.close())
  return server
}

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lazuli-snapshots-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

function boxOf({ connectionString }: LazuliServer) {
  return BlobServiceClient.fromConnectionString(connectionString, NO_RETRIES).getContainerClient(
    'box',
  )
}

/** Changes much of what fillStore has made, and adds more. */
async function change(server: LazuliServer): Promise<void> {
  const box = boxOf(server)
  const names: string[] = []
  for await (const { name } of box.listBlobsFlat()) names.push(name)
  for (const [at, name] of names.entries()) {
    const blob = box.getBlobClient(name)
    if (at % 2 === 0) await blob.delete({ deleteSnapshots: 'include' }).catch(() => undefined)
    else await blob.createSnapshot().catch(() => undefined)
  }
  await box.getBlockBlobClient('new').upload('x'.repeat(100_000), 100_000)
  await box.getAppendBlobClient('log').createIfNotExists()
  await box.getAppendBlobClient('log').appendBlock('line', 4)
  const shares = ShareServiceClient.fromConnectionString(server.connectionString)
  for await (const { name } of shares.listShares()) {
    await shares.getShareClient(name).rootDirectoryClient.createFile('more', 5)
  }
}

test('a restore brings back everything, as often as one likes, and after sweeps', async (t) => {
  const server = await start(t)
  await fillStore(server)
  const before = await contentsOf(server)
  const saved = await server.snapshots.save('filled')
  assert.deepEqual(await server.snapshots.list(), [saved])
  assert(saved.recordCount > 20)
  for (const spoil of [() => change(server), () => server.reset(), () => change(server)]) {
    await spoil().catch(() => undefined)
    await server.sweep()
    assert.notDeepEqual(await contentsOf(server), before)
    await server.snapshots.restore('filled')
    assert.deepEqual(await contentsOf(server), before)
    await server.sweep()
    assert.deepEqual(await contentsOf(server), before)
  }
})

test('on disk, snapshots survive a restart and a delete leaves nothing; fsck finds no problem', async (t) => {
  const folder = await newFolder(t)
  const isFine = async () => {
    const { exitCode, lines } = await checkLocation(folder, process.pid)
    assert.equal(exitCode, 0, lines.join('\n'))
    return lines[0]
  }
  let server = await startServer({ location: folder })
  const restart = async () => {
    await server.close()
    await isFine()
    server = await startServer({ location: folder })
  }
  t.after(() => server.close())
  await fillStore(server)
  const before = await contentsOf(server)
  await server.snapshots.save('a')
  await restart()
  await change(server)
  const changed = await contentsOf(server)
  await server.snapshots.save('b')
  await server.sweep()
  await restart()
  await server.snapshots.restore('a')
  assert.deepEqual(await contentsOf(server), before)
  await server.sweep()
  await restart()
  await server.snapshots.restore('b')
  assert.deepEqual(await contentsOf(server), changed)
  await restart()
  assert.equal(await server.snapshots.delete('a'), true)
  assert.equal(await server.snapshots.delete('a'), false)
  await server.reset()
  await server.snapshots.delete('b')
  await server.sweep()
  await server.sweep()
  assert.deepEqual(await server.snapshots.list(), [])
  await server.close()
  // What is left: bookkeeping.
  assert.match((await isFine()) ?? '', /^\d{1,2} records, .* 0 bytes of content checked$/)
  server = await startServer({ location: folder })
})

test('an ETag is never used again for other content', async (t) => {
  const server = await start(t, { clock: 'held' })
  const box = boxOf(server)
  await box.create()
  const blob = box.getBlockBlobClient('doc')
  await blob.upload('one', 3)
  await server.snapshots.save('one')
  const etags = new Set<string | undefined>()
  for (const text of ['two', 'ten', 'six']) {
    etags.add((await blob.upload(text, 3)).etag)
    await server.snapshots.restore('one')
  }
  assert.equal(etags.size, 3)
})

test('writes during a save wait, and are not part of it', async (t) => {
  const server = await start(t)
  const box = boxOf(server)
  await box.create()
  const names = Array.from({ length: 300 }, (_, at) => `blob-${at}`)
  await Promise.all(names.map((name) => box.getBlockBlobClient(name).upload('old', 3)))
  const saving = server.snapshots.save('state')
  const writing = Promise.all(names.map((name) => box.getBlockBlobClient(name).upload('new', 3)))
  await Promise.all([saving, writing])
  await server.snapshots.restore('state')
  const texts = await Promise.all(
    names.map(async (name) => String(await box.getBlockBlobClient(name).downloadToBuffer())),
  )
  // Uploads that came before the save are in it; none is missing, and none is torn.
  assert(texts.every((text) => text === 'old' || text === 'new'))
  assert(texts.includes('old'))
})

test('requests during a restore get 503 ServerBusy, and never half of a state', async (t) => {
  const server = await start(t)
  const box = boxOf(server)
  await box.create()
  const names = Array.from({ length: 300 }, (_, at) => `blob-${at}`)
  await Promise.all(names.map((name) => box.getBlockBlobClient(name).upload('old', 3)))
  await server.snapshots.save('state')
  await Promise.all(names.map((name) => box.getBlockBlobClient(name).upload('new', 3)))
  const restore = { isOver: false }
  const restoring = server.snapshots.restore('state').finally(() => (restore.isOver = true))
  const answers: string[] = []
  do {
    const { status, headers, text } = await rawRequest(server, {
      method: 'GET',
      path: '/box/blob-0',
    })
    answers.push(
      status === 200 ? text : `${status} ${headers['x-ms-error-code']} ${headers['retry-after']}`,
    )
  } while (!restore.isOver)
  await restoring
  assert(answers.includes('503 ServerBusy 1'), answers.join(', '))
  // First the new one, then nothing, then the old one.
  assert.match(answers.join(','), /^(new,)*(503 ServerBusy 1,?)+(old,?)*$/)
})

test('SMB clients lose what they have open; what they had deleted is there again', async (t) => {
  const server = await start(t)
  await rawRequest({ blobPort: server.filePort }, { method: 'PUT', path: '/box?restype=share' })
  const client = await RawClient.open(server.smbPort)
  t.after(() => client.close())
  await client.negotiate([DIALECT.smb300])
  await client.setUpSession(ACCOUNT, ACCOUNT_KEY)
  await client.connectTree('box')
  const opened = await client.ask(COMMAND.CREATE, createBody('a'))
  assert.equal(opened?.status, 'SUCCESS')
  await server.snapshots.save('open')
  await server.snapshots.restore('open')
  const close = Buffer.alloc(24)
  close.writeUInt16LE(24, 0)
  opened.message.copy(close, 8, 128, 144)
  assert.equal((await client.ask(COMMAND.CLOSE, close))?.status, 'FILE_CLOSED')
  assert.equal((await client.ask(COMMAND.CREATE, createBody('a')))?.status, 'SUCCESS')
})

test('a snapshot of a name that exists replaces it', async (t) => {
  const server = await start(t)
  const box = boxOf(server)
  await box.create()
  await server.snapshots.save('same')
  await box.getBlockBlobClient('doc').upload('x', 1)
  await server.snapshots.save('same')
  await server.reset()
  await server.sweep()
  await server.snapshots.restore('same')
  assert.equal(String(await box.getBlockBlobClient('doc').downloadToBuffer()), 'x')
  assert.equal((await server.snapshots.list()).length, 1)
})

test('a wrong name is refused and says what there is', async (t) => {
  const server = await start(t)
  await assert.rejects(server.snapshots.restore('x'), /there is no snapshot "x"; there is none/)
  await server.snapshots.save('a')
  await assert.rejects(server.snapshots.restore('x'), /there is no snapshot "x"; there is a/)
  for (const name of ['', '../x', '-a', 'x'.repeat(64)]) {
    await assert.rejects(server.snapshots.save(name), /the name of a snapshot has 1 to 63/)
  }
})
