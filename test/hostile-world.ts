// The server for hostile requests and its surroundings: well-behaved and misbehaving sources of copies, a trap server
// that must never get a request, and a canary that must never change.
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import {
  ContainerSASPermissions,
  generateBlobSASQueryParameters,
  SASProtocol,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { UnsecuredJWT } from 'jose'
import { parseAllowCopyFrom } from '../src/http/client/copy-source.ts'
import { ACCOUNT, ACCOUNT_KEY, DAY_MS, rawRequest, type RawRequest } from './harness.ts'
import type { Names } from './hostile-seed.ts'
import { runTestServer, type RunningTestServer } from './running-server.ts'
import { file, gate, heldFile, startSourceServer, type SourceServer } from './source-server.ts'

export type ServiceName = 'blob' | 'queue' | 'file'

export type HostileWorld = {
  readonly server: RunningTestServer
  readonly ports: Readonly<Record<ServiceName, number>>
  readonly names: Names
  /** The requests that the trap server got. */
  readonly trapped: readonly string[]
  /** The paths that copies have read from the permitted server. */
  copiedFrom(): ReadonlySet<string>
  /** Sets whether a held source waits with its response or sends it at once. */
  hold(isHeld: boolean): void
  /** Names for one run of the scenarios. */
  namesFor(run: string): Names
  close(): Promise<void>
}

export async function startHostileWorld(): Promise<HostileWorld> {
  const trapped: string[] = []
  const trap = createServer((socket) => {
    trapped.push(`${socket.remoteAddress}:${socket.remotePort}`)
    socket.destroy()
  })
  await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve))
  const trapPort = (trap.address() as AddressInfo).port
  const web = await startSourceServer()
  const held = { isHeld: false }
  setSources(web, `http://127.0.0.1:${trapPort}`, held)
  const server = await runTestServer({
    silent: true,
    logLevel: 'error',
    oauth: 'basic',
    encryptionScopes: ['scope'],
    allowCopyFrom: parseAllowCopyFrom([web.origin]),
  })
  const queue = server.endpoints.find(({ service }) => service === 'queue')?.port ?? 0
  const ports = { blob: server.blobPort, queue, file: server.filePort }
  const names = worldNames(server, ports, web, trapPort)
  await makeCanary(ports)
  return {
    server,
    ports,
    names,
    trapped,
    copiedFrom: () => new Set(web.requests.map(({ path }) => path)),
    hold: (isHeld) => {
      held.isHeld = isHeld
    },
    namesFor: (run) => runNames(names, server, run),
    close: async () => {
      await server.close()
      await web.close()
      await new Promise<void>((resolve) => trap.close(() => resolve()))
    },
  }
}

const BYTES = Buffer.alloc(20_000, 'from elsewhere ')

function setSources(web: SourceServer, trap: string, held: { isHeld: boolean }): void {
  web.answer('/file', file(BYTES, { 'x-ms-meta-a': '1' }))
  web.answer('/held', (res, headers) => {
    const { opened, open } = gate()
    if (!held.isHeld) open()
    heldFile(BYTES, 100, { opened, open })(res, headers)
  })
  web.answer('/redirect', (res) => res.writeHead(302, { location: `${trap}/secret` }).end())
  web.answer('/cut', (res) => {
    res.writeHead(200, { 'content-length': 5_000 }).write('short')
    res.destroy()
  })
  web.answer('/longer', (res) => {
    res.socket?.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nlonger than it says')
  })
  web.answer('/not-http', (res) => res.socket?.end('this is not HTTP\r\n\r\n'))
  web.answer('/odd-headers', (res) => {
    const headers = { 'x-ms-meta-ü': '1', 'content-md5': 'none', etag: '', 'content-type': '' }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    res.socket?.end(
      `HTTP/1.1 200 OK\r\n${lines.join('')}x-ms-blob-type: No\r\nContent-Length: 2\r\n\r\nok`,
    )
  })
}

function worldNames(
  server: RunningTestServer,
  ports: HostileWorld['ports'],
  web: SourceServer,
  trapPort: number,
): Names {
  const time = (afterMs: number) =>
    `${new Date(server.now() + afterMs).toISOString().slice(0, 19)}Z`
  const seconds = Math.floor(Date.now() / 1_000)
  const claims = {
    aud: 'https://storage.azure.com',
    iss: 'https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/',
    nbf: seconds - 60,
    exp: seconds + 36_000,
    oid: '4fd0e7a0-0a2c-4f2f-8b46-2d0a3f0d9d11',
    tid: 'ab1f708d-50f6-404c-a006-d71b2ac7a606',
  }
  return new Map([
    ['account', ACCOUNT],
    ['blob', `http://127.0.0.1:${ports.blob}`],
    ['file', `http://127.0.0.1:${ports.file}`],
    ['queueorigin', `http://127.0.0.1:${ports.queue}`],
    ['web', web.origin],
    ['trap', `http://127.0.0.1:${trapPort}`],
    ['trapport', String(trapPort)],
    ['token', new UnsecuredJWT(claims).encode()],
    ['soon', time(0)],
    ['later', time(DAY_MS)],
    ['until', new Date(server.now() + DAY_MS).toUTCString()],
  ])
}

