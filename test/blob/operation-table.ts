// Every operation on the content, properties or tags of one blob, as a request that succeeds on a new blob: the rows of
// tests that apply to all of them.
import assert from 'node:assert/strict'
import { rawRequest, type Headers, type RawResponse, type TestServer } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture, type BlobFixture } from './fixture.ts'

export type BlobOperation = {
  readonly name: string
  /** The type of blob to which it applies. */
  readonly of: 'BlockBlob' | 'AppendBlob' | 'PageBlob'
  /** Whether it needs the lease id; for a read, an id must only match if it is sent. */
  readonly lease: 'read' | 'write'
  /** The conditions that it accepts: those of reads, updates or creations, or none. */
  readonly conditions: 'read' | 'update' | 'create' | 'none'
  readonly ifTags: boolean
  /** The prefix of the four condition headers. */
  readonly prefix?: '' | 'x-ms-blob-'
  /** For copies: a lease on the destination has to be infinite. */
  readonly needsInfiniteLease?: true
  /** Conditions of the destination have their own error code. */
  readonly isCopy?: true
  readonly ok: string
  readonly method: string
  readonly query?: string
  readonly headers?: Headers
  /** The blob of the public container that it copies. */
  readonly source?: 'block' | 'page'
  readonly body?: string
}

const READ = { of: 'BlockBlob', lease: 'read', conditions: 'read', ifTags: true, ok: '200', method: 'GET' } as const // prettier-ignore
const UPDATE = { of: 'BlockBlob', lease: 'write', conditions: 'update', ifTags: true, ok: '200', method: 'PUT' } as const // prettier-ignore
const CREATE = { ...UPDATE, conditions: 'create', ok: '201' } as const
const ADD = { ...UPDATE, ok: '201' } as const

const BLOCK = `&blockid=${Buffer.from('blocks').toString('base64url')}`
const BLOCK_LIST = '<BlockList />'
const PAGE = { 'x-ms-range': 'bytes=0-511' }
const SOURCE_PAGE = { ...PAGE, 'x-ms-page-write': 'update', 'x-ms-source-range': 'bytes=0-511' }
const QUERY =
  '<QueryRequest><QueryType>SQL</QueryType>' +
  '<Expression>SELECT * FROM BlobStorage</Expression></QueryRequest>'
const TAGS = '<Tags><TagSet><Tag><Key>changed</Key><Value>yes</Value></Tag></TagSet></Tags>'

