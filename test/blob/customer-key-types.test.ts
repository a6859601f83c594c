// Customer-provided keys for blobs that are written in parts: blocks, appended blocks, pages. Every part must have the
// key of the blob.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { keyHeaders, MISMATCH, newKey, USES, USES_NOT } from './secure-server.ts'
import { outcome, type Headers } from '../harness.ts'
import { startSecureFixture } from './fixture.ts'

const KEY = newKey()
const OTHER = newKey()
const WITH_KEY = { customerProvidedKey: KEY }

const { container, send } = await startSecureFixture()

/** The outcome of adding bytes, by the key of the request and the key of the blob. */
const KEYS: readonly (readonly [string, string, Headers, string])[] = [
  ['its key', 'mine', keyHeaders(KEY), '201'],
  ['no key', 'mine', {}, USES],
  ['another key', 'mine', keyHeaders(OTHER), MISMATCH],
  ['an unneeded key', 'plain', keyHeaders(KEY), USES_NOT],
]

describe('blocks', () => {
  test('are staged and committed with a key', async () => {
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
    assert.equal(outcome(await send('GET', '/box/blocks', {})), USES)
  })

  // prettier-ignore
  const CASES: readonly (readonly [string, Headers, string, Headers, string])[] = [
    ['a key',  keyHeaders(KEY), 'that key',    keyHeaders(KEY),   '201'],
    ['a key',  keyHeaders(KEY), 'no key',      {},                USES],
    ['a key',  keyHeaders(KEY), 'another key', keyHeaders(OTHER), MISMATCH],
    ['no key', {},              'a key',       keyHeaders(KEY),   USES_NOT],
  ]
  for (const [at, [put, staged, list, listed, expected]] of CASES.entries()) {
    test(`staged with ${put}, committed with ${list} → ${expected}`, async () => {
      const path = `/box/listed-${at}`
      await send('PUT', `${path}?comp=block&blockid=AAAA`, staged, 'block')
      const body = '<BlockList><Latest>AAAA</Latest></BlockList>'
      assert.equal(outcome(await send('PUT', `${path}?comp=blocklist`, listed, body)), expected)
      assert.equal((await send('GET', path, staged)).status, expected === '201' ? 200 : 404)
    })
  }
})

describe('appended blocks', () => {
  before(async () => {
    for (const [name, options] of [
      ['mine', WITH_KEY],
      ['plain', {}],
    ] as const) {
      const created = await container.getAppendBlobClient(`append-${name}`).create(options)
      assert.equal(created.isServerEncrypted, name === 'mine')
    }
  })

  test('are read back in order', async () => {
    const blob = container.getAppendBlobClient('append-mine')
    const answer = await blob.appendBlock('hello ', 6, WITH_KEY)
    assert.equal(answer.isServerEncrypted, true)
    assert.equal(answer.encryptionKeySha256, KEY.encryptionKeySha256)
    await blob.appendBlock(Buffer.alloc(20_000, 'world'), 20_000, WITH_KEY)
    const got = await blob.downloadToBuffer(0, 11, WITH_KEY)
    assert.equal(String(got), 'hello world')
    assert.equal(outcome(await send('GET', '/box/append-mine', {})), USES)
  })

  for (const [what, blob, key, expected] of KEYS) {
    test(`Append Block with ${what} → ${expected}`, async () => {
      const answer = await send('PUT', `/box/append-${blob}?comp=appendblock`, key, 'more')
      assert.equal(outcome(answer), expected)
    })
  }
})

describe('pages', () => {
  before(async () => {
    for (const [name, options] of [
      ['mine', WITH_KEY],
      ['plain', {}],
    ] as const) {
      const created = await container.getPageBlobClient(`page-${name}`).create(4_096, options)
      assert.equal(created.isServerEncrypted, name === 'mine')
    }
  })

  test('are read back as written, cleared or never written', async () => {
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
    assert.equal(outcome(await send('GET', '/box/page-mine', {})), USES)
  })

  for (const [what, blob, key, expected] of KEYS) {
    for (const write of ['update', 'clear']) {
      test(`${write} with ${what} → ${expected}`, async () => {
        const headers = { ...key, 'x-ms-page-write': write, 'x-ms-range': 'bytes=0-511' }
        const body = write === 'update' ? Buffer.alloc(512, 'page') : undefined
        const answer = await send('PUT', `/box/page-${blob}?comp=page`, headers, body)
        assert.equal(outcome(answer), expected)
      })
    }
  }
})