function runNames(world: Names, server: RunningTestServer, run: string): Names {
  const box = `box-${run}`
  const sas = generateBlobSASQueryParameters(
    {
      containerName: box,
      permissions: ContainerSASPermissions.parse('racwdxyltfmei'),
      startsOn: new Date(server.now() - DAY_MS),
      expiresOn: new Date(server.now() + 3_000 * DAY_MS),
      protocol: SASProtocol.HttpsAndHttp,
      contentDisposition: 'inline',
    },
    new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY),
  )
  return new Map([
    ...world,
    ['box', box],
    ['queue', `queue-${run}`],
    ['share', `share-${run}`],
    ['nfs', `nfs-${run}`],
    ['sas', sas.toString()],
  ])
}

// prettier-ignore
const CANARY: readonly [ServiceName, RawRequest][] = [
  ['blob', { method: 'PUT', path: '/canary?restype=container', headers: { 'x-ms-meta-a': 'canary' } }],
  ['blob', { method: 'PUT', path: '/canary/b', headers: { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-a': 'canary', 'x-ms-tags': 'canary=alive' }, body: 'tweet' }],
  ['blob', { method: 'PUT', path: '/canary/big', headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'tweet'.repeat(50_000) }],
  ['blob', { method: 'PUT', path: '/canary/pages', headers: { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '4096' } }],
  ['blob', { method: 'PUT', path: '/canary/pages?comp=page', headers: { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=512-1023' }, body: 'p'.repeat(512) }],
  ['queue', { method: 'PUT', path: '/canary', headers: { 'x-ms-meta-a': 'canary' } }],
  ['file', { method: 'PUT', path: '/canary?restype=share', headers: { 'x-ms-meta-a': 'canary' } }],
  ['file', { method: 'PUT', path: '/canary/dir?restype=directory', headers: { 'x-ms-meta-a': 'canary' } }],
  ['file', { method: 'PUT', path: '/canary/dir/f', headers: { 'x-ms-type': 'file', 'x-ms-content-length': '9000', 'x-ms-meta-a': 'canary' } }],
  ['file', { method: 'PUT', path: '/canary/dir/f?comp=range', headers: { 'x-ms-write': 'update', 'x-ms-range': 'bytes=100-8099' }, body: 'tweet'.repeat(1_600) }],
  ['queue', { method: 'POST', path: '/canary/messages?messagettl=-1', body: '<QueueMessage><MessageText>tweet</MessageText></QueueMessage>' }],
]

// prettier-ignore
const CANARY_READS: readonly [ServiceName, RawRequest][] = [
  ['blob', { method: 'GET', path: '/canary?restype=container' }],
  ['blob', { method: 'GET', path: '/canary/b' }],
  ['blob', { method: 'GET', path: '/canary/b?comp=tags' }],
  ['blob', { method: 'GET', path: '/canary/big' }],
  ['blob', { method: 'GET', path: '/canary/pages' }],
  ['blob', { method: 'GET', path: '/canary/pages?comp=pagelist' }],
  ['file', { method: 'GET', path: '/canary?restype=share' }],
  ['file', { method: 'GET', path: '/canary/dir?restype=directory' }],
  ['file', { method: 'GET', path: '/canary?restype=directory&comp=list' }],
  ['file', { method: 'GET', path: '/canary/dir/f' }],
  ['file', { method: 'GET', path: '/canary/dir/f?comp=rangelist' }],
  ['queue', { method: 'GET', path: '/canary?comp=metadata' }],
  ['queue', { method: 'GET', path: '/canary/messages?peekonly=true' }],
]

async function makeCanary(ports: HostileWorld['ports']): Promise<void> {
  for (const [service, request] of CANARY) {
    const answer = await rawRequest({ blobPort: ports[service] }, request)
    assert.equal(answer.status, 201, answer.text)
  }
}

/** Everything visible of the canary: bytes, ETags, metadata, tags, the message. */
export async function readCanary({ ports }: HostileWorld): Promise<string[]> {
  const seen: string[] = []
  for (const [service, request] of CANARY_READS) {
    const { status, headers, body } = await rawRequest({ blobPort: ports[service] }, request)
    const kept = ['etag', 'last-modified', 'x-ms-meta-a', 'content-md5'].map(
      (name) => headers[name],
    )
    seen.push([status, ...kept, body.toString('latin1')].join('|'))
  }
  return seen
}
