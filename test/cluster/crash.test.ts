// Real nodes on PostgreSQL, each a process of its own. The home of the files is killed while clients of the other nodes
// write; the clients try again, as clients do.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  ShareServiceClient,
  StorageRetryPolicyType,
  StorageSharedKeyCredential,
  type ShareClient,
} from '@azure/storage-file-share'
import { SKIP_REASON, testServer } from '../../src/postgres/harness.ts'
import { DIALECT } from '../../src/smb/session/dialect.ts'
import { COMMAND } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { cleanUp, startServerProcess, stop, type ServerProcess } from '../server-process.ts'
import { durableRequest, PERSISTENT, reconnectRequest } from '../smb/durable-request.ts'
import { RawClient } from '../smb/raw-client.ts'

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

async function connect({ smbPort }: Node): Promise<RawClient> {
  const client = await RawClient.open(smbPort)
  after(() => client.close())
  await client.negotiate([DIALECT.smb300])
  assert.equal((await client.setUpSession(ACCOUNT, ACCOUNT_KEY))?.status, 'SUCCESS')
  assert.equal((await client.connectTree('box'))?.status, 'SUCCESS')
  return client
}

const FILE_ID_AT = 64 + 64

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  test(`files move when their home ends by ${signal}`, { skip: SKIP_REASON ?? false }, async () => {
    const database = await testServer()
    const url = database.url(await database.newDatabase())
    const home = await startNode(url)
    const [second, third] = await Promise.all([startNode(url), startNode(url)])
    await second.share.create()
    const opened = await (await connect(third)).ask(COMMAND.CREATE, durableRequest(PERSISTENT))
    assert.equal(opened?.status, 'SUCCESS')
    const fileId = opened.message.subarray(FILE_ID_AT, FILE_ID_AT + 16)

    const acknowledged: string[] = []
    const enough = new AbortController()
    const write = async ({ share }: Node, name: string): Promise<void> => {
      for (let count = 0; !enough.signal.aborted; count += 1) {
        await share.rootDirectoryClient.getFileClient(`${name}-${count}`).create(1)
        acknowledged.push(`${name}-${count}`)
      }
    }
    const reached = async (count: number): Promise<void> => {
      while (acknowledged.length < count) await third.share.getProperties()
    }
    const writing = Promise.all([write(second, 'b'), write(third, 'c')])
    await reached(10)
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
    const again = await (await connect(second)).ask(COMMAND.CREATE, reconnectRequest(fileId))
    assert.equal(again?.status, 'SUCCESS')
    for (const node of [second, third]) assert.equal((await stop(node)).code, 0)
  })
}
