// How it ends: handles are closed by force, shares deleted and the server stopped while SMB requests are under way.
// Each of them is done or refused, and nothing fails on the server's side.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { checkLocation } from '../../src/start/store/fsck.ts'
import { newFile } from '../file/file-operations.ts'
import { outcomeOf, shareClient } from '../file/smb-client.ts'
import { runTestServer } from '../running-server.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { openDoors } from './both-doors.ts'
import { ACCESS, DISPOSITION, NOTIFY, OPTION } from './client-message.ts'
import { SmbClient, statusOf } from './smb-client.ts'

after(cleanUp)

const WRITES = 40
const SIZES = [100, 100_000] as const

for (const lengthBytes of SIZES) {
  test(`Force Close Handles among writes of ${lengthBytes} bytes`, async () => {
    const doors = await openDoors()
    const file = await newFile(doors)
    const client = await doors.smb()
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
    await doors.close()
  })

  test(`Delete Share among writes of ${lengthBytes} bytes`, async () => {
    const doors = await openDoors()
    const file = await newFile(doors)
    const client = await doors.smb()
    const handle = await client.open(file.path, { access: ACCESS.all })
    const writing = Array.from({ length: WRITES }, (_, at) =>
      statusOf(handle.write(at * lengthBytes, Buffer.alloc(lengthBytes, 1))),
    )
    await writing[0]
    await doors.share.delete()
    const gone = ['SUCCESS', 'FILE_CLOSED', 'NETWORK_NAME_DELETED']
    for (const status of await Promise.all(writing)) assert(gone.includes(status), status)
    for (let pass = 0; pass < 3; pass += 1) await doors.server.store.sweep()
    await doors.close()
  })
}

test('the server stops while clients hold, watch, wait and write; what they were told stays', async () => {
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
  const told = new Set<number>()
  const writing = Array.from({ length: WRITES }, async (_, at) => {
    await handle.write(at * 100, Buffer.alloc(100, at + 1))
    told.add(at)
  })
  ended.push(...writing, other.open('a', { ...terms, disposition: DISPOSITION.openIf }))
  const settled = Promise.allSettled(ended)
  await writing[0]
  await server.close()
  await settled
  assert.doesNotMatch(server.logged(), /error/)
  const { exitCode, lines } = await checkLocation(folder, process.pid)
  assert.deepEqual([exitCode, lines.at(-1)], [0, 'no problems'], lines.join('\n'))

  const again = await runTestServer({ folder })
  const root2 = shareClient(again, 'end').rootDirectoryClient
  const seen = await root2.getFileClient('a').downloadToBuffer()
  for (const at of told) {
    assert(seen.subarray(at * 100, at * 100 + 100).equals(Buffer.alloc(100, at + 1)))
  }
  // The handle that was to take it along was closed with its connection.
  assert.equal(await outcomeOf(root2.getFileClient('gone').getProperties()), '404 ResourceNotFound')
  await again.close()
})
