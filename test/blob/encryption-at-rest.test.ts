// Data on disk: no readable byte of a blob that was written with a key or in a scope, and no trace of the customer's
// key. Deletes, compaction, restarts and checks of the store need no key.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { ContainerClient } from '@azure/storage-blob'
import { checkLocation } from '../../src/start/store/fsck.ts'
import { newKey, startSecureServer, type SecureServer } from './secure-server.ts'

const KEY = newKey()
const SCOPE = 'at-rest'
const MARKER = 'a secret nobody should read '

type Place = {
  readonly folder: string
  /** Starts a server on the folder; again after the previous one was closed. */
  start(): Promise<SecureServer>
}

/** A failing test leaves no server or folder behind either. */
function newPlace(t: TestContext): Place {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-at-rest-'))
  const running = new Set<SecureServer>()
  t.after(async () => {
    for (const server of running) await server.close()
    rmSync(folder, { recursive: true })
  })
  return {
    folder,
    async start() {
      const server = await startSecureServer({ folder, encryptionScopes: [SCOPE] })
      running.add(server)
      const close = async (): Promise<void> => {
        running.delete(server)
        await server.close()
      }
      return { ...server, close }
    },
  }
}

/** The files in the folder that contain the bytes. */
function filesWith(folder: string, bytes: string | Buffer): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  return files
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(bytes))
}

async function assertSound(folder: string): Promise<void> {
  const { exitCode, lines } = await checkLocation(folder, process.pid)
  assert.equal(exitCode, 0, lines.join('\n'))
}

type Write = (container: ContainerClient, name: string, how: object) => Promise<unknown>

/** Every way to write bytes, small and large. */
const WRITES: Readonly<Record<string, Write>> = {
  small: (container, name, how) =>
    container.getBlockBlobClient(name).upload(MARKER, MARKER.length, how),
  large: (container, name, how) => {
    const body = Buffer.alloc(100_000, MARKER)
    return container.getBlockBlobClient(name).upload(body, body.length, how)
  },
  blocks: async (container, name, how) => {
    const blob = container.getBlockBlobClient(name)
    await blob.stageBlock('AAAA', MARKER, MARKER.length, how)
    await blob.commitBlockList(['AAAA'], how)
  },
  'uncommitted blocks': (container, name, how) =>
    container.getBlockBlobClient(name).stageBlock('AAAA', MARKER, MARKER.length, how),
  append: async (container, name, how) => {
    const blob = container.getAppendBlobClient(name)
    await blob.create(how)
    await blob.appendBlock(MARKER, MARKER.length, how)
  },
  pages: async (container, name, how) => {
    const blob = container.getPageBlobClient(name)
    await blob.create(512, how)
    await blob.uploadPages(Buffer.alloc(512, MARKER), 0, 512, how)
  },
  snapshot: async (container, name, how) => {
    const blob = container.getBlockBlobClient(name)
    await blob.upload(MARKER, MARKER.length, how)
    await blob.createSnapshot(how)
  },
}

const BY_KEY = { customerProvidedKey: KEY }
const HOWS: Readonly<Record<string, object>> = {
  'with a key': BY_KEY,
  'in a scope': { encryptionScope: SCOPE },
  'in the scope of the container': {},
}

for (const [how, options] of Object.entries(HOWS)) {
  test(`${how}, no plaintext is on disk`, async (t) => {
    const { folder, start } = newPlace(t)
    const server = await start()
    const policy = { defaultEncryptionScope: SCOPE, preventEncryptionScopeOverride: false }
    const isPolicy = Object.keys(options).length === 0
    const container = server.client.getContainerClient('box')
    await container.create(isPolicy ? { containerEncryptionScope: policy } : {})
    for (const [name, write] of Object.entries(WRITES)) await write(container, name, options)
    await server.close()
    assert.deepEqual(filesWith(folder, MARKER), [])
    assert.equal(filesWith(folder, 'uncommitted blocks').length, 1, 'names are in plaintext')
    await assertSound(folder)
  })
}

for (const [name, write] of Object.entries(WRITES)) {
  test(`without encryption, plaintext is found on disk: ${name}`, async (t) => {
    const { folder, start } = newPlace(t)
    const server = await start()
    const container = server.client.getContainerClient('box')
    await container.create()
    await write(container, name, {})
    await server.close()
    assert.equal(filesWith(folder, MARKER).length, 1)
  })
}

test("the customer's key is neither on disk nor in the log, and a scope's key is in no response", async (t) => {
  const { folder, start } = newPlace(t)
  const server = await start()
  const container = server.client.getContainerClient('box')
  await container.create()
  for (const [name, write] of Object.entries(WRITES)) await write(container, name, BY_KEY)
  const other = { customerProvidedKey: newKey() }
  await assert.rejects(container.getBlobClient('small').download(0, 1, other))
  const wrong = { ...KEY, encryptionKeySha256: 'AAAA' }
  await assert.rejects(
    container.getBlobClient('small').download(0, 1, { customerProvidedKey: wrong }),
  )
  await server.close()
  assert.match(server.logged(), /PUT .*\/box\/small/)
  for (const { encryptionKey } of [KEY, other.customerProvidedKey]) {
    const bytes = Buffer.from(encryptionKey, 'base64')
    assert.ok(!server.logged().includes(encryptionKey))
    for (const form of [
      encryptionKey,
      bytes,
      bytes.toString('hex'),
      encodeURIComponent(encryptionKey),
    ]) {
      assert.deepEqual(filesWith(folder, form), [])
    }
  }
  assert.equal(filesWith(folder, KEY.encryptionKeySha256).length, 1)
})

test('encrypted data survives compaction and a restart', async (t) => {
  const { folder, start } = newPlace(t)
  const server = await start()
  const container = server.client.getContainerClient('box')
  await container.create()
  const body = Buffer.alloc(400_000, 'no two blocks of sixteen are alike: ')
  body.forEach((_, i) => i % 7 === 0 && body.writeUInt8((i * 31) % 256, i))
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    await container.getBlockBlobClient(`key-${name}`).upload(body, body.length, BY_KEY)
    const scoped = { encryptionScope: SCOPE }
    await container.getBlockBlobClient(`scope-${name}`).upload(body, body.length, scoped)
  }
  const page = container.getPageBlobClient('page')
  await page.create(1_024, BY_KEY)
  await page.uploadPages(body.subarray(0, 1_024), 0, 1_024, BY_KEY)
  for (const name of ['a', 'b', 'd', 'e']) {
    await container.deleteBlob(`key-${name}`)
    await container.deleteBlob(`scope-${name}`)
  }
  const before = server.store.sizeBytes()
  for (let pass = 0; pass < 3; pass += 1) await server.store.sweep({ graceMs: 0 })
  assert.ok(server.store.sizeBytes() < before - 8 * 400_000 * 0.9, 'the space was reclaimed')
  await assertReadable(container, body)
  await server.close()
  await assertSound(folder)
  const again = await start()
  await assertReadable(again.client.getContainerClient('box'), body)
})

async function assertReadable(container: ContainerClient, body: Buffer): Promise<void> {
  const byKey = await container.getBlobClient('key-c').downloadToBuffer(0, undefined, BY_KEY)
  assert.ok(byKey.equals(body))
  const byScope = await container.getBlobClient('scope-c').downloadToBuffer(100_001, 77)
  assert.ok(byScope.equals(body.subarray(100_001, 100_078)))
  const page = await container.getBlobClient('page').downloadToBuffer(0, undefined, BY_KEY)
  assert.ok(page.equals(body.subarray(0, 1_024)))
}
