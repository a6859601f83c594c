// Which endpoint a request is for, as clients send them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRequestHead } from '../../http/protocol/request-head.ts'
import { accountKey } from '../../storage/shared/account.ts'
import { endpointOf } from './endpoint.ts'

const accounts = {
  get: (name: string) => (name === 'lake' ? { name, keys: [accountKey('a2V5')] } : undefined),
}

type Row = readonly [method: string, target: string, headers?: Readonly<Record<string, string>>]

function endpoint([method, target, headers = {}]: Row, port: 'blob' | 'dfs'): string {
  return endpointOf({ ...HEAD, method, target, headers }, { accounts, pathStyleOnly: false, port })
}

const HEAD = parseRequestHead('GET / HTTP/1.1\r\nHost: x\r\n')

const JSON_ONLY = { accept: 'application/json, application/octet-stream' }
const XML = { accept: 'application/xml' }

// prettier-ignore
const LAKE: readonly Row[] = [
  ['PUT', '/lake/fs?resource=filesystem'], ['GET', '/lake?resource=account'], ['PUT', '/lake/fs/a?resource=file'],
  ['PATCH', '/lake/fs/a?action=flush&position=0'], ['PUT', '/lake/fs/a?action=append&position=0', { 'x-http-method-override': 'PATCH' }],
  ['PUT', '/lake/fs/b', { 'x-ms-rename-source': '/fs/a' }], ['DELETE', '/lake/fs/a?recursive=true'],
  ['HEAD', '/lake/fs/?action=getAccessControl&upn=false'], ['POST', '/lake/fs/a', { 'x-ms-lease-action': 'acquire' }],
  ['GET', '/lake/fs?timeout=9&Recursive=false&resource=filesystem'], ['GET', '/lake/fs/a', JSON_ONLY],
  ['HEAD', '/lake/fs/a', JSON_ONLY], ['DELETE', '/lake/fs/a', { accept: 'application/json' }],
  ['PUT', '/lake/fs/a?comp=undelete', { 'x-ms-undelete-source': 'a?deletionid=1' }],
  ['GET', '/fs/a', { host: 'lake.dfs.localhost:10000' }], ['PUT', '/fs/a?comp=block', { host: 'LAKE.DFS.core.windows.net' }],
  ['GET', '/fs/a', { host: 'lake-secondary.dfs.core.windows.net' }],
]
for (const row of LAKE) {
  test(`${row.join(' ')} is for Data Lake Storage on every port`, () => {
    assert.deepEqual([endpoint(row, 'blob'), endpoint(row, 'dfs')], ['dfs', 'dfs'])
  })
}

// prettier-ignore
const BLOB: readonly Row[] = [
  ['PUT', '/lake/c?restype=container'], ['PUT', '/lake/c/a', { 'x-ms-blob-type': 'BlockBlob' }],
  ['PUT', '/lake/c/a?comp=lease', { 'x-ms-lease-action': 'acquire' }], ['GET', '/lake/c?restype=container&comp=list'],
  ['POST', '/lake/c/a?comp=lease', { 'x-ms-lease-action': 'acquire' }], ['PUT', '/lake/c/a', { 'x-ms-copy-source': 'http://x' }],
  ['GET', '/lake/c/a?snapshot=1'], ['GET', '/lake/c/a', XML], ['HEAD', '/lake/c/a', XML],
  ['GET', '/c/a?resource=file', { host: 'lake.blob.localhost' }],
  ['GET', '/c?restype=container&comp=list&showonly=deleted', { host: 'lake.dfs.localhost' }],
]
for (const row of BLOB) {
  test(`${row.join(' ')} is for the Blob service on every port`, () => {
    assert.deepEqual([endpoint(row, 'blob'), endpoint(row, 'dfs')], ['blob', 'blob'])
  })
}

// prettier-ignore
const EITHER: readonly Row[] = [
  ['GET', '/lake/c/a'], ['PATCH', '/lake/c/a'], ['GET', '/lake/c/a', { accept: '*/*' }], ['HEAD', '/lake/c/a'], ['DELETE', '/lake/c/a'],
  ['GET', '/lake/c/a', { accept: 'application/json, text/plain, */*' }], ['PUT', '/lake/c/a?comp=expiry'],
  ['GET', '/lake/c/interaction=1'], ['OPTIONS', '/lake/c/a'], ['GET', '/lake/c/a', { host: 'machine.dfs.example' }],
]
for (const row of EITHER) {
  test(`${row.join(' ')} is for whatever the port is called`, () => {
    assert.deepEqual([endpoint(row, 'blob'), endpoint(row, 'dfs')], ['blob', 'dfs'])
  })
}

test('with path style only, the host says nothing', () => {
  const headers = { host: 'lake.dfs.x' }
  const head = { ...HEAD, target: '/lake/c/a', headers }
  assert.equal(endpointOf(head, { accounts, pathStyleOnly: true, port: 'blob' }), 'blob')
})