// prettier-ignore
export const BLOB_OPERATIONS: readonly BlobOperation[] = [
  { ...READ, name: 'Get Blob' },
  { ...READ, name: 'Get Blob Properties', method: 'HEAD' },
  { ...READ, name: 'Get Blob Metadata', query: '?comp=metadata' },
  { ...READ, name: 'Get Blob Tags', query: '?comp=tags', prefix: 'x-ms-blob-' },
  { ...READ, name: 'Get Block List', query: '?comp=blocklist', conditions: 'none' },
  { ...READ, name: 'Get Page Ranges', of: 'PageBlob', query: '?comp=pagelist' },
  { ...READ, name: 'Query Blob Contents', method: 'POST', query: '?comp=query', body: QUERY },
  // A PUT, but it does not need the lease id.
  { ...UPDATE, name: 'Snapshot Blob', lease: 'read', query: '?comp=snapshot', ok: '201' },

  { ...CREATE, name: 'Put Blob', headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'new' },
  { ...CREATE, name: 'Put Blob of many bytes', headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'new'.repeat(5_000) },
  { ...CREATE, name: 'Put Append Blob', of: 'AppendBlob', headers: { 'x-ms-blob-type': 'AppendBlob' } },
  { ...CREATE, name: 'Put Page Blob', of: 'PageBlob', headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '512' } },
  { ...CREATE, name: 'Put Blob From URL', headers: { 'x-ms-blob-type': 'BlockBlob' }, source: 'block', isCopy: true },
  { ...CREATE, name: 'Copy Blob', ok: '202', source: 'block', needsInfiniteLease: true, isCopy: true },
  { ...CREATE, name: 'Copy Blob From URL', ok: '202', headers: { 'x-ms-requires-sync': 'true' }, source: 'block', needsInfiniteLease: true, isCopy: true },
  { ...CREATE, name: 'Put Block List', query: '?comp=blocklist', body: BLOCK_LIST },
  { ...CREATE, name: 'Put Block', query: `?comp=block${BLOCK}`, body: 'block', conditions: 'none', ifTags: false },
  { ...CREATE, name: 'Put Block From URL', query: `?comp=block${BLOCK}`, source: 'block', conditions: 'none', ifTags: false },

  { ...UPDATE, name: 'Set Blob Metadata', query: '?comp=metadata', headers: { 'x-ms-meta-state': 'changed' } },
  { ...UPDATE, name: 'Set Blob Properties', query: '?comp=properties', headers: { 'x-ms-blob-content-type': 'text/changed' } },
  { ...UPDATE, name: 'Set Blob Tags', query: '?comp=tags', ok: '204', body: TAGS, prefix: 'x-ms-blob-' },
  { ...UPDATE, name: 'Set Blob Tier', query: '?comp=tier', headers: { 'x-ms-access-tier': 'Cool' }, conditions: 'none' },
  { ...UPDATE, name: 'Delete Blob', method: 'DELETE', ok: '202' },
  { ...ADD, name: 'Append Block', of: 'AppendBlob', query: '?comp=appendblock', body: 'more' },
  { ...ADD, name: 'Append Block From URL', of: 'AppendBlob', query: '?comp=appendblock', source: 'block' },
  { ...UPDATE, name: 'Seal Append Blob', of: 'AppendBlob', query: '?comp=seal', ifTags: false },
  { ...ADD, name: 'Put Page', of: 'PageBlob', query: '?comp=page', headers: { ...PAGE, 'x-ms-page-write': 'update' }, body: 'p'.repeat(512) },
  { ...ADD, name: 'Put Page From URL', of: 'PageBlob', query: '?comp=page', headers: SOURCE_PAGE, source: 'page' },
  { ...ADD, name: 'Clear Pages', of: 'PageBlob', query: '?comp=page', headers: { ...PAGE, 'x-ms-page-write': 'clear' } },
  { ...UPDATE, name: 'Set Blob Properties (length)', of: 'PageBlob', query: '?comp=properties', headers: { 'x-ms-blob-content-length': '1024' } },
]

const CREATED: Readonly<Record<BlobOperation['of'], readonly [Headers, string]>> = {
  BlockBlob: [{}, 'text'],
  AppendBlob: [{}, ''],
  PageBlob: [{ 'x-ms-blob-content-length': '512' }, ''],
}

/** A server with the container `box`, and a container `public` that holds the sources of copies. */
export async function startForOperations(): Promise<BlobFixture> {
  const fixture = await startBlobFixture()
  const put = async (path: string, headers: Headers, body = '') => {
    const answer = await fixture.send('PUT', path, headers, body)
    assert.equal(answer.status, 201, answer.text)
  }
  await put('/public?restype=container', { 'x-ms-blob-public-access': 'blob' })
  await put('/public/block', BLOCK_BLOB, 'source')
  await put('/public/page', BLOCK_BLOB, 's'.repeat(512))
  return fixture
}

export async function makeBlob(
  server: TestServer,
  path: string,
  of: BlobOperation['of'],
  headers: Headers = {},
): Promise<RawResponse> {
  const [own, body] = CREATED[of]
  const all = { 'x-ms-blob-type': of, ...own, ...headers }
  const answer = await rawRequest(server, { method: 'PUT', path, headers: all, body })
  assert.equal(answer.status, 201, answer.text)
  return answer
}

export function runOperation(
  server: TestServer,
  operation: BlobOperation,
  path: string,
  headers: Headers = {},
): Promise<RawResponse> {
  const { method, query = '', source, body } = operation
  const all = {
    ...operation.headers,
    ...(source !== undefined && { 'x-ms-copy-source': `${server.blobEndpoint}/public/${source}` }),
    ...headers,
  }
  const request = { method, path: path + query, headers: all }
  return rawRequest(server, body === undefined ? request : { ...request, body })
}
