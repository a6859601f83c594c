// REST requests for files through nodes that are not their home.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { test } from 'node:test'
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  generateAccountSASQueryParameters,
  SASProtocol,
  ShareServiceClient,
  StorageSharedKeyCredential,
  type ShareClient,
} from '@azure/storage-file-share'
import { assertBytes } from '../assert-bytes.ts'
import { BareSocket, headBytes } from '../bare-socket.ts'
import {
  ACCOUNT,
  ACCOUNT_KEY,
  exchange,
  outcome,
  sendTo,
  wireRequest,
  type RawResponse,
} from '../harness.ts'
import { file as served, gate, heldFile, startSourceServer, untilCopied } from '../source-server.ts'
import { parseAllowCopyFrom } from '../../src/http/client/copy-source.ts'
import { startCluster, type TestNode } from './cluster.ts'

const CREDENTIAL = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
const UNREACHABLE = /the home of the files cannot be reached/

/** It tries again, as clients do, if a connection that it has kept was closed. */
function shareOf(node: TestNode | undefined): ShareClient {
  assert(node !== undefined, 'there is no such node')
  const retryOptions = { maxTries: 5, retryDelayInMs: 1, maxRetryDelayInMs: 1 }
  return new ShareServiceClient(node.fileEndpoint, CREDENTIAL, { retryOptions }).getShareClient(
    'box',
  )
}

function sasFor(node: TestNode, terms: { ip?: string; protocol?: SASProtocol }): string {
  const { ip, protocol } = terms
  return generateAccountSASQueryParameters(
    {
      services: AccountSASServices.parse('f').toString(),
      resourceTypes: AccountSASResourceTypes.parse('sco').toString(),
      permissions: AccountSASPermissions.parse('rwdlc'),
      startsOn: new Date(node.now() - 60_000),
      expiresOn: new Date(node.now() + 3_600_000),
      ...(ip !== undefined && { ipRange: { start: ip } }),
      ...(protocol !== undefined && { protocol }),
    },
    CREDENTIAL,
  ).toString()
}

/** Lists the shares as a client with this address. */
function listFrom(node: TestNode, localAddress: string, sas: string): Promise<RawResponse> {
  const { path, headers } = wireRequest({ method: 'GET', path: '/?comp=list', sign: sas })
  const place = { host: '127.0.0.1', port: node.filePort, localAddress, agent: false } as const
  return exchange(httpRequest({ ...place, path, headers }))
}

test('files are the same through every node', async (t) => {
  const { nodes } = await startCluster(t, { count: 3 })
  const [first, second, third] = nodes.map((node) => shareOf(node))
  assert(first && second && third)
  await second.create()
  const bytes = randomBytes(3 * 1024 * 1024 + 17)
  await third.getDirectoryClient('d').create()
  await second.getDirectoryClient('d').getFileClient('f').uploadData(bytes)
  for (const share of [first, second, third]) {
    const read = await share.getDirectoryClient('d').getFileClient('f').downloadToBuffer()
    assertBytes(read, bytes)
  }
})

test('a SAS for one address is checked against the client, not the node in between', async (t) => {
  const { nodes } = await startCluster(t)
  for (const node of nodes) {
    const sas = sasFor(node, { ip: '127.0.0.2' })
    assert.equal((await listFrom(node, '127.0.0.2', sas)).status, 200)
    const refused = await listFrom(node, '127.0.0.1', sas)
    assert.equal(outcome(refused), '403 AuthorizationSourceIPMismatch')
  }
})

