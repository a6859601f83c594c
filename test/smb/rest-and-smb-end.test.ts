// Handles closed by force, shares deleted and the server stopped during SMB requests: each request succeeds or is
// refused, and the server has no errors.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { checkLocation } from '../../src/start/store/fsck.ts'
import { newFile } from '../file/file-operations.ts'
import { shareClient } from '../file/fixture.ts'
import { outcomeOf } from '../file/smb-client.ts'
import { runTestServer } from '../running-server.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { openRestAndSmb } from './rest-and-smb.ts'
import { ACCESS, DISPOSITION, NOTIFY, OPTION } from './client-message.ts'
import { SmbClient, statusOf } from './smb-client.ts'

after(cleanUp)

const WRITES = 40
const SIZES = [100, 100_000] as const

for (const lengthBytes of SIZES) {
  test(`Force Close Handles during writes of ${lengthBytes} bytes`, async () => {
    const world = await openRestAndSmb()
    const file = await newFile(world)
    const client = await world.smb()
    const handle = await client.open(file.path, { access: ACCESS.all })
    const writing = Array.from({ length: WRITES }, (_, at) =>
      statusOf(handle.write(at * lengthBytes, Buffer.alloc(lengthBytes, at + 1))),
    )
    await writing[0]
    await file.forceCloseAllHandles()
    const outcomes = await Promise.all(writing)
    assert.deepEqual(
      outcomes.filter((status) => status !== 'SUCCESS' && status !== 'FILE_CLOSED'),
      [],
    )
    const seen = await file.downloadToBuffer()
    for (const [at, status] of outcomes.entries()) {
      if (status !== 'SUCCESS') continue
      const written = seen.subarray(at * lengthBytes, (at + 1) * lengthBytes)
      assert(written.equals(Buffer.alloc(lengthBytes, at + 1)), `write ${at} is not there`)
    }
  })

  test(`Delete Share during writes of ${lengthBytes} bytes`, async () => {
    const world = await openRestAndSmb()
    const file = await newFile(world)
    const client = await world.smb()
    const handle = await client.open(file.path, { access: ACCESS.all })
    const writing = Array.from({ length: WRITES }, (_, at) =>
      statusOf(handle.write(at * lengthBytes, Buffer.alloc(lengthBytes, 1))),
    )
    await writing[0]
    await world.share.delete()
    const allowed = ['SUCCESS', 'FILE_CLOSED', 'NETWORK_NAME_DELETED']
    for (const status of await Promise.all(writing)) assert(allowed.includes(status), status)
    for (let pass = 0; pass < 3; pass += 1) await world.server.store.sweep()
  })
}

test('the server can be stopped during SMB requests and keeps every acknowledged write', async () => {
  const folder = tempFolder('smb-end')
  const server = await runTestServer({ folder })
  const share = shareClient(server, 'end')
  await share.create()
  const connect = () => SmbClient.connect({ port: server.smbPort, share: 'end' })
  const [client, other] = await Promise.all([connect(), connect()])
  const terms = { access: ACCESS.all, disposition: DISPOSITION.create }
  const handle = await client.open('a', terms)
  await client.open('gone', { ...terms, options: OPTION.deleteOnClose })
  const root = await client.open('', { options: OPTION.directory })
  const { pending, changes } = root.watch(NOTIFY.fileName)
  await pending
  await handle.lock(1_000_000, 1)
  const ended: Promise<unknown>[] = [changes]
  const acknowledged = new Set<number>()
  const writing = Array.from({ length: WRITES }, async (_, at) => {
    await handle.write(at * 100, Buffer.alloc(100, at + 1))
    acknowledged.add(at)
  })
  ended.push(...writing, other.open('a', { ...terms, disposition: DISPOSITION.openIf }))
  const settled = Promise.allSettled(ended)
  await writing[0]
  await server.close()
  await settled
  assert.doesNotMatch(server.logged(), / error: /)
  const { exitCode, lines } = await checkLocation(folder, process.pid)
  assert.deepEqual([exitCode, lines.at(-1)], [0, 'no problems'], lines.join('\n'))

  const again = await runTestServer({ folder })
  const root2 = shareClient(again, 'end').rootDirectoryClient
  const seen = await root2.getFileClient('a').downloadToBuffer()
  for (const at of acknowledged) {
    assert(seen.subarray(at * 100, at * 100 + 100).equals(Buffer.alloc(100, at + 1)))
  }
  // Its handle, opened with delete on close, was closed with its connection.
  assert.equal(await outcomeOf(root2.getFileClient('gone').getProperties()), '404 ResourceNotFound')
  await again.close()
})
