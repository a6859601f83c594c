// Real nodes on PostgreSQL, each a process of its own. The home of the files is killed while clients of the other nodes
// write, over REST and SMB; the clients try again, as clients do.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  ShareServiceClient,
  StorageRetryPolicyType,
  StorageSharedKeyCredential,
  type ShareClient,
} from '@azure/storage-file-share'
import { SKIP_REASON, testServer } from '../../src/postgres/harness.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { cleanUp, startServerProcess, stop, type ServerProcess } from '../server-process.ts'
import { assertBlocks, SmbWriter } from './smb-writer.ts'

after(cleanUp)

type Node = ServerProcess & { readonly share: ShareClient; readonly smbPort: number }

async function startNode(url: string): Promise<Node> {
  const server = await startServerProcess({ args: ['--store', url, '--nodePort', '0'] })
  const [, fileUrl = ''] = await server.printed(/File service .*(http:\/\/127\.0\.0\.1:\d+)/)
  const [, smbPort] = await server.printed(/SMB .*127\.0\.0\.1:(\d+)/)
  const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const retryOptions = {
    retryPolicyType: StorageRetryPolicyType.FIXED,
    maxTries: 300,
    retryDelayInMs: 100,
  }
  const service = new ShareServiceClient(`${fileUrl}/${ACCOUNT}`, credential, { retryOptions })
  return { ...server, share: service.getShareClient('box'), smbPort: Number(smbPort) }
}

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  test(`files move when their home ends by ${signal}`, { skip: SKIP_REASON ?? false }, async () => {
    const database = await testServer()
    const url = database.url(await database.newDatabase())
    const home = await startNode(url)
    const [second, third] = await Promise.all([startNode(url), startNode(url)])
    await second.share.create()
    const smb = new SmbWriter(third.smbPort)
    const acknowledged: string[] = []
    const enough = new AbortController()
    const write = async ({ share }: Node, name: string): Promise<void> => {
      for (let count = 0; !enough.signal.aborted; count += 1) {
        await share.rootDirectoryClient.getFileClient(`${name}-${count}`).create(1)
        acknowledged.push(`${name}-${count}`)
      }
    }
    const reached = async (count: number): Promise<void> => {
      const smbCount = smb.acknowledgedCount + 10
      while (acknowledged.length < count || smb.acknowledgedCount < smbCount) {
        await third.share.getProperties()
      }
    }
    const writing = Promise.all([write(second, 'b'), write(third, 'c'), smb.run(enough.signal)])
    await reached(10)
    const before = smb.acknowledgedCount
    const ended = await stop(home, signal)
    if (signal === 'SIGTERM') assert.equal(ended.code, 0)
    await reached(acknowledged.length + 10)
    enough.abort()
    await writing

    const found = new Set<string>()
    const listed = second.share.rootDirectoryClient.listFilesAndDirectories()
    for await (const { name } of listed) found.add(name)
    assert.deepEqual(
      acknowledged.filter((name) => !found.has(name)),
      [],
    )
    assert(before > 0)
    assert(smb.reconnectCount > 0)
    const file = second.share.rootDirectoryClient.getFileClient('a')
    assertBlocks(await file.downloadToBuffer(), smb.acknowledgedCount)
    for (const node of [second, third]) assert.equal((await stop(node)).code, 0)
  })
}