test('a SAS for HTTPS needs a client that uses TLS, whatever the nodes use', async (t) => {
  const { nodes } = await startCluster(t, { https: 'auto' })
  for (const node of nodes) {
    const sas = sasFor(node, { protocol: SASProtocol.Https })
    const { path, headers } = wireRequest({ method: 'GET', path: '/?comp=list', sign: sas })
    const ca = node.tls?.ca?.pem
    const place = { host: '127.0.0.1', servername: 'localhost', port: node.filePort, agent: false }
    const answer = await exchange(httpsRequest({ ...place, ca, path, headers } as const))
    assert.equal(answer.status, 200, answer.text)
  }
  const plain = await startCluster(t)
  for (const node of plain.nodes) {
    const sas = sasFor(node, { protocol: SASProtocol.Https })
    const refused = await listFrom(node, '127.0.0.1', sas)
    assert.equal(outcome(refused), '403 AuthorizationProtocolMismatch')
  }
})

test('while there is no home, every request is answered with ServerBusy and ends its connection', async (t) => {
  const { nodes, move } = await startCluster(t)
  const [, node] = nodes
  assert(node)
  await shareOf(node).create()
  move(undefined)
  for (const { filePort } of nodes) {
    const answer = await sendTo(filePort)('GET', '/?comp=list')
    assert.equal(outcome(answer), '503 ServerBusy')
    assert.equal(answer.headers['retry-after'], '1')
    assert.equal(answer.headers.connection, 'close')
    assert.equal((await sendTo(filePort)('PUT', '/box/f', {}, Buffer.alloc(300_000))).status, 503)
  }
  move(1)
  for (const each of nodes) assert.equal(await shareOf(each).exists(), true)
})

test('a request on a connection from before the home is served once the home is here', async (t) => {
  const { nodes, move } = await startCluster(t)
  const [, node] = nodes
  assert(node)
  move(undefined)
  const socket = await BareSocket.open(node.filePort)
  t.after(() => socket.close())
  move(1)
  socket.send(headBytes({ method: 'GET', path: '/?comp=list' }))
  assert.equal((await socket.answer())?.status, 200)
})

test('a home that can not be reached is ServerBusy, too', async (t) => {
  const { nodes } = await startCluster(t, { expectedLog: UNREACHABLE })
  const [first, second] = nodes
  assert(first && second)
  second.home.move({ host: '127.0.0.1', port: 1, node: 0 })
  assert.equal(outcome(await sendTo(second.filePort)('GET', '/?comp=list')), '503 ServerBusy')
  // Nor does a node relay for another: the first one thinks that the second is the home, and the other way round.
  second.home.move(first.peer)
  first.home.move(second.peer)
  assert.equal(outcome(await sendTo(second.filePort)('GET', '/?comp=list')), '503 ServerBusy')
})

test('a node with another secret reaches nobody', async (t) => {
  const refused = /cannot be reached|a connection to the port for nodes was refused/
  const { nodes } = await startCluster(t, {
    own: (node) => (node === 1 ? { secret: Buffer.alloc(32, 9) } : {}),
    expectedLog: refused,
  })
  const [first, second] = nodes
  assert(first && second)
  for (let count = 0; count < 3; count += 1) {
    assert.equal(outcome(await sendTo(second.filePort)('GET', '/?comp=list')), '503 ServerBusy')
  }
  assert.equal(first.logged().match(/was refused/g)?.length, 1, 'it is logged once in a while')
})

test('what was acknowledged is there after the home has moved', async (t) => {
  const { nodes, move } = await startCluster(t, { count: 3 })
  const [first, second, third] = nodes
  assert(first && second && third)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const put = (name: string): Promise<RawResponse> => {
    const request = { method: 'PUT', path: `/box/${name}` } as const
    const headers = { 'x-ms-type': 'file', 'x-ms-content-length': '7' }
    const wire = wireRequest({ ...request, headers })
    const place = { host: '127.0.0.1', port: third.filePort, agent }
    return exchange(httpRequest({ ...place, method: 'PUT', ...wire }))
  }
  await shareOf(third).create()
  assert.equal((await put('one')).status, 201)
  const [socket] = Object.values(agent.freeSockets).flat()
  assert(socket !== undefined, 'the connection is kept alive')
  const closed = once(socket, 'close')
  move(1)
  await closed
  assert.equal((await put('two')).status, 201)
  move(2)
  const names: string[] = []
  for await (const item of shareOf(first).rootDirectoryClient.listFilesAndDirectories()) {
    names.push(item.name)
  }
  assert.deepEqual(names, ['one', 'two'])
})

