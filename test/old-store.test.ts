// A store written by an earlier version opens, is migrated, shows all of its data, and has no problems.
// test/old-store/ holds its files as gzipped JSON: path to base64.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { TableClient, AzureNamedKeyCredential } from '@azure/data-tables'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import {
  ShareServiceClient,
  StorageSharedKeyCredential as FileCredential,
} from '@azure/storage-file-share'
import {
  QueueServiceClient,
  StorageSharedKeyCredential as QueueCredential,
} from '@azure/storage-queue'
import { startServer, type LazuliServer } from '../src/server.ts'
import { checkLocation } from '../src/start/store/fsck.ts'
import { assertBytes } from './assert-bytes.ts'
import { ACCOUNT, ACCOUNT_KEY } from './harness.ts'

/** An hour after the store was written. */
const NOW_MS = Date.UTC(2026, 9, 1, 1)

describe('a store of format 3', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-old-'))
  let server: LazuliServer
  before(async () => {
    const packed = readFileSync(join(import.meta.dirname, 'old-store/format-3.json.gz'))
    const files: Record<string, string> = JSON.parse(gunzipSync(packed).toString())
    for (const [path, base64] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), Buffer.from(base64, 'base64'))
    }
    server = await startServer({ location: folder, clock: () => NOW_MS })
  })
  after(() => rmSync(folder, { recursive: true }))

  const url = (port: number) => `http://127.0.0.1:${port}/${ACCOUNT}`
  const container = () =>
    new BlobServiceClient(
      url(server.blobPort),
      new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY),
    ).getContainerClient('box')

  test('has its blobs, with snapshots, tags, leases and uncommitted blocks', async () => {
    const box = container()
    assert.deepEqual((await box.getProperties()).metadata, { kind: 'old' })
    const listed: string[] = []
    for await (const item of box.listBlobsFlat({
      includeSnapshots: true,
      includeUncommitedBlobs: true,
    })) {
      listed.push(item.snapshot === undefined ? item.name : `${item.name} snapshot`)
      if (item.name !== 'small.txt') continue
      const text = item.snapshot === undefined ? 'second' : 'first'
      const blob = box.getBlobClient(item.name)
      const shown = item.snapshot === undefined ? blob : blob.withSnapshot(item.snapshot)
      assert.equal((await shown.downloadToBuffer()).toString(), text)
    }
    assert.deepEqual(listed, [
      'blocks.bin',
      'large.bin',
      'leased',
      'log.txt',
      'page.vhd snapshot',
      'page.vhd',
      'small.txt snapshot',
      'small.txt',
      'staged-only',
    ])
    const small = box.getBlobClient('small.txt')
    assert.deepEqual((await small.getTags()).tags, { colour: 'green' })
    assertBytes(await box.getBlobClient('large.bin').downloadToBuffer(), Buffer.alloc(307_200, 7))
    const blocks = Array.from({ length: 70 }, (_, at) => Buffer.alloc(100, at))
    assertBytes(await box.getBlobClient('blocks.bin').downloadToBuffer(), Buffer.concat(blocks))
    const page = await box.getBlobClient('page.vhd').downloadToBuffer()
    assert.deepEqual([page.length, page[512], page[1024], page[1536]], [16_384, 1, 2, 0])
    assert.equal((await box.getBlobClient('leased').getProperties()).leaseState, 'leased')
    const leases = (await server.held.leases()).map(({ resource }) => resource)
    assert.deepEqual(leases, [`/${ACCOUNT}/box/leased`])
  })

  test('accepts writes to its data', async () => {
    const box = container()
    const staged = box.getBlockBlobClient('staged-only')
    await staged.commitBlockList([Buffer.from('one').toString('base64')])
    assert.equal((await staged.downloadToBuffer()).toString(), 'staged')
    const log = box.getAppendBlobClient('log.txt')
    await log.appendBlock('three\n', 6)
    assert.equal((await log.downloadToBuffer()).toString(), 'one\ntwo\nthree\n')
    const page = box.getPageBlobClient('page.vhd')
    await page.clearPages(512, 512)
    assert.equal((await page.downloadToBuffer())[512], 0)
  })

  test('has its messages', async () => {
    const credential = new QueueCredential(ACCOUNT, ACCOUNT_KEY)
    const queue = new QueueServiceClient(url(server.queuePort), credential).getQueueClient('work')
    const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32 })
    const texts = receivedMessageItems.map(({ messageText }) => messageText)
    assert.deepEqual(texts.toSorted(), ['hidden', 'visible'])
    for (const { messageId, popReceipt } of receivedMessageItems) {
      await queue.deleteMessage(messageId, popReceipt)
    }
  })

  test('has its entities', async () => {
    const credential = new AzureNamedKeyCredential(ACCOUNT, ACCOUNT_KEY)
    const options = { allowInsecureConnection: true }
    const table = new TableClient(url(server.tablePort), 'People', credential, options)
    const entity = await table.getEntity('p', 'r')
    assert.deepEqual([entity['age'], entity['big'], entity['text']], [41, 9007199254740993n, 'é'])
    await table.updateEntity({ partitionKey: 'p', rowKey: 'r', age: 42 }, 'Merge')
  })

  test('has its shares, with snapshots', async () => {
    const credential = new FileCredential(ACCOUNT, ACCOUNT_KEY)
    const service = new ShareServiceClient(url(server.filePort), credential)
    const texts: string[] = []
    for await (const { name, snapshot } of service.listShares({ includeSnapshots: true })) {
      const share = service.getShareClient(name)
      const shown = snapshot === undefined ? share : share.withSnapshot(snapshot)
      const file = shown.getDirectoryClient('dir').getFileClient('NOTE.TXT')
      const bytes = await file.downloadToBuffer()
      assert.equal(bytes.length, 10_000)
      texts.push(`${snapshot === undefined ? 'now' : 'snapshot'} ${bytes.toString('utf8', 0, 5)}`)
    }
    assert.deepEqual(texts.toSorted(), ['now HELLO', 'snapshot hello'])
  })

  test('has no problems afterwards', async () => {
    await server.close()
    const { exitCode, lines } = await checkLocation(folder, process.pid)
    assert.deepEqual([exitCode, lines.at(-1)], [0, 'no problems'], lines.join('\n'))
  })
})
