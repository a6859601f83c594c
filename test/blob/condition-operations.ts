// The operations that accept conditions: the blob before, the request, and the outcome if the condition is met.

export type Headers = Readonly<Record<string, string>>

export const PUT_HEADERS = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-state': 'first' }

export type Kind = 'read' | 'put' | 'update'
export type Operation = {
  readonly name: string
  readonly kind: Kind
  readonly ok: string
  readonly method: string
  readonly query?: string
  readonly headers?: Headers
  readonly body?: string
  /** The type of the blob; a block blob if left out. */
  readonly blob?: 'PageBlob' | 'AppendBlob'
  /** The operation does not change what Get Blob returns. */
  readonly isUnseen?: true
}

/** The blob before the operation, by type. */
export const BLOBS = {
  BlockBlob: { headers: PUT_HEADERS, body: 'old' },
  AppendBlob: { headers: { ...PUT_HEADERS, 'x-ms-blob-type': 'AppendBlob' }, body: '' },
  PageBlob: {
    headers: { ...PUT_HEADERS, 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '1024' },
    body: '',
  },
} as const

export const PUT = { kind: 'put', ok: '201', method: 'PUT' } as const
const UPDATE = { kind: 'update', ok: '201', method: 'PUT' } as const
const FIRST_PAGE = { 'x-ms-range': 'bytes=0-511', 'x-ms-page-write': 'update' }
export const OPERATIONS: readonly Operation[] = [
  { name: 'Get Blob', kind: 'read', ok: '200', method: 'GET' },
  { name: 'Get Blob Properties', kind: 'read', ok: '200', method: 'HEAD' },
  { name: 'Get Blob Metadata', kind: 'read', ok: '200', method: 'GET', query: '?comp=metadata' },
  { name: 'Head Blob Metadata', kind: 'read', ok: '200', method: 'HEAD', query: '?comp=metadata' },
  { ...PUT, name: 'Put Blob', headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'new' },
  {
    ...PUT,
    name: 'Put Blob of many bytes',
    headers: { 'x-ms-blob-type': 'BlockBlob' },
    body: 'new'.repeat(10_000),
  },
  {
    name: 'Set Blob Metadata',
    kind: 'update',
    ok: '200',
    method: 'PUT',
    query: '?comp=metadata',
    headers: { 'x-ms-meta-state': 'second' },
  },
  {
    name: 'Set Blob Properties',
    kind: 'update',
    ok: '200',
    method: 'PUT',
    query: '?comp=properties',
    headers: { 'x-ms-blob-content-type': 'text/second' },
  },
  { name: 'Delete Blob', kind: 'update', ok: '202', method: 'DELETE' },
  { ...PUT, name: 'Put Page Blob', headers: BLOBS.PageBlob.headers, body: '' },
  { ...PUT, name: 'Put Append Blob', headers: BLOBS.AppendBlob.headers, body: '' },
  { ...PUT, name: 'Put Block List', query: '?comp=blocklist', body: '<BlockList></BlockList>' },
  { ...PUT, name: 'Copy Blob', ok: '202', headers: { 'x-ms-copy-source': 'SOURCE' } },
  {
    ...PUT,
    name: 'Copy Blob From URL',
    ok: '202',
    headers: { 'x-ms-copy-source': 'SOURCE', 'x-ms-requires-sync': 'true' },
  },
  {
    ...PUT,
    name: 'Put Blob From URL',
    headers: { 'x-ms-copy-source': 'SOURCE', 'x-ms-blob-type': 'BlockBlob' },
    body: '',
  },
  { ...UPDATE, name: 'Snapshot Blob', query: '?comp=snapshot', isUnseen: true },
  {
    ...UPDATE,
    name: 'Lease Blob',
    query: '?comp=lease',
    headers: { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' },
  },
  { ...UPDATE, name: 'Append Block', query: '?comp=appendblock', body: 'new', blob: 'AppendBlob' },
  {
    ...UPDATE,
    name: 'Seal Append Blob',
    ok: '200',
    query: '?comp=seal',
    blob: 'AppendBlob',
  },
  {
    ...UPDATE,
    name: 'Put Page',
    query: '?comp=page',
    headers: FIRST_PAGE,
    body: 'x'.repeat(512),
    blob: 'PageBlob',
  },
  {
    ...UPDATE,
    name: 'Clear Pages',
    query: '?comp=page',
    headers: { ...FIRST_PAGE, 'x-ms-page-write': 'clear' },
    body: '',
    blob: 'PageBlob',
  },
  {
    name: 'Get Page Ranges',
    kind: 'read',
    ok: '200',
    method: 'GET',
    query: '?comp=pagelist',
    blob: 'PageBlob',
  },
  {
    ...UPDATE,
    name: 'Set Blob Properties of a page blob',
    ok: '200',
    query: '?comp=properties',
    headers: { 'x-ms-blob-content-length': '512' },
    blob: 'PageBlob',
  },
]