test('an upload that the move interrupts fails and leaves nothing', async (t) => {
  const { nodes, move } = await startCluster(t)
  const [, second] = nodes
  assert(second)
  const share = shareOf(second)
  await share.create()
  const { fileClient: file } = await share.createFile('f', 1024 * 1024)
  const headers = { 'x-ms-range': 'bytes=0-1048575', 'x-ms-write': 'update' }
  const body = Buffer.alloc(1024 * 1024, 1)
  const socket = await BareSocket.open(second.filePort)
  t.after(() => socket.close())
  const expecting = { expect: '100-continue' }
  socket.send(headBytes({ method: 'PUT', path: '/box/f?comp=range', headers, body }, expecting))
  assert.equal((await socket.answer())?.status, 100)
  socket.send(body.subarray(0, 100_000))
  move(1)
  assert.equal(await socket.answer(), undefined)
  assertBytes(await file.downloadToBuffer(), Buffer.alloc(1024 * 1024))
})

test('the new home resumes the copies of the old one', async (t) => {
  const web = await startSourceServer()
  t.after(() => web.close())
  const { nodes, move } = await startCluster(t, {
    allowCopyFrom: parseAllowCopyFrom([web.origin]),
  })
  const [, second] = nodes
  assert(second)
  const share = shareOf(second)
  await share.create()
  const bytes = randomBytes(100_000)
  const opened = gate()
  web.answer('/source', heldFile(bytes, 50_000, opened))
  const headers = { 'x-ms-copy-source': `${web.origin}/source` }
  const answer = await sendTo(second.filePort)('PUT', '/box/copy', headers)
  assert.equal(outcome(answer), '202')
  assert.equal(answer.headers['x-ms-copy-status'], 'pending')
  web.answer('/source', served(bytes))
  move(1)
  const file = share.rootDirectoryClient.getFileClient('copy')
  assert.equal((await untilCopied(file)).copyStatus, 'success')
  assertBytes(await file.downloadToBuffer(), bytes)
  opened.open()
})

test('no acknowledged write is lost while the home moves back and forth', async (t) => {
  const { nodes, move } = await startCluster(t, { count: 3, expectedLog: UNREACHABLE })
  await shareOf(nodes[0]).create()
  const acknowledged: string[] = []
  const over = new AbortController()
  const write = async (node: TestNode, at: number): Promise<void> => {
    for (let count = 0; !over.signal.aborted; count += 1) {
      const name = `w${at}-${count}`
      const headers = { 'x-ms-type': 'file', 'x-ms-content-length': '1' }
      try {
        const answer = await sendTo(node.filePort)('PUT', `/box/${name}`, headers)
        if (answer.status === 201) acknowledged.push(name)
        else assert.equal(answer.status, 503, answer.text)
      } catch (error) {
        assert(error instanceof Error && !(error instanceof assert.AssertionError), String(error))
      }
    }
  }
  // Two writers through each node.
  const writers = [...nodes, ...nodes].map((node, at) => write(node, at))
  for (let round = 0; round < 12; round += 1) {
    const before = acknowledged.length
    move(round % 4 === 3 ? undefined : round % 3)
    if (round % 4 === 3) continue
    while (acknowledged.length < before + 10) await new Promise((resolve) => setImmediate(resolve))
  }
  over.abort()
  await Promise.all(writers)
  const found = new Set<string>()
  move(2)
  const listed = shareOf(nodes[1]).rootDirectoryClient.listFilesAndDirectories()
  for await (const item of listed) found.add(item.name)
  assert.deepEqual(
    acknowledged.filter((name) => !found.has(name)),
    [],
  )
})
