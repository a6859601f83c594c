// Writes of pages: compared with a model, by many clients at once, during reads, and encrypted.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { assertRefused, type Headers } from '../harness.ts'
import { startBlobFixture, startSecureFixture } from './fixture.ts'
import { keyHeaders, newKey } from './secure-server.ts'

const PAGE = 512

const rangeOf = (from: number, lengthBytes: number) => `bytes=${from}-${from + lengthBytes - 1}`
const createHeaders = (lengthBytes: number): Headers => ({
  'x-ms-blob-type': 'PageBlob',
  'x-ms-blob-content-length': String(lengthBytes),
})

const { server, ...fixture } = await startBlobFixture({ container: 'disks', onDisk: true })

function send(method: string, path: string, headers: Headers = {}, body?: Uint8Array) {
  return fixture.send(method, `/disks/${path}`, headers, body)
}

function putPage(name: string, from: number, body: Uint8Array) {
  const headers = { 'x-ms-page-write': 'update', 'x-ms-range': rangeOf(from, body.length) }
  return send('PUT', `${name}?comp=page`, headers, body)
}

function clear(name: string, from: number, lengthBytes: number) {
  const headers = { 'x-ms-page-write': 'clear', 'x-ms-range': rangeOf(from, lengthBytes) }
  return send('PUT', `${name}?comp=page`, headers)
}

const PAGES_MAX = 24

type Step =
  | { readonly kind: 'put' | 'clear'; readonly page: number; readonly count: number }
  | { readonly kind: 'resize'; readonly count: number }
  | { readonly kind: 'snapshot' }

const within = fc.record({
  kind: fc.constantFrom('put' as const, 'clear' as const),
  page: fc.nat(PAGES_MAX - 1),
  count: fc.integer({ min: 1, max: 8 }),
})
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: within },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('resize' as const), count: fc.integer({ min: 1, max: PAGES_MAX }) }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'snapshot' as const }) },
  ),
  { minLength: 5, maxLength: 25 },
) // prettier-ignore

/** A blob as an array of pages, each with the number of its last write. */
type Model = { pages: number[]; readonly snapshots: Map<string, number[]> }

async function take(name: string, model: Model, step: Step, write: number): Promise<void> {
  if (step.kind === 'snapshot') {
    const { headers } = await send('PUT', `${name}?comp=snapshot`)
    model.snapshots.set(String(headers['x-ms-snapshot']), [...model.pages])
    return
  }
  if (step.kind === 'resize') {
    const headers = { 'x-ms-blob-content-length': String(step.count * PAGE) }
    assert.equal((await send('PUT', `${name}?comp=properties`, headers)).status, 200)
    const kept = model.pages.slice(0, step.count)
    model.pages = [...kept, ...Array<number>(step.count - kept.length).fill(0)]
    return
  }
  const { page, count } = step
  const bytes = Buffer.alloc(count * PAGE, write)
  const isPut = step.kind === 'put'
  const sent = isPut ? putPage(name, page * PAGE, bytes) : clear(name, page * PAGE, bytes.length)
  const isInside = page + count <= model.pages.length
  assert.equal((await sent).status, isInside ? 201 : 416)
  if (isInside) model.pages.fill(isPut ? write : 0, page, page + count)
}

const bytesOf = (pages: readonly number[]) =>
  Buffer.concat(pages.map((write) => Buffer.alloc(PAGE, write)))

async function assertLike(name: string, pages: readonly number[], query = ''): Promise<void> {
  const { body } = await send('GET', `${name}${query}`)
  assert.ok(body.equals(bytesOf(pages)), name + query)
  const listQuery = query === '' ? '?comp=pagelist' : `${query}&comp=pagelist`
  const { text } = await send('GET', `${name}${listQuery}`)
  const found = pages.map(() => false)
  for (const [, start, end] of text.matchAll(/<Start>(\d+)<\/Start><End>(\d+)<\/End>/g)) {
    found.fill(true, Number(start) / PAGE, (Number(end) + 1) / PAGE)
  }
  assert.deepEqual(found, pages.map((write) => write !== 0)) // prettier-ignore
}

test('any sequence of writes, clears, resizes and snapshots behaves like an array of pages', async () => {
  let run = 0
  const property = fc.asyncProperty(steps, async (taken) => {
    const name = `model-${run++}`
    const model: Model = { pages: Array<number>(PAGES_MAX).fill(0), snapshots: new Map() }
    await send('PUT', name, createHeaders(PAGES_MAX * PAGE))
    for (const [at, step] of taken.entries()) await take(name, model, step, at + 1)
    await server.sweep()
    await assertLike(name, model.pages)
    for (const [at, pages] of model.snapshots) await assertLike(name, pages, `?snapshot=${at}`)
  })
  await fc.assert(property, { numRuns: 25 })
})

