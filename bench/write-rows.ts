// The rows of other writes: blocks, appends, pages, copies. They cycle through several blobs, so that no blob reaches its
// limit of 50,000 blocks.
import { Agent, request } from 'node:http'
import { blobUrl, checkLength, createContainer, type Row } from './row.ts'
import { mustCall } from './call.ts'
import type { Running } from './target.ts'
import { numbered, type LoadRequest, type Outcome } from './wrk.ts'

const KIB = 1024
const MIB = 1024 * KIB
const BLOB_COUNT = 64
const GOAL = { azurite: 5 }

const common = {
  service: 'blob',
  goal: GOAL,
  onBare: false,
  numberCount: BLOB_COUNT,
  answerBytesMin: 0,
  azuriteSMin: 1,
} as const

export function writeRows(): readonly Row[] {
  return [appendRow, pageRow, blockListRow, copyRow, uploadRow]
}

/** Calls `put` for the URL of each of the row's blobs. */
async function forEachBlob(
  server: Running,
  container: string,
  put: (url: (query?: string) => string) => Promise<unknown>,
): Promise<void> {
  await createContainer(server, container)
  for (let number = 0; number < BLOB_COUNT; number++) {
    await put((query) => numbered(blobUrl(server, container, undefined, query), number))
  }
}

function makeBlob(url: string, type: string, headers: Readonly<Record<string, string>> = {}) {
  return mustCall(url, { method: 'PUT', headers: { 'x-ms-blob-type': type, ...headers }, body: '' })
}

const appendRow: Row = {
  ...common,
  name: 'append-4k',
  work: 'Append Block 4 KiB',
  request: (server) => ({
    method: 'PUT',
    url: blobUrl(server, 'append-4k', undefined, 'comp=appendblock&'),
    body: 'x'.repeat(4 * KIB),
  }),
  prepare: (server) => forEachBlob(server, 'append-4k', (url) => makeBlob(url(), 'AppendBlob')),
  async check(server) {
    const bytes = await mustCall(numbered(blobUrl(server, 'append-4k'), 0))
    if (bytes.length === 0 || bytes.length % (4 * KIB) !== 0) throw new Error('a torn append')
  },
}

