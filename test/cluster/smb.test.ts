// SMB through nodes that are not the home of the files, and the state of SMB clients when the home moves.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { TLS_CONNECTION_BYTES } from '../../src/memory/unauthenticated-memory.ts'
import { DIALECT } from '../../src/smb/session/dialect.ts'
import { COMMAND } from '../../src/smb/wire/header.ts'
import { assertBytes } from '../assert-bytes.ts'
import { CLIENT_LIMIT_MS, clientOf, missingReason } from '../clients/program.ts'
import { shareClient } from '../file/fixture.ts'
import { ACCOUNT, ACCOUNT_KEY, outcome, sendTo } from '../harness.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { durableRequest, PERSISTENT, reconnectRequest } from '../smb/durable-request.ts'
import { RawClient, type Answer } from '../smb/raw-client.ts'
import { SmbClient, statusOf } from '../smb/smb-client.ts'
import { startCluster, type TestClusterOptions, type TestNode } from './cluster.ts'

async function startBox(t: TestContext, options: TestClusterOptions = {}) {
  const cluster = await startCluster(t, { count: 3, ...options })
  const [first, second, third] = cluster.nodes
  assert(first && second && third)
  await shareClient(first, 'box').create()
  return { ...cluster, first, second, third }
}

async function connect(t: TestContext, { smbPort: port }: TestNode): Promise<SmbClient> {
  const client = await SmbClient.connect({ port, share: 'box' })
  t.after(() => client.end())
  return client
}

/** FILE_OPEN_IF, with all rights. */
const OPEN_IF = { disposition: 3, access: 0x001f01ff } as const
/** FILE_SHARE_READ */
const READ_ONLY = { ...OPEN_IF, share: 1 } as const

test('a file written over SMB through one node is read through the others, and over REST', async (t) => {
  const { nodes, second } = await startBox(t)
  const bytes = randomBytes(1024 * 1024)
  const writer = await connect(t, second)
  const file = await writer.open('f', OPEN_IF)
  await file.write(0, bytes)
  await file.close()
  for (const node of nodes) {
    const reader = await connect(t, node)
    assertBytes(await (await reader.open('f')).read(0, bytes.length), bytes)
    const rest = shareClient(node, 'box').rootDirectoryClient.getFileClient('f')
    assertBytes(await rest.downloadToBuffer(), bytes)
  }
})

test('what one client has open counts for clients of all nodes', async (t) => {
  const { first, second, third } = await startBox(t)
  await (await connect(t, second)).open('f', READ_ONLY)
  assert.equal(await statusOf((await connect(t, third)).open('f', OPEN_IF)), 'SHARING_VIOLATION')
  for (const node of [first, third]) {
    const answer = await sendTo(node.filePort)('DELETE', '/box/f')
    assert.equal(outcome(answer), '409 SharingViolation')
  }
})

test('List Handles shows the address of the client, not of the node in between', async (t) => {
  const { second, third } = await startBox(t)
  const client = await connect(t, second)
  await client.open('f', OPEN_IF)
  const handles = shareClient(third, 'box').rootDirectoryClient.getFileClient('f').listHandles()
  const found: string[] = []
  for await (const { clientIp } of handles) found.push(clientIp)
  assert.deepEqual(found, [`127.0.0.1:${client.localPort}`])
})

test('when the home moves, SMB clients are disconnected and nothing of theirs is left', async (t) => {
  const { second, third, move } = await startBox(t)
  const before = await connect(t, second)
  const file = await before.open('f', READ_ONLY)
  await file.write(0, 'kept')
  move(1)
  await assert.rejects(before.open('g'), /ended/)
  const after = await connect(t, third)
  const again = await after.open('f')
  assert.equal(String(await again.read(0, 4)), 'kept')
  // Nor does the node remember what it knew when it was the home for the first time.
  move(0)
  assert.equal(outcome(await sendTo(third.filePort)('DELETE', '/box/f')), '202')
})

test('while there is no home, SMB connections are closed at once', async (t) => {
  const { nodes, move } = await startBox(t)
  move(undefined)
  for (const node of nodes) {
    const client = await RawClient.open(node.smbPort)
    assert.equal(await client.hasEnded(), true)
  }
  move(2)
  for (const node of nodes) await connect(t, node)
})

