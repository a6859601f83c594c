// A SAS for a directory, and one for a file, at the endpoint of Data Lake Storage: operations that name a second path get no further with it
// than those that name one. The strings to sign are built by hand.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, beforeEach, describe, test } from 'node:test'
import { LAKE, sendAs, writeFile } from '../datalake/fixture.ts'
import { ACCOUNT_KEY, outcome, type Headers, type Send } from '../harness.ts'
import { changesOf, stateOf } from '../hostile-store.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'

const VERSION = '2022-11-02'
const EXPIRY = '2099-01-01T00:00:00Z'
const FAILED = '403 AuthenticationFailed'

let server: RunningTestServer
let own: Send
let deletion = ''

before(async () => {
  server = await runTestServer({ silent: true })
  own = sendAs(server.dfsPort, LAKE)
  const blobs = sendAs(server.blobPort, LAKE)
  const retention = '<DeleteRetentionPolicy><Enabled>true</Enabled><Days>3</Days></DeleteRetentionPolicy>'
  const body = `<StorageServiceProperties>${retention}</StorageServiceProperties>`
  await blobs('PUT', '/?restype=service&comp=properties', {}, body)
  await own('PUT', '/box?resource=filesystem')
  await writeFile(own, '/box/secret/deleted', 'text')
  deletion = String((await own('DELETE', '/box/secret/deleted')).headers['x-ms-deletion-id'])
}) // prettier-ignore
after(() => server.close())

beforeEach(async () => {
  for (const path of ['mine/a', 'mine/sub/b', 'mine2/c', 'secret/x']) {
    await writeFile(own, `/box/${path}`, 'text')
  }
})

type Scope = { readonly sr: 'b' | 'd'; readonly path: string }

/** All letters: what is refused is the path. */
function sasFor({ sr, path }: Scope, sp = 'racwdxltmeop'): string {
  const resource = `/blob/${LAKE}/box/${path}`
  const lines = [sp, '', EXPIRY, resource, '', '', '', VERSION, sr, '', '', '', '', '', '', '']
  const sig = createHmac('sha256', Buffer.from(ACCOUNT_KEY, 'base64')).update(lines.join('\n')).digest('base64')
  const depth = sr === 'd' ? { sdd: String(path.split('/').length) } : undefined
  return new URLSearchParams({ sv: VERSION, sp, se: EXPIRY, sr, sig, ...depth }).toString()
} // prettier-ignore

const DIRECTORY: Scope = { sr: 'd', path: 'mine' }
const FILE: Scope = { sr: 'b', path: 'mine/a' }
const source = (path: string): Headers => ({ 'x-ms-rename-source': path })
const deleted = (path: string): Headers => ({ 'x-ms-undelete-source': `${path}?deletionid={id}` })

