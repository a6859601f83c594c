// Customer-provided keys where a blob is written in parts: blocks, appended blocks, pages. What is added must
// be encrypted as what is there.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ContainerClient } from '@azure/storage-blob'
import {
  keyHeaders,
  newKey,
  outcomeOf,
  startSecureServer,
  type SecureServer,
} from './secure-server.ts'

const KEY = newKey()
const OTHER = newKey()
const WITH_KEY = { customerProvidedKey: KEY }
const USES = '409 BlobUsesCustomerSpecifiedEncryption'
const USES_NOT = '409 BlobDoesNotUseCustomerSpecifiedEncryption'
const MISMATCH = '409 BlobCustomerSpecifiedEncryptionMismatch'

let server: SecureServer
let container: ContainerClient

before(async () => {
  server = await startSecureServer({ silent: true, logLevel: 'error' })
  container = server.client.getContainerClient('box')
  await container.create()
})

after(async () => {
  await server.close()
  assert.equal(server.logged(), '')
})

type Headers = Readonly<Record<string, string>>

function send(method: string, path: string, headers: Headers, body?: string | Uint8Array) {
  return server.send({ method, path, headers, ...(body !== undefined && { body }) })
}

/** What a request that adds bytes is answered, by the key that it has and the one that the blob has. */
const KEYS: readonly (readonly [string, string, Headers, string])[] = [
  ['its key', 'mine', keyHeaders(KEY), '201'],
  ['no key', 'mine', {}, USES],
  ['another key', 'mine', keyHeaders(OTHER), MISMATCH],
  ['a key for no need', 'plain', keyHeaders(KEY), USES_NOT],
]

describe('blocks', () => {
  test('put with a key and listed with it', async () => {
    const blob = container.getBlockBlobClient('blocks')
    const first = await blob.stageBlock('AAAA', Buffer.alloc(70_000, 'first'), 70_000, WITH_KEY)
    assert.equal(first.isServerEncrypted, true)
    assert.equal(first.encryptionKeySha256, KEY.encryptionKeySha256)
    await blob.stageBlock('BBBB', 'second', 6, WITH_KEY)
    const put = await blob.commitBlockList(['BBBB', 'AAAA'], WITH_KEY)
    assert.equal(put.encryptionKeySha256, KEY.encryptionKeySha256)
    const expected = Buffer.concat([Buffer.from('second'), Buffer.alloc(70_000, 'first')])
    assert.ok((await blob.downloadToBuffer(0, undefined, WITH_KEY)).equals(expected))
    const across = await blob.downloadToBuffer(3, 20, WITH_KEY)
    assert.ok(across.equals(expected.subarray(3, 23)))
    assert.equal(outcomeOf(await send('GET', '/box/blocks', {})), USES)
  })

  // prettier-ignore
  const CASES: readonly (readonly [string, Headers, string, Headers, string])[] = [
    ['a key',  keyHeaders(KEY), 'that key',    keyHeaders(KEY),   '201'],
    ['a key',  keyHeaders(KEY), 'no key',      {},                USES],
    ['a key',  keyHeaders(KEY), 'another key', keyHeaders(OTHER), MISMATCH],
    ['no key', {},              'a key',       keyHeaders(KEY),   USES_NOT],
  ]
  for (const [at, [put, staged, list, listed, outcome]] of CASES.entries()) {
    test(`a block put with ${put}, listed with ${list} → ${outcome}`, async () => {
      const path = `/box/listed-${at}`
      await send('PUT', `${path}?comp=block&blockid=AAAA`, staged, 'block')
      const body = '<BlockList><Latest>AAAA</Latest></BlockList>'
      assert.equal(outcomeOf(await send('PUT', `${path}?comp=blocklist`, listed, body)), outcome)
      assert.equal((await send('GET', path, staged)).status, outcome === '201' ? 200 : 404)
    })
  }
})

describe('appended blocks', () => {
  before(async () => {
    for (const [name, options] of [
      ['mine', WITH_KEY],
      ['plain', {}],
    ] as const) {
      const made = await container.getAppendBlobClient(`append-${name}`).create(options)
      assert.equal(made.isServerEncrypted, name === 'mine')
    }
  })

  test('one after the other', async () => {
    const blob = container.getAppendBlobClient('append-mine')
    const answer = await blob.appendBlock('hello ', 6, WITH_KEY)
    assert.equal(answer.isServerEncrypted, true)
    assert.equal(answer.encryptionKeySha256, KEY.encryptionKeySha256)
    await blob.appendBlock(Buffer.alloc(20_000, 'world'), 20_000, WITH_KEY)
    const got = await blob.downloadToBuffer(0, 11, WITH_KEY)
    assert.equal(String(got), 'hello world')
    assert.equal(outcomeOf(await send('GET', '/box/append-mine', {})), USES)
  })

  for (const [what, blob, key, outcome] of KEYS) {
    test(`Append Block with ${what} → ${outcome}`, async () => {
      const answer = await send('PUT', `/box/append-${blob}?comp=appendblock`, key, 'more')
      assert.equal(outcomeOf(answer), outcome)
    })
  }
})

describe('pages', () => {
  before(async () => {
    for (const [name, options] of [
      ['mine', WITH_KEY],
      ['plain', {}],
    ] as const) {
      const made = await container.getPageBlobClient(`page-${name}`).create(4_096, options)
      assert.equal(made.isServerEncrypted, name === 'mine')
    }
  })

  test('some written, some cleared, some never touched', async () => {
    const blob = container.getPageBlobClient('page-mine')
    const answer = await blob.uploadPages(Buffer.alloc(2_048, 'abc'), 512, 2_048, WITH_KEY)
    assert.equal(answer.encryptionKeySha256, KEY.encryptionKeySha256)
    await blob.uploadPages(Buffer.alloc(512, 'xyz'), 1_024, 512, WITH_KEY)
    await blob.clearPages(512, 512, WITH_KEY)
    const expected = Buffer.alloc(4_096)
    expected.set(Buffer.alloc(2_048, 'abc'), 512)
    expected.set(Buffer.alloc(512, 'xyz'), 1_024)
    expected.fill(0, 512, 1_024)
    assert.ok((await blob.downloadToBuffer(0, undefined, WITH_KEY)).equals(expected))
    assert.ok(
      (await blob.downloadToBuffer(1_500, 700, WITH_KEY)).equals(expected.subarray(1_500, 2_200)),
    )
    assert.equal(outcomeOf(await send('GET', '/box/page-mine', {})), USES)
  })

  for (const [what, blob, key, outcome] of KEYS) {
    for (const write of ['update', 'clear']) {
      test(`${write} with ${what} → ${outcome}`, async () => {
        const headers = { ...key, 'x-ms-page-write': write, 'x-ms-range': 'bytes=0-511' }
        const body = write === 'update' ? Buffer.alloc(512, 'page') : undefined
        const answer = await send('PUT', `/box/page-${blob}?comp=page`, headers, body)
        assert.equal(outcomeOf(answer), outcome)
      })
    }
  }
})
