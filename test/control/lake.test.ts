// Data Lake Storage under control: faults that its SDK survives, barriers, and known states of a hierarchical account.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { DataLakeServiceClient } from '@azure/storage-file-datalake'
import {
  startServer,
  type FaultRule,
  type LazuliServer,
  type ServerOptions,
} from '../../src/server.ts'
import { outcome } from '../harness.ts'
import { LAKE, sendAs } from '../datalake/fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'lazuli-lake-'))
after(() => rmSync(folder, { recursive: true, force: true }))

async function start(t: TestContext, options: ServerOptions = {}): Promise<LazuliServer> {
  const server = await startServer(options)
  t.after(() => server.close())
  return server
}

const sdkOf = (server: LazuliServer) =>
  DataLakeServiceClient.fromConnectionString(server.connectionStringOf(LAKE), {
    retryOptions: { retryDelayInMs: 1, maxRetryDelayInMs: 2 },
  })

const LOST: readonly FaultRule[] = [
  { match: { service: 'dfs', operation: 'Append Data' }, effect: { status: 503 }, times: 1 },
  { match: { service: 'dfs', operation: 'Append Data' }, effect: { reset: 'after' }, times: 1 },
  { match: { service: 'dfs', operation: 'Flush Data' }, effect: { reset: 'before' }, times: 1 },
  { match: { service: 'dfs', operation: 'Flush Data' }, effect: { reset: 'after' }, times: 1 },
  { match: { service: 'dfs', operation: 'Create Path' }, effect: { status: 500 }, times: 1 },
  { match: { service: 'dfs' }, effect: { delay: { from: 1, to: 5 } }, probability: 0.5, seed: 3 },
]

for (const rule of LOST) {
  test(`an upload by the SDK survives ${JSON.stringify(rule)}`, async (t) => {
    const server = await start(t)
    const filesystem = sdkOf(server).getFileSystemClient('lake')
    await filesystem.create()
    const fault = server.faults.add(rule)
    const file = filesystem.getFileClient('d/f')
    await file.upload(Buffer.from('hello'))
    assert.equal((await file.readToBuffer()).toString(), 'hello')
    assert(fault.state().struckCount > 0)
    await server.expectNoRaces()
  })
}

test('a rename whose answer is lost has happened, and the second try of the SDK says that its source is gone', async (t) => {
  const server = await start(t)
  const filesystem = sdkOf(server).getFileSystemClient('lake')
  await filesystem.create()
  await filesystem.getFileClient('old').upload(Buffer.from('text'))
  server.faults.add({ match: { operation: 'Rename Path' }, effect: { reset: 'after' }, times: 1 })
  await assert.rejects(filesystem.getFileClient('old').move('new'), { code: 'SourcePathNotFound' })
  assert.equal((await filesystem.getFileClient('new').readToBuffer()).toString(), 'text')
})

test('a flush is held before it is stored, and nobody else waits', async (t) => {
  const server = await start(t)
  const filesystem = sdkOf(server).getFileSystemClient('lake')
  await filesystem.create()
  const file = filesystem.getFileClient('f')
  const barrier = server.barriers.hold({ at: 'checked', match: { operation: 'Flush Data', path: '/lake/f' } }) // prettier-ignore
  const uploading = file.upload(Buffer.from('hello'))
  await barrier.held()
  assert.equal((await file.getProperties()).contentLength, 0)
  await filesystem.getFileClient('other').create()
  await barrier.release()
  await uploading
  assert.equal((await file.getProperties()).contentLength, 5)
})

const ANN = '11111111-2222-3333-4444-555555555555'
const ACL =
  'user::rwx,group::r-x,other::---,default:user::rwx,default:group::r-x,default:other::---'