/** What the SAS opens, but not all that the request names. */
const ESCAPES: readonly [Scope, method: string, path: string, headers?: Headers][] = [
  [DIRECTORY, 'GET', '/box/secret/x'],
  [DIRECTORY, 'GET', '/box/mine/../secret/x'],
  [DIRECTORY, 'GET', '/box/mine%2F..%2Fsecret%2Fx'],
  [DIRECTORY, 'GET', '/box/mine2/c'],
  [DIRECTORY, 'DELETE', '/box/secret?recursive=true'],
  [DIRECTORY, 'DELETE', '/box/mine/..?recursive=true'],
  [DIRECTORY, 'GET', '/box?resource=filesystem&recursive=true'],
  [DIRECTORY, 'GET', '/box?resource=filesystem&recursive=true&directory=secret'],
  [DIRECTORY, 'GET', '/box?resource=filesystem&recursive=true&directory=mine/../secret'],
  [DIRECTORY, 'GET', '/box?resource=filesystem&recursive=true&directory=mine2'],
  [DIRECTORY, 'PUT', '/box/mine/new', source('/box/secret/x')],
  [DIRECTORY, 'PUT', '/box/mine/new', source('/box/mine/../secret/x')],
  [DIRECTORY, 'PUT', '/box/mine/new', source('/box/mine%2F..%2Fsecret%2Fx')],
  [DIRECTORY, 'PUT', '/box/mine/new', source(`/${LAKE}/box/secret/x`)],
  [DIRECTORY, 'PUT', '/box/mine/new', source('/box/mine2/c')],
  [DIRECTORY, 'PUT', '/box/secret/new', source('/box/mine/a')],
  [DIRECTORY, 'PUT', '/box/mine2/new', source('/box/mine/a')],
  [DIRECTORY, 'PUT', '/box/new', source('/box/mine')],
  [DIRECTORY, 'PUT', '/box/mine/new?comp=undelete', deleted('secret/deleted')],
  [DIRECTORY, 'PUT', '/box/mine/new?comp=undelete', deleted('/secret/deleted')],
  [DIRECTORY, 'PUT', '/box/mine/new?comp=undelete', deleted('secret%2Fdeleted')],
  [DIRECTORY, 'PATCH', '/box/secret?action=setAccessControlRecursive&mode=modify', { 'x-ms-acl': 'other::rwx' }],
  [FILE, 'GET', '/box/mine/sub/b'],
  [FILE, 'GET', '/box?resource=filesystem&recursive=true&directory=mine'],
  [FILE, 'PUT', '/box/mine/a', source('/box/mine/sub/b')],
  [FILE, 'PUT', '/box/mine/b', source('/box/mine/a')],
  [FILE, 'PUT', '/box/mine/a?comp=undelete', deleted('secret/deleted')],
] // prettier-ignore

describe('outside of its scope,', () => {
  for (const [scope, method, path, headers = {}] of ESCAPES) {
    test(`a SAS for ${scope.path} is refused ${method} ${path} ${Object.values(headers).join()}`, async () => {
      const state = await stateOf(server.store)
      const filled = Object.entries(headers).map(([name, text]) => [name, String(text).replace('{id}', deletion)]) // prettier-ignore
      const answer = await own(method, path, Object.fromEntries(filled), undefined, sasFor(scope))
      assert.equal(outcome(answer), path.includes('/..?') ? '400 InvalidUri' : FAILED, answer.text)
      assert.deepEqual(changesOf(state, await stateOf(server.store)), [])
    })
  }

  test('a source may have a SAS of its own, which has to allow that it is moved', async () => {
    const rename = (sas: string) =>
      own('PUT', '/box/mine/new', source(`/box/secret/x?${sas}`), undefined, sasFor(DIRECTORY))
    const secret: Scope = { sr: 'b', path: 'secret/x' }
    for (const letters of ['r', 'w', 'c', 'racw']) {
      const refused = await rename(sasFor(secret, letters))
      assert.equal(outcome(refused), '403 AuthorizationPermissionMismatch', letters)
    }
    assert.equal(outcome(await rename(sasFor(secret, 'd'))), '201')
  })
})

test('within its scope, a SAS for a directory allows all of that', async () => {
  const ask = async (method: string, path: string, headers: Headers = {}) =>
    outcome(await own(method, path, headers, undefined, sasFor(DIRECTORY)))
  assert.equal(await ask('GET', '/box/mine/sub/b'), '200')
  assert.equal(await ask('GET', '/box?resource=filesystem&recursive=true&directory=mine'), '200')
  assert.equal(await ask('PUT', '/box/mine/moved', source('/box/mine/sub/b')), '201')
  const removed = await own('DELETE', '/box/mine/moved', {}, undefined, sasFor(DIRECTORY))
  const id = String(removed.headers['x-ms-deletion-id'])
  const undelete = { 'x-ms-undelete-source': `mine/moved?deletionid=${id}` }
  assert.equal(await ask('PUT', '/box/mine/again?comp=undelete', undelete), '200')
  assert.equal(await ask('DELETE', '/box/mine/sub?recursive=true'), '200')
})