describe('concurrent writes:', () => {
  const WRITERS = 20
  const lengthBytes = 64 * PAGE

  test(`of ${WRITERS} writes to the same pages the last one remains, complete`, async () => {
    await send('PUT', 'over', createHeaders(lengthBytes))
    const answers = await Promise.all(
      Array.from({ length: WRITERS }, async (_, i) => {
        const { status, headers } = await putPage('over', 0, Buffer.alloc(lengthBytes, i + 1))
        return { status, etag: String(headers.etag), write: i + 1 }
      }),
    )
    for (const { status } of answers) assert.equal(status, 201)
    assert.equal(new Set(answers.map(({ etag }) => etag)).size, WRITERS)
    // ETags increase with each write.
    const last = answers.toSorted((a, b) => (a.etag < b.etag ? -1 : 1)).at(-1)
    const { body, headers } = await send('GET', 'over')
    assert.equal(headers.etag, last?.etag)
    assert.ok(body.equals(Buffer.alloc(lengthBytes, last?.write ?? 0)))
  })

  test(`of ${WRITERS} overlapping writes each page has the last one`, async () => {
    const half = 4 * PAGE
    await send('PUT', 'half', createHeaders((WRITERS + 1) * half))
    const answers = await Promise.all(
      Array.from({ length: WRITERS }, async (_, i) => {
        const { headers } = await putPage('half', i * half, Buffer.alloc(2 * half, i + 1))
        return { at: i, etag: String(headers.etag) }
      }),
    )
    const expected = Buffer.alloc((WRITERS + 1) * half)
    for (const { at } of answers.toSorted((a, b) => (a.etag < b.etag ? -1 : 1))) {
      expected.fill(at + 1, at * half, (at + 2) * half)
    }
    assert.ok((await send('GET', 'half')).body.equals(expected))
  })

  test('a reader sees each Put Page completely or not at all', async () => {
    await send('PUT', 'whole', createHeaders(lengthBytes))
    const state = { isDone: false }
    const seen = new Set<number>()
    // Continues until the readers have seen two changes.
    const writing = (async () => {
      for (let i = 1; i <= 60 || seen.size < 3; i += 1) {
        await putPage('whole', 0, Buffer.alloc(lengthBytes, i))
      }
      state.isDone = true
    })()
    const reading = Array.from({ length: 4 }, async () => {
      while (!state.isDone) {
        const { body } = await send('GET', 'whole')
        const first = body[0] ?? -1
        assert.ok(body.equals(Buffer.alloc(lengthBytes, first)))
        seen.add(first)
      }
    })
    await Promise.all([writing, ...reading])
  })
})

describe('a page blob with a customer-provided key', async () => {
  const secure = await startSecureFixture()

  test('is written and read with that key only', async () => {
    const [key, other] = [newKey(), newKey()]
    const [mine, wrong] = [keyHeaders(key), keyHeaders(other)]
    const [status, sha256] = [201, key.encryptionKeySha256]
    const created = await secure.send('PUT', '/box/secret', { ...createHeaders(4 * PAGE), ...mine })
    assert.deepEqual(
      [created.status, created.headers['x-ms-encryption-key-sha256']],
      [status, sha256],
    )
    const put = (from: number, fill: string, headers: Headers) => {
      const body = Buffer.alloc(2 * PAGE, fill)
      const own = { 'x-ms-page-write': 'update', 'x-ms-range': rangeOf(from, body.length) }
      return secure.send('PUT', '/box/secret?comp=page', { ...own, ...headers }, body)
    }
    const first = await put(0, 'a', mine)
    assert.deepEqual([first.status, first.headers['x-ms-encryption-key-sha256']], [status, sha256])
    assert.equal(first.headers['x-ms-request-server-encrypted'], 'true')
    assert.equal((await put(PAGE, 'b', mine)).status, 201)
    await assertRefused(put(0, 'x', {}), 409, 'BlobUsesCustomerSpecifiedEncryption')
    await assertRefused(put(0, 'x', wrong), 409, 'BlobCustomerSpecifiedEncryptionMismatch')
    const expected = 'a'.repeat(PAGE) + 'b'.repeat(2 * PAGE) + '\0'.repeat(PAGE)
    assert.equal((await secure.send('GET', '/box/secret', mine)).text, expected)
    const part = { ...mine, 'x-ms-range': rangeOf(PAGE - 2, 4) }
    assert.equal((await secure.send('GET', '/box/secret', part)).text, 'aabb')
    assert.equal((await secure.send('GET', '/box/secret')).status, 409)
    assert.equal((await secure.send('GET', '/box/secret?comp=pagelist')).status, 200)
  })
})