async function connectRaw(t: TestContext, { smbPort }: TestNode): Promise<RawClient> {
  const client = await RawClient.open(smbPort)
  t.after(() => client.close())
  await client.negotiate([DIALECT.smb300])
  assert.equal((await client.setUpSession(ACCOUNT, ACCOUNT_KEY))?.status, 'SUCCESS')
  assert.equal((await client.connectTree('box'))?.status, 'SUCCESS')
  return client
}

const FILE_ID_AT = 64 + 64

async function create(client: RawClient, body: Buffer): Promise<Answer> {
  const answer = await client.ask(COMMAND.CREATE, body)
  assert(answer !== undefined)
  return answer
}

test('a persistent handle comes back after each move of the home, through any node', async (t) => {
  const { first, second, third, move } = await startBox(t)
  const opened = await create(await connectRaw(t, second), durableRequest(PERSISTENT))
  assert.equal(opened.status, 'SUCCESS')
  const fileId = opened.message.subarray(FILE_ID_AT, FILE_ID_AT + 16)
  const rounds = [
    [1, third],
    [2, first],
    [0, second],
  ] as const
  for (const [home, node] of rounds) {
    move(home)
    const again = await create(await connectRaw(t, node), reconnectRequest(fileId))
    assert.equal(again.status, 'SUCCESS')
    assert.deepEqual(again.message.subarray(FILE_ID_AT, FILE_ID_AT + 16), fileId)
  }
})

test('a persistent handle blocks others from the moment of the move', async (t) => {
  const { first, second, third, move } = await startBox(t)
  const body = durableRequest(PERSISTENT)
  // ShareAccess: nobody else may do anything.
  body.writeUInt32LE(0, 32)
  assert.equal((await create(await connectRaw(t, second), body)).status, 'SUCCESS')
  move(1)
  for (const node of [first, second, third]) {
    const answer = await sendTo(node.filePort)('DELETE', '/box/a')
    assert.equal(outcome(answer), '409 SharingViolation')
  }
})

test('connections without a login count at the home, whoever accepted them', async (t) => {
  const { first, second } = await startBox(t)
  const client = await RawClient.open(second.smbPort)
  await client.negotiate()
  assert.equal(await gauge(second, 'lazuli_relayed_connections'), 1)
  assert.equal(await gauge(first, 'lazuli_relayed_connections'), 0)
  assert((await unauthenticatedBytes(first)) >= TLS_CONNECTION_BYTES)
  assert.equal(await unauthenticatedBytes(second), 0)
  await client.setUpSession(ACCOUNT, ACCOUNT_KEY)
  assert.equal(await unauthenticatedBytes(first), 0)
  client.close()
})

const unauthenticatedBytes = (node: TestNode): Promise<number> =>
  gauge(node, 'lazuli_unauthenticated_bytes')

async function gauge({ metrics }: TestNode, name: string): Promise<number> {
  const { text } = await metrics.expose()
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}

const skip = missingReason('smbclient', ['smbclient', '--version']) ?? false

test('smbclient through another node', { skip, timeout: CLIENT_LIMIT_MS }, async (t) => {
  const { second, third, move } = await startBox(t)
  t.after(cleanUp)
  const folder = tempFolder('smbclient-cluster')
  const bytes = randomBytes(3_000_001)
  const [from, to] = [join(folder, 'from'), join(folder, 'to')]
  writeFileSync(from, bytes)
  const run = ({ smbPort }: TestNode, mode: string, command: string): Promise<string> => {
    const login = [`--port=${smbPort}`, `--user=${ACCOUNT}%${ACCOUNT_KEY}`]
    const client = clientOf(['smbclient'], {})
    return client.ok('//127.0.0.1/box', ...login, `--client-protection=${mode}`, '-c', command)
  }
  await run(second, 'encrypt', `put ${from} big`)
  move(1)
  await run(third, 'sign', `get big ${to}`)
  assertBytes(readFileSync(to), bytes)
})
