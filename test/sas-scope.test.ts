// Paths that try to escape the scope of a SAS: dots, encoded slashes, backslashes, `$root`, hard links. The strings to
// sign are built here, by hand.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import {
  generateFileSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-file-share'
import { BLOCK_BLOB } from './blob/fixture.ts'
import {
  ACCOUNT,
  ACCOUNT_KEY,
  outcome,
  rawRequest,
  startTestServer,
  type TestServer,
} from './harness.ts'

const FAILED = '403 AuthenticationFailed'
const VERSION = '2022-11-02'

let server: TestServer
before(async () => {
  server = await startTestServer()
  for (const container of ['vault', 'box', '$root']) {
    await own('PUT', `/${container}?restype=container`)
  }
  for (const blob of [
    'box/dir/mine',
    'box/payroll/x',
    'box/x/y',
    'vault/inside',
    '%24root/vault',
  ]) {
    await own('PUT', `/${blob}`, BLOCK_BLOB, 'text')
  }
})
after(() => server.close())

async function own(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = '',
): Promise<void> {
  const { status, text } = await rawRequest(server, { method, path, headers, body })
  assert.ok(status < 300, text)
}

type Signed = { readonly resource: 'b' | 'c' | 'd'; readonly name: string; readonly depth?: number }

function sasFor({ resource, name, depth }: Signed, permissions = 'racwd'): string {
  const expiry = new Date(server.now() + 3_600_000).toISOString().slice(0, 19) + 'Z'
  const fields = [
    permissions,
    '',
    expiry,
    `/blob/${ACCOUNT}/${name}`,
    '',
    '',
    '',
    VERSION,
    resource,
  ]
  const text = [...fields, '', '', '', '', '', '', ''].join('\n')
  const key = Buffer.from(ACCOUNT_KEY, 'base64')
  const sig = createHmac('sha256', key).update(text).digest('base64')
  const query = new URLSearchParams({ sv: VERSION, sr: resource, sp: permissions, se: expiry, sig })
  if (depth !== undefined) query.set('sdd', String(depth))
  return query.toString()
}

async function ask(method: string, path: string, sas: string): Promise<string> {
  const body = method === 'PUT' ? { body: 'text' } : {}
  return outcome(
    await rawRequest(server, { method, path, headers: BLOCK_BLOB, sign: sas, ...body }),
  )
}

describe('a SAS for a directory', () => {
  const ESCAPES = [
    '/box/dir/../payroll/x',
    '/box/dir%2F..%2Fpayroll%2Fx',
    '/box/dir/%2e%2e/payroll/x',
    '/box/dir/./../payroll/x',
    '/box/dir/.%2E/payroll/x',
    '/box/dir%5C..%5Cpayroll%5Cx',
    '/box/dir/sub/../../payroll/x',
  ]
  const directory = { resource: 'd', name: 'box/dir', depth: 1 } as const
  for (const path of ESCAPES) {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      test(`does not reach ${method} ${path}`, async () => {
        assert.equal(await ask(method, path, sasFor(directory)), FAILED)
      })
    }
    test(`does not copy from ${path}`, async () => {
      const source = `${server.blobEndpoint}${path}?${sasFor(directory)}`
      const headers = { 'x-ms-copy-source': source }
      const answer = await rawRequest(server, { method: 'PUT', path: '/box/copied', headers })
      assert.equal(answer.status, 403, answer.text)
    })
  }
  test('reaches the files in it by any path', async () => {
    for (const path of ['/box/dir/mine', '/box/payroll/../dir/mine', '/box/dir%5Cmine']) {
      assert.equal(await ask('GET', path, sasFor(directory)), '200', path)
    }
  })
})

describe('a SAS for a container', () => {
  const vault = { resource: 'c', name: 'vault' } as const
  for (const method of ['GET', 'PUT', 'DELETE']) {
    test(`does not permit ${method} of the blob in $root with the container's name`, async () => {
      assert.equal(await ask(method, '/vault', sasFor(vault)), FAILED)
    })
  }
  test('reaches its blobs', async () => {
    assert.equal(await ask('GET', '/vault/inside', sasFor(vault)), '200')
  })
})

test('a SAS for a blob in $root is signed with its full path', async () => {
  const sas = sasFor({ resource: 'b', name: '$root/vault' })
  assert.equal(await ask('GET', '/vault', sas), '200')
  assert.equal(await ask('GET', '/%24root/vault', sas), '200')
})

test('a backslash in a name is signed as the slash under which it is stored', async () => {
  const sas = sasFor({ resource: 'b', name: 'box/x/y' })
  assert.equal(await ask('GET', '/box/x%5Cy', sas), '200')
  assert.equal(await ask('GET', '/box/x/y', sas), '200')
})

test('a SAS for one file of an NFS share does not permit a link to another', async () => {
  const files = { blobPort: server.filePort }
  const nfs = { 'x-ms-enabled-protocols': 'NFS', 'x-ms-access-tier': 'Premium' }
  await rawRequest(files, { method: 'PUT', path: '/nfs?restype=share', headers: nfs })
  const file = { 'x-ms-type': 'file', 'x-ms-content-length': '5' }
  await rawRequest(files, { method: 'PUT', path: '/nfs/secret.txt', headers: file })
  const values = { shareName: 'nfs', expiresOn: new Date(server.now() + 3_600_000) }
  const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const link = (sas: string) =>
    rawRequest(files, {
      method: 'PUT',
      path: '/nfs/mine.txt?restype=hardlink',
      headers: { 'x-ms-type': 'file', 'x-ms-file-target-file': '/secret.txt' },
      sign: sas,
    })
  const sasOf = (filePath: string | undefined) => {
    const scope = filePath === undefined ? {} : { filePath }
    const permissions = { toString: () => 'rcwd' } as never
    return generateFileSASQueryParameters(
      { ...values, ...scope, permissions },
      credential,
    ).toString()
  }
  assert.equal(outcome(await link(sasOf('mine.txt'))), FAILED)
  assert.equal(
    outcome(await rawRequest(files, { method: 'GET', path: '/nfs/mine.txt' })),
    '404 ResourceNotFound',
  )
  assert.equal(outcome(await link(sasOf(undefined))), '201')
})
