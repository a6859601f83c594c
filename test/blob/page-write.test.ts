// Many writes of pages: against a model, by many clients at once, while others read, and encrypted.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { request as httpsRequest } from 'node:https'
import { after, before, describe, test } from 'node:test'
import * as fc from 'fast-check'
import { rawRequest, startTestServer, wireRequest, type TestServer } from '../harness.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'

const PAGE = 512
type Headers = Readonly<Record<string, string>>
const rangeOf = (from: number, lengthBytes: number) => `bytes=${from}-${from + lengthBytes - 1}`
const createHeaders = (lengthBytes: number): Headers => ({
  'x-ms-blob-type': 'PageBlob',
  'x-ms-blob-content-length': String(lengthBytes),
})

let server: TestServer

before(async () => {
  server = await startTestServer({ onDisk: true })
  await rawRequest(server, { method: 'PUT', path: '/disks?restype=container' })
})

after(() => server.close())

function send(method: string, path: string, headers: Headers = {}, body?: Uint8Array) {
  const request = { method, path: `/disks/${path}`, headers, ...(body && { body }) }
  return rawRequest(server, request)
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

/** A blob as an array of pages, each the number of the write that it shows. */
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
  const asked = query === '' ? '?comp=pagelist' : `${query}&comp=pagelist`
  const { text } = await send('GET', `${name}${asked}`)
  const found = pages.map(() => false)
  for (const [, start, end] of text.matchAll(/<Start>(\d+)<\/Start><End>(\d+)<\/End>/g)) {
    found.fill(true, Number(start) / PAGE, (Number(end) + 1) / PAGE)
  }
  assert.deepEqual(found, pages.map((write) => write !== 0)) // prettier-ignore
}

test('any writes, clears, resizes and snapshots are as an array of pages', async () => {
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

describe('many at once', () => {
  const WRITERS = 20
  const lengthBytes = 64 * PAGE

  test(`${WRITERS} over the same pages: one of them stands, whole, and it is the last`, async () => {
    await send('PUT', 'over', createHeaders(lengthBytes))
    const answers = await Promise.all(
      Array.from({ length: WRITERS }, async (_, i) => {
        const { status, headers } = await putPage('over', 0, Buffer.alloc(lengthBytes, i + 1))
        return { status, etag: String(headers.etag), write: i + 1 }
      }),
    )
    for (const { status } of answers) assert.equal(status, 201)
    assert.equal(new Set(answers.map(({ etag }) => etag)).size, WRITERS)
    // An ETag grows with each write.
    const last = answers.toSorted((a, b) => (a.etag < b.etag ? -1 : 1)).at(-1)
    const { body, headers } = await send('GET', 'over')
    assert.equal(headers.etag, last?.etag)
    assert.ok(body.equals(Buffer.alloc(lengthBytes, last?.write ?? 0)))
  })

  test(`${WRITERS} that overlap by half: each page is of the last that wrote it`, async () => {
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

  test('a reader sees each Put Page whole or not at all', async () => {
    await send('PUT', 'whole', createHeaders(lengthBytes))
    const state = { isDone: false }
    const seen = new Set<number>()
    // Until the readers have seen it change twice.
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

describe('with a key of the customer', () => {
  let secured: RunningTestServer
  before(async () => {
    secured = await runTestServer({ silent: true, logLevel: 'error', https: 'auto' })
    assert.equal((await ask('PUT', '/disks?restype=container')).status, 201)
  })
  after(() => secured.close())

  type Asked = { readonly status: number; readonly code: string | undefined; readonly body: Buffer }

  function ask(method: string, path: string, headers: Headers = {}, body?: Uint8Array) {
    const wire = wireRequest({ method, path, headers, ...(body && { body }) })
    const tls = { rejectUnauthorized: false, agent: false, host: '127.0.0.1' }
    return new Promise<Asked & { headers: Record<string, unknown> }>((resolve, reject) => {
      const req = httpsRequest({ ...tls, port: secured.blobPort, method, ...wire }, (res) => {
        const chunks: Buffer[] = []
        res.on('data', (chunk: Buffer) => chunks.push(chunk))
        res.on('end', () => {
          const code = res.headers['x-ms-error-code']?.toString()
          const answer = { status: res.statusCode ?? 0, code, headers: res.headers }
          resolve({ ...answer, body: Buffer.concat(chunks) })
        })
      })
      req.on('error', reject)
      req.end(body)
    })
  }

  function keyHeaders(fill: string): Headers & { 'x-ms-encryption-key-sha256': string } {
    const key = Buffer.alloc(32, fill)
    return {
      'x-ms-encryption-key': key.toString('base64'),
      'x-ms-encryption-key-sha256': createHash('sha256').update(key).digest('base64'),
      'x-ms-encryption-algorithm': 'AES256',
    }
  }

  test('pages are written and read with it, and with no other', async () => {
    const [mine, other] = [keyHeaders('m'), keyHeaders('o')]
    const made = await ask('PUT', '/disks/secret', { ...createHeaders(4 * PAGE), ...mine })
    const sha256 = mine['x-ms-encryption-key-sha256']
    assert.deepEqual([made.status, made.headers['x-ms-encryption-key-sha256']], [201, sha256])
    const put = (from: number, fill: string, headers: Headers) => {
      const body = Buffer.alloc(2 * PAGE, fill)
      const own = { 'x-ms-page-write': 'update', 'x-ms-range': rangeOf(from, body.length) }
      return ask('PUT', '/disks/secret?comp=page', { ...own, ...headers }, body)
    }
    const first = await put(0, 'a', mine)
    assert.deepEqual([first.status, first.headers['x-ms-encryption-key-sha256']], [201, sha256])
    assert.equal(first.headers['x-ms-request-server-encrypted'], 'true')
    assert.equal((await put(PAGE, 'b', mine)).status, 201)
    assert.equal((await put(0, 'x', {})).code, 'BlobUsesCustomerSpecifiedEncryption')
    assert.equal((await put(0, 'x', other)).code, 'BlobCustomerSpecifiedEncryptionMismatch')
    const expected = 'a'.repeat(PAGE) + 'b'.repeat(2 * PAGE) + '\0'.repeat(PAGE)
    assert.equal((await ask('GET', '/disks/secret', mine)).body.toString(), expected)
    const part = { ...mine, 'x-ms-range': rangeOf(PAGE - 2, 4) }
    assert.equal((await ask('GET', '/disks/secret', part)).body.toString(), 'aabb')
    assert.equal((await ask('GET', '/disks/secret')).status, 409)
    assert.equal((await ask('GET', '/disks/secret?comp=pagelist')).status, 200)
  })
})