const pageRow: Row = {
  ...common,
  name: 'put-page-4k',
  work: 'Put Page 4 KiB',
  request: (server) => ({
    method: 'PUT',
    url: blobUrl(server, 'put-page-4k', undefined, 'comp=page&'),
    headers: { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=8192-12287' },
    body: 'x'.repeat(4 * KIB),
  }),
  prepare: (server) =>
    forEachBlob(server, 'put-page-4k', (url) =>
      makeBlob(url(), 'PageBlob', { 'x-ms-blob-content-length': String(MIB) }),
    ),
  async check(server) {
    const bytes = await mustCall(numbered(blobUrl(server, 'put-page-4k'), 0))
    if (bytes.length !== MIB || bytes[8192] !== 120 || bytes[12288] !== 0)
      throw new Error('the page is missing')
  },
}

const BLOCK_IDS = Array.from({ length: 8 }, (_, i) => Buffer.from(`block-${i}`).toString('base64'))

function blockList(kind: 'Latest' | 'Committed'): string {
  const ids = BLOCK_IDS.map((id) => `<${kind}>${id}</${kind}>`).join('')
  return `<?xml version="1.0" encoding="utf-8"?><BlockList>${ids}</BlockList>`
}

const blockListRow: Row = {
  ...common,
  name: 'put-block-list',
  work: 'Put Block List of 8 blocks',
  request: (server) => ({
    method: 'PUT',
    url: blobUrl(server, 'put-block-list', undefined, 'comp=blocklist&'),
    body: blockList('Committed'),
  }),
  prepare: (server) =>
    forEachBlob(server, 'put-block-list', async (url) => {
      for (const id of BLOCK_IDS) {
        const query = `comp=block&blockid=${encodeURIComponent(id)}&`
        await mustCall(url(query), { method: 'PUT', body: 'x'.repeat(4 * KIB) })
      }
      await mustCall(url('comp=blocklist&'), { method: 'PUT', body: blockList('Latest') })
    }),
  check: (server) =>
    checkLength(numbered(blobUrl(server, 'put-block-list'), 0), BLOCK_IDS.length * 4 * KIB),
}

const copyRow: Row = {
  ...common,
  name: 'copy-1m',
  work: 'Copy Blob 1 MiB',
  request: (server): LoadRequest => ({
    method: 'PUT',
    url: blobUrl(server, 'copy-1m'),
    headers: { 'x-ms-copy-source': blobUrl(server, 'copy-1m', 'source') },
  }),
  async prepare(server) {
    await createContainer(server, 'copy-1m')
    const url = blobUrl(server, 'copy-1m', 'source')
    const headers = { 'x-ms-blob-type': 'BlockBlob' }
    await mustCall(url, { method: 'PUT', headers, body: 'x'.repeat(MIB) })
  },
  check: (server, number) =>
    checkLength(numbered(blobUrl(server, 'copy-1m'), number % BLOB_COUNT), MIB),
}

const UPLOAD_BLOCKS = 32
const UPLOAD_BLOCK_BYTES = 8 * MIB
const UPLOAD_MIB = (UPLOAD_BLOCKS * UPLOAD_BLOCK_BYTES) / MIB
const UPLOADS_AT_ONCE = 8

const uploadRow: Row = {
  ...common,
  name: 'upload-256m',
  work: 'Upload of 256 MiB in 32 blocks, 8 at a time, MiB',
  request: (server) => ({ method: 'GET', url: blobUrl(server, 'upload-256m') }),
  prepare: (server) => createContainer(server, 'upload-256m'),
  drive: upload,
  async check(server) {
    const page = await mustCall(listUrl(server))
    if (!page.includes(`<Content-Length>${UPLOAD_MIB * MIB}</Content-Length>`)) {
      throw new Error('the uploaded blob is missing')
    }
  },
}

function listUrl(server: Running): string {
  return `${server.endpoint('blob')}/upload-256m?restype=container&comp=list&${server.sas}`
}

/** Uploads a large file as SDKs do. */
async function upload(server: Running): Promise<Outcome> {
  const agent = new Agent({ keepAlive: true, maxSockets: UPLOADS_AT_ONCE })
  const block = Buffer.alloc(UPLOAD_BLOCK_BYTES, 'x')
  const ids = Array.from({ length: UPLOAD_BLOCKS }, (_, i) =>
    Buffer.from(String(i).padStart(4, '0')).toString('base64'),
  )
  const url = (query: string) => blobUrl(server, 'upload-256m', 'blob', query)
  const startedMs = performance.now()
  let next = 0
  let refused = 0
  const put = async (query: string, body: string | Buffer) => {
    if ((await send(agent, url(query), body)) >= 300) refused += 1
  }
  const worker = async () => {
    for (let id = ids[next++]; id !== undefined; id = ids[next++]) {
      await put(`comp=block&blockid=${encodeURIComponent(id)}&`, block)
    }
  }
  await Promise.all(Array.from({ length: UPLOADS_AT_ONCE }, worker))
  const list = ids.map((id) => `<Latest>${id}</Latest>`).join('')
  await put('comp=blocklist&', `<BlockList>${list}</BlockList>`)
  const durationUs = (performance.now() - startedMs) * 1_000
  agent.destroy()
  const quantiles = { p50Us: 0, p99Us: 0, nextNumber: 0 }
  return { requests: UPLOAD_MIB, durationUs, bytes: 0, refused, broken: 0, ...quantiles }
}

function send(agent: Agent, url: string, body: string | Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Length': String(Buffer.byteLength(body)) }
    const sent = request(url, { method: 'PUT', agent, headers }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