function lakeOf(server: LazuliServer) {
  const lake = sendAs(server.blobPort, LAKE)
  return {
    async fill() {
      await lake('PUT', '/lake?resource=filesystem')
      await lake('PUT', '/lake/d/e/f?resource=file')
      await lake('PATCH', '/lake/d/e/f?action=append&position=0&flush=true', {}, 'hello')
      await lake('PATCH', '/lake/d?action=setAccessControl', { 'x-ms-acl': ACL })
      await lake('PUT', '/lake/big?resource=file')
      await lake('PATCH', '/lake/big?action=append&position=0&flush=true', {}, 'x'.repeat(100_000))
      const metadata = `kind=${Buffer.from('none').toString('base64')}`
      await lake('PUT', '/lake/empty?resource=directory', { 'x-ms-properties': metadata })
      const own = { 'x-ms-owner': ANN, 'x-ms-group': ANN, 'x-ms-permissions': '1750' }
      await lake('PATCH', '/lake/empty?action=setAccessControl', own)
      await lake('PATCH', '/lake/big?action=setAccessControl', { 'x-ms-owner': ANN })
      await lake('PATCH', '/lake/?action=setAccessControl', { 'x-ms-acl': ACL })
    },
    /** Moves a tree, deletes, and creates. */
    async change() {
      await lake('PUT', '/lake/moved', { 'x-ms-rename-source': '/lake/d' })
      await lake('DELETE', '/lake/big')
      await lake('PUT', '/lake/new?resource=file')
    },
    async paths(): Promise<readonly string[] | string> {
      const answer = await lake('GET', '/lake?resource=filesystem&recursive=true')
      if (answer.status !== 200) return outcome(answer)
      const { paths } = JSON.parse(answer.text) as { paths: { name: string }[] }
      return paths.map(({ name }) => name)
    },
    async content() {
      const [small, big] = [await lake('GET', '/lake/d/e/f'), await lake('GET', '/lake/big')]
      const empty = await lake('HEAD', '/lake/empty')
      return [small.text, big.text.length, empty.headers['x-ms-properties']]
    },
    /** Of all paths: owner, group, permissions and list. */
    async access(): Promise<readonly unknown[]> {
      const all = ['', ...FILLED].map(async (path) => {
        const { headers } = await lake('HEAD', `/lake/${path}?action=getAccessControl`)
        const named = ['owner', 'group', 'permissions', 'acl'].map((of) => headers[`x-ms-${of}`])
        return [path, ...named]
      })
      return Promise.all(all)
    },
  }
}

const FILLED = ['big', 'd', 'd/e', 'd/e/f', 'empty']
const CHANGED = ['empty', 'moved', 'moved/e', 'moved/e/f', 'new']

for (const [kind, options] of Object.entries({ memory: {}, 'a folder': { location: folder } })) {
  test(`a hierarchical account in ${kind} is saved, restored, forked, exported, reset and seeded`, async (t) => {
    const server = await start(t, options)
    const lake = lakeOf(server)
    await lake.fill()
    const [content, access] = [await lake.content(), await lake.access()]
    assert.deepEqual(access, [
      ['', '$superuser', '$superuser', 'rwxr-x---', ACL],
      ['big', ANN, '$superuser', 'rw-r-----', 'user::rw-,group::r--,other::---'],
      ['d', '$superuser', '$superuser', 'rwxr-x---', ACL],
      ['d/e', '$superuser', '$superuser', 'rwxr-x---', 'user::rwx,group::r-x,other::---'],
      ['d/e/f', '$superuser', '$superuser', 'rw-r-----', 'user::rw-,group::r--,other::---'],
      ['empty', ANN, ANN, 'rwxr-x--T', 'user::rwx,group::r-x,other::---'],
    ])
    await server.snapshots.save('filled')
    await lake.change()
    assert.deepEqual(await lake.paths(), CHANGED)

    const fork = await server.snapshots.fork('filled')
    const forked = lakeOf(fork)
    assert.deepEqual([await forked.content(), await forked.access()], [content, access])
    await forked.change()
    assert.deepEqual(await forked.paths(), CHANGED)
    await fork.close()

    await server.snapshots.restore('filled')
    assert.deepEqual([await lake.paths(), await lake.content()], [FILLED, content])
    assert.deepEqual(await lake.access(), access)
    const out = join(folder, `export of ${kind}`)
    await server.export(out)
    for (const scope of [{ account: LAKE }, { service: 'blob', container: 'lake' }, {}] as const) {
      await lake.fill()
      assert.deepEqual(await server.reset(scope), { removedCount: 1 })
      assert.equal(await lake.paths(), '404 FilesystemNotFound')
    }
    await server.seed(out)
    assert.deepEqual(await lake.paths(), FILLED)
    assert.deepEqual([await lake.content(), await lake.access()], [content, access])
  })
}
