// Files on several nodes over PostgreSQL, each node with its own connections.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test, type TestContext } from 'node:test'
import { openPostgresEngine } from '../../src/kv/engine/postgres.ts'
import { SKIP_REASON, testServer } from '../../src/postgres/harness.ts'
import { connectionSettings } from '../../src/postgres/settings.ts'
import { assertBytes } from '../assert-bytes.ts'
import { shareClient } from '../file/fixture.ts'
import { outcome, sendTo } from '../harness.ts'
import { SmbClient, statusOf } from '../smb/smb-client.ts'
import { startBeatingCluster } from './cluster.ts'

const OPEN_IF = { disposition: 3, access: 0x001f01ff } as const
const LATE =
  /warn: (?:the home of the files cannot be reached|an SMB request failed|the File service could not)/

async function startBox(t: TestContext) {
  const server = await testServer()
  const settings = connectionSettings(server.url(await server.newDatabase()), {})
  const openEngine = () => openPostgresEngine(settings)
  const { nodes, pass } = await startBeatingCluster(t, { count: 3, openEngine, expectedLog: LATE })
  const [first, second, third] = nodes
  assert(first && second && third)
  await shareClient(third, 'box').create()
  return { nodes, pass, first, second, third }
}

describe('PostgreSQL', { skip: SKIP_REASON ?? false }, () => {
  test('REST and SMB clients of all nodes see the same files, opens and copies', async (t) => {
    const { nodes, first, second, third } = await startBox(t)
    const bytes = randomBytes(300_000)
    const file = shareClient(second, 'box').rootDirectoryClient.getFileClient('f')
    await file.uploadData(bytes)
    const client = await SmbClient.connect({ port: third.smbPort, share: 'box' })
    t.after(() => client.end())
    const handle = await client.open('f', { ...OPEN_IF, share: 1 })
    assertBytes(await handle.read(0, bytes.length), bytes)
    for (const node of nodes) {
      const answer = await sendTo(node.filePort)('DELETE', '/box/f')
      assert.equal(outcome(answer), '409 SharingViolation')
    }
    await handle.close()
    assert.equal(outcome(await sendTo(first.blobPort)('PUT', '/box?restype=container')), '201')
    for (const node of nodes) {
      const source = `${node.fileEndpoint}/box/f`
      const headers = { 'x-ms-copy-source': source, 'x-ms-blob-type': 'BlockBlob' }
      assert.equal(outcome(await sendTo(node.blobPort)('PUT', '/box/copy', headers)), '201')
      const copy = await sendTo(third.blobPort)('GET', '/box/copy')
      assertBytes(copy.body, bytes)
    }
  })

  test('the files move when their home falls silent, and it can not answer any more', async (t) => {
    const { nodes, pass, first, second, third } = await startBox(t)
    const client = await SmbClient.connect({ port: third.smbPort, share: 'box' })
    t.after(() => client.end())
    const handle = await client.open('f', { ...OPEN_IF, share: 0 })
    await handle.write(0, 'kept')
    pass()
    await second.cluster.beat()
    assert.equal(outcome(await sendTo(first.filePort)('DELETE', '/box/f')), '503 ServerBusy')
    await assert.rejects(handle.write(0, 'lost'), /ended/)
    for (const { cluster } of nodes) await cluster.beat()
    const again = await SmbClient.connect({ port: first.smbPort, share: 'box' })
    t.after(() => again.end())
    const reopened = await again.open('f', { ...OPEN_IF, share: 0 })
    assert.equal(String(await reopened.read(0, 4)), 'kept')
    const other = await SmbClient.connect({ port: third.smbPort, share: 'box' })
    t.after(() => other.end())
    assert.equal(await statusOf(other.open('f')), 'SHARING_VIOLATION')
  })
})
