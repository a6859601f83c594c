// The home of the files by the heartbeats of real nodes: silence, farewell, and a store that is away for a while.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { StoreUnavailable } from '../../src/kv/engine/unavailable.ts'
import type { EventKv } from '../../src/kv/kv.ts'
import { DIALECT } from '../../src/smb/session/dialect.ts'
import { COMMAND } from '../../src/smb/wire/header.ts'
import type { FileEvent } from '../../src/storage/file/open/open.ts'
import { shareClient } from '../file/fixture.ts'
import { ACCOUNT, ACCOUNT_KEY, outcome, sendTo } from '../harness.ts'
import { durableRequest, PERSISTENT, reconnectRequest } from '../smb/durable-request.ts'
import { createBody, RawClient } from '../smb/raw-client.ts'
import { SmbClient } from '../smb/smb-client.ts'
import { startBeatingCluster, startCluster, type TestNode } from './cluster.ts'

/** What a node reports that has not noticed yet that it is no longer the home. */
const LATE =
  /warn: (?:the home of the files cannot be reached|an SMB request failed|the File service could not)/
const FILE = { 'x-ms-type': 'file', 'x-ms-content-length': '1' }
const OPEN_IF = { disposition: 3, access: 0x001f01ff } as const

const put = async ({ filePort }: TestNode, name: string): Promise<string> =>
  outcome(await sendTo(filePort)('PUT', `/box/${name}`, FILE))

async function startBox(t: TestContext, count: number) {
  const { nodes, pass } = await startBeatingCluster(t, { count, expectedLog: LATE })
  const [first, second, third = assert.fail()] = nodes
  assert(first && second)
  await shareClient(second, 'box').create()
  return { nodes, pass, first, second, third }
}

test('a home that is silent for long can not answer any more, and another one serves', async (t) => {
  const { nodes, pass, first, second, third } = await startBox(t, 3)
  const client = await SmbClient.connect({ port: third.smbPort, share: 'box' })
  t.after(() => client.end())
  const handle = await client.open('f', { ...OPEN_IF, share: 0 })
  await handle.write(0, 'kept')
  pass()
  await second.cluster.beat()
  // The first node has not heard of it, nor has the third.
  assert.equal(first.home.place(), 'here')
  assert.equal(await put(first, 'a'), '503 ServerBusy')
  assert.equal(await put(third, 'a'), '503 ServerBusy')
  await assert.rejects(handle.write(0, 'lost'), /ended/)
  assert.equal(await put(second, 'a'), '201')
  for (const { cluster } of nodes) await cluster.beat()
  for (const node of nodes) assert.equal(await put(node, 'f2'), '201')
  const again = await SmbClient.connect({ port: first.smbPort, share: 'box' })
  t.after(() => again.end())
  assert.equal(String(await (await again.open('f')).read(0, 4)), 'kept')
})

test('a home that leaves hands over with the next heartbeat of another', async (t) => {
  const { first, second, third } = await startBox(t, 3)
  await first.cluster.leave()
  assert.equal(await put(first, 'a'), '503 ServerBusy')
  await second.cluster.beat()
  await third.cluster.beat()
  for (const node of [second, third]) assert.equal(await put(node, 'a'), '201')
})

test('a node that lost the role and got it back between two heartbeats starts afresh', async (t) => {
  const { pass, first, second, third } = await startBox(t, 3)
  const client = await SmbClient.connect({ port: first.smbPort, share: 'box' })
  t.after(() => client.end())
  await client.open('f', { ...OPEN_IF, share: 0 })
  pass()
  await second.cluster.beat()
  pass()
  await first.cluster.beat()
  assert.deepEqual(first.cluster.held('files'), { name: 'files', node: 1, epoch: 3 })
  await assert.rejects(client.open('g', OPEN_IF), /ended/)
  await second.cluster.beat()
  await third.cluster.beat()
  assert.equal(outcome(await sendTo(third.filePort)('DELETE', '/box/f')), '202')
})

test('a persistent handle moves with the role, and the old home can not use it any more', async (t) => {
  const { nodes, pass, first, second, third } = await startBox(t, 3)
  const connect = async ({ smbPort }: TestNode): Promise<RawClient> => {
    const client = await RawClient.open(smbPort)
    t.after(() => client.close())
    await client.negotiate([DIALECT.smb300])
    await client.setUpSession(ACCOUNT, ACCOUNT_KEY)
    assert.equal((await client.connectTree('box'))?.status, 'SUCCESS')
    return client
  }
  const before = await connect(first)
  const opened = await before.ask(COMMAND.CREATE, durableRequest(PERSISTENT))
  assert.equal(opened?.status, 'SUCCESS')
  const fileId = opened.message.subarray(128, 144)
  pass()
  await second.cluster.beat()
  assert.equal((await before.ask(COMMAND.CREATE, createBody('b')))?.status, undefined)
  for (const { cluster } of nodes) await cluster.beat()
  const again = await (await connect(third)).ask(COMMAND.CREATE, reconnectRequest(fileId))
  assert.equal(again?.status, 'SUCCESS')
})

test('what clients left open while the store was away is closed when it is back', async (t) => {
  let isAway = false
  const failing = (kv: EventKv<FileEvent>): EventKv<FileEvent> => {
    const check = (): void => {
      if (isAway) throw new StoreUnavailable('The store is away.')
    }
    return {
      ...kv,
      read: async (body) => (check(), kv.read(body)),
      write: async (body) => (check(), kv.write(body)),
      attempt: async (body) => (check(), kv.attempt(body)),
      attemptRead: async (body) => (check(), kv.attemptRead(body)),
    }
  }
  const { nodes } = await startCluster(t, { wrapFilesKv: failing, expectedLog: LATE })
  const [first, second] = nodes
  assert(first && second)
  await shareClient(second, 'box').create()
  const client = await SmbClient.connect({ port: second.smbPort, share: 'box' })
  await client.open('f', { ...OPEN_IF, share: 0 })
  isAway = true
  assert.equal(await put(second, 'a'), '503 ServerBusy')
  await assert.rejects(client.open('g', OPEN_IF), /ended/)
  isAway = false
  const remove = async (): Promise<string> =>
    outcome(await sendTo(second.filePort)('DELETE', '/box/f'))
  assert.equal(await remove(), '409 SharingViolation')
  let removed = ''
  while (removed !== '202') {
    first.endWaits()
    removed = await remove()
    assert(['202', '409 SharingViolation'].includes(removed), removed)
  }
})
