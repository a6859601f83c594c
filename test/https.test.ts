// HTTPS from the settings to the client: certificates created by the server, given as PEM and as PFX; and clients that
// do not speak TLS.
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { promisify } from 'node:util'
import {
  BlobSASPermissions,
  generateBlobSASQueryParameters,
  SASProtocol,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { UnsecuredJWT } from 'jose'
import { certificateNames, makeCa, makeServerCertificate } from '../src/start/tls/certificate.ts'
import { BareSocket } from './bare-socket.ts'
import { ACCOUNT, ACCOUNT_KEY, rawRequest, wireRequest, type RawRequest } from './harness.ts'
import { randomFrom } from './random.ts'
import { runTestServer, type RunningTestOptions, type RunningTestServer } from './running-server.ts'

const PASSWORD = 'päss word'
const folder = mkdtempSync(join(tmpdir(), 'lazuli-https-'))
after(() => rmSync(folder, { recursive: true }))

const ca = await makeCa(Date.now())
const certificate = await makeServerCertificate(ca, certificateNames([]), Date.now())

function write(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

async function start(t: TestContext, options: RunningTestOptions): Promise<RunningTestServer> {
  const server = await runTestServer({ silent: true, logLevel: 'error', ...options })
  t.after(async () => {
    await server.close()
    assert.equal(server.logged(), '')
  })
  return server
}

type TlsAnswer = { readonly status: number; readonly text: string }

/** Sends a request over TLS as a client that trusts only this CA. */
function ask(
  { blobPort }: RunningTestServer,
  caPem: string,
  request: RawRequest,
  servername = 'localhost',
): Promise<TlsAnswer> {
  const { path, headers } = wireRequest(request)
  const tls = { ca: caPem, servername, agent: false } as const
  const options = {
    host: '127.0.0.1',
    port: blobPort,
    method: request.method,
    path,
    headers,
    ...tls,
  }
  return new Promise((resolve, reject) => {
    const req = httpsRequest(options, (res) => {
      let text = ''
      res.on('data', (chunk: Buffer) => (text += String(chunk)))
      res.on('end', () => resolve({ status: res.statusCode ?? 0, text }))
    })
    req.on('error', reject)
    req.end(request.body)
  })
}

const LIST: RawRequest = { method: 'GET', path: '?comp=list' }

test('--https auto writes its files and uses the same certificate after a restart', async (t) => {
  const location = join(folder, 'auto')
  const first = await runTestServer({ https: 'auto', folder: location, silent: true })
  const caPem = first.tls?.ca?.pem ?? ''
  assert.equal(readFileSync(join(location, 'https', 'ca.pem'), 'utf8'), caPem)
  for (const name of ['ca.private.pem', 'server.private.pem']) {
    assert.equal(statSync(join(location, 'https', name)).mode & 0o777, 0o600, name)
  }
  assert.equal((await ask(first, caPem, LIST)).status, 200)
  await first.close()
  const second = await start(t, { https: 'auto', folder: location })
  assert.equal(second.tls?.ca?.pem, caPem)
  assert.equal(String(second.tls?.context.cert), String(first.tls?.context.cert))
  assert.equal((await ask(second, caPem, LIST)).status, 200)
})

test('--https auto: the certificate covers the names that clients use', async (t) => {
  const server = await start(t, { https: 'auto', httpsNames: ['storage.test'] })
  const caPem = server.tls?.ca?.pem ?? ''
  const certificate = new X509Certificate(String(server.tls?.context.cert))
  const names = (certificate.subjectAltName ?? '').split(', ')
  for (const name of ['localhost', '*.blob.localhost', 'host.docker.internal', 'storage.test']) {
    assert.ok(names.includes(`DNS:${name}`), name)
  }
  assert.ok(certificate.checkIP('127.0.0.1') && certificate.checkIP('::1'))
  const hostStyle = { ...LIST, path: '/?comp=list', wholePath: true }
  const headers = { host: `${ACCOUNT}.blob.localhost` }
  const answer = await ask(server, caPem, { ...hostStyle, headers }, `${ACCOUNT}.blob.localhost`)
  assert.equal(answer.status, 200)
  assert.match(answer.text, /ServiceEndpoint="https:\/\//)
  assert.equal((await ask(server, caPem, LIST, 'storage.test')).status, 200)
  await assert.rejects(ask(server, caPem, LIST, 'other.test'), {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  })
  await assert.rejects(ask(server, ca.certPem, LIST))
})

// The SDK as users set it up: the CA from NODE_EXTRA_CA_CERTS, a key, a token, and a SAS from the token.
// The server's clock stands still, so the key is valid from a minute ago.
const SDK_CLIENT = `
import { BlobSASPermissions, BlobServiceClient, generateBlobSASQueryParameters, StorageSharedKeyCredential } from '@azure/storage-blob'
const { URL: url, ACCOUNT: account, KEY: key, TOKEN: token } = process.env
const byKey = new BlobServiceClient(url, new StorageSharedKeyCredential(account, key)).getContainerClient('box')
await byKey.create()
await byKey.getBlockBlobClient('b').uploadData(Buffer.alloc(300_000, 'x'))
const expiresOn = new Date(Date.now() + 3_600_000)
const service = new BlobServiceClient(url, { getToken: async () => ({ token, expiresOnTimestamp: +expiresOn }) })
const byToken = await service.getContainerClient('box').getBlobClient('b').downloadToBuffer()
const userKey = await service.getUserDelegationKey(new Date(Date.now() - 60_000), expiresOn)
const values = { containerName: 'box', blobName: 'b', permissions: BlobSASPermissions.parse('r'), expiresOn }
const sas = generateBlobSASQueryParameters(values, userKey, account)
const bySas = await (await fetch(url + '/box/b?' + sas)).text()
console.log(byToken.length, bySas.length)
`

test('the SDK uses a key, a token and a user delegation SAS over HTTPS', async (t) => {
  const location = join(folder, 'sdk')
  const server = await start(t, { https: 'auto', folder: location, oauth: 'basic' })
  const nowSeconds = Math.floor(Date.now() / 1000)
  const claims = {
    aud: 'https://storage.azure.com',
    iss: 'https://sts.windows.net/t/',
    oid: 'o',
    tid: 't',
  }
  const token = new UnsecuredJWT({ ...claims, exp: nowSeconds + 3600 }).encode()
  const env = {
    ...process.env,
    NODE_EXTRA_CA_CERTS: server.tls?.ca?.path,
    URL: `https://localhost:${server.blobPort}/${ACCOUNT}`,
    ACCOUNT,
    KEY: ACCOUNT_KEY,
    TOKEN: token,
  }
  const root = new URL('..', import.meta.url)
  const args = ['--input-type=module', '-e', SDK_CLIENT]
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: root,
    env,
    timeout: 20_000,
  })
  assert.equal(stdout.trim(), '300000 300000')
})

test('a SAS that is limited to HTTPS is accepted over HTTPS', async (t) => {
  const server = await start(t, { https: 'auto' })
  const caPem = server.tls?.ca?.pem ?? ''
  await ask(server, caPem, { method: 'PUT', path: '/box?restype=container' })
  const headers = { 'x-ms-blob-type': 'BlockBlob' }
  await ask(server, caPem, { method: 'PUT', path: '/box/b', headers, body: 'hello' })
  const sas = generateBlobSASQueryParameters(
    {
      containerName: 'box',
      blobName: 'b',
      permissions: BlobSASPermissions.parse('r'),
      expiresOn: new Date(server.now() + 60_000),
      protocol: SASProtocol.Https,
    },
    new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY),
  )
  const answer = await ask(server, caPem, { method: 'GET', path: '/box/b', sign: String(sas) })
  assert.equal(answer.text, 'hello')
})

const cert = write('cert.pem', certificate.certPem)
const key = write('key.pem', certificate.keyPem)
const lockedKey = createPrivateKey(certificate.keyPem).export({
  type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: PASSWORD,
}) // prettier-ignore

// prettier-ignore
const GIVEN: readonly [string, RunningTestOptions][] = [
  ['PEM', { cert, key }],
  ['PEM in one file', { cert: write('both.pem', certificate.keyPem + certificate.certPem) }],
  ['PEM with an encrypted key', { cert, key: write('locked.pem', String(lockedKey)), pwd: PASSWORD }],
]

for (const [what, options] of GIVEN) {
  test(`--cert: ${what}`, async (t) => {
    const server = await start(t, options)
    assert.equal(server.tls?.ca, undefined)
    assert.equal((await ask(server, ca.certPem, LIST)).status, 200)
  })
}

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

test('--cert: PFX', { skip: !hasOpenssl && 'there is no openssl' }, async (t) => {
  const cert = join(folder, 'server.pfx')
  const args = ['pkcs12', '-export', '-in', join(folder, 'cert.pem'), '-inkey', key, '-out', cert]
  assert.equal(spawnSync('openssl', [...args, '-passout', 'pass:secret']).status, 0)
  const server = await start(t, { cert, pwd: 'secret' })
  assert.equal((await ask(server, ca.certPem, LIST)).status, 200)
  await assert.rejects(runTestServer({ cert, pwd: 'wrong' }), /the password \(--pwd\) is wrong/)
})

// prettier-ignore
const NO_TLS: readonly [string, string | Uint8Array][] = [
  ['plain HTTP', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['random bytes', randomFrom(7).bytes(5_000)],
  ['half a hello', Buffer.from('16030100c5010000c10303', 'hex')],
  ['a hello of zeros', Buffer.from('16030100c5010000c10303' + '00'.repeat(190), 'hex')],
  ['nothing', ''],
]

test('clients that do not speak TLS are disconnected, and others are served', async (t) => {
  const server = await start(t, { https: 'auto' })
  for (const [what, bytes] of NO_TLS) {
    const socket = await BareSocket.open(server.blobPort)
    socket.send(bytes)
    socket.finish()
    assert.doesNotMatch(await socket.rest(), /HTTP/, what)
    socket.close()
    assert.equal((await ask(server, server.tls?.ca?.pem ?? '', LIST)).status, 200, what)
  }
})

test('--allowHttp: HTTP and HTTPS on one port, each with its own rules', async (t) => {
  const server = await start(t, { https: 'auto', allowHttp: true })
  const caPem = server.tls?.ca?.pem ?? ''
  await ask(server, caPem, { method: 'PUT', path: '/box?restype=container' })
  const headers = { 'x-ms-blob-type': 'BlockBlob' }
  const written = await rawRequest(server, {
    method: 'PUT',
    path: '/box/b',
    headers,
    body: 'hello',
  })
  assert.equal(written.status, 201)
  const sas = generateBlobSASQueryParameters(
    {
      containerName: 'box',
      blobName: 'b',
      permissions: BlobSASPermissions.parse('r'),
      expiresOn: new Date(server.now() + 60_000),
      protocol: SASProtocol.Https,
    },
    new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY),
  )
  const read = { method: 'GET', path: '/box/b', sign: String(sas) } as const
  assert.equal((await ask(server, caPem, read)).text, 'hello')
  const refused = await rawRequest(server, read)
  assert.equal(refused.status, 403)
  assert.match(String(refused.body), /AuthorizationProtocolMismatch/)
  const list = await rawRequest(server, LIST)
  assert.match(String(list.body), /ServiceEndpoint="http:\/\//)
})

test('--allowHttp: the SDK works over both', async (t) => {
  const server = await start(t, { cert, key, allowHttp: true })
  const client = `
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
const { PORT: port, ACCOUNT: account, KEY: key } = process.env
const [plain, secure] = ['http', 'https'].map((protocol) =>
  new BlobServiceClient(protocol + '://localhost:' + port + '/' + account, new StorageSharedKeyCredential(account, key)).getContainerClient('box'))
await plain.create()
await secure.getBlockBlobClient('b').uploadData(Buffer.alloc(300_000, 'x'))
console.log((await plain.getBlobClient('b').downloadToBuffer()).length)
`
  const env = {
    ...process.env,
    NODE_EXTRA_CA_CERTS: write('ca.pem', ca.certPem),
    PORT: String(server.blobPort),
    ACCOUNT,
    KEY: ACCOUNT_KEY,
  }
  const cwd = new URL('..', import.meta.url)
  const args = ['--input-type=module', '-e', client]
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd,
    env,
    timeout: 20_000,
  })
  assert.equal(stdout.trim(), '300000')
})

test('--allowHttp: clients that send nothing sensible are disconnected, and hold no memory', async (t) => {
  const server = await start(t, { https: 'auto', allowHttp: true })
  const heldBytes = async (): Promise<number> => {
    const { text } = await server.metrics.expose()
    return Number(/^lazuli_unauthenticated_bytes (\d+)$/m.exec(text)?.[1])
  }
  const before = await heldBytes()
  for (const [what, bytes] of NO_TLS.slice(1)) {
    const socket = await BareSocket.open(server.blobPort)
    socket.send(bytes)
    socket.finish()
    assert.doesNotMatch(await socket.rest(), /HTTP\/1\.1 2/, what)
    socket.close()
    assert.equal((await ask(server, server.tls?.ca?.pem ?? '', LIST)).status, 200, what)
  }
  assert.equal(await heldBytes(), before)
})

test('--allowHttp: close ends connections that have sent nothing', async () => {
  const server = await runTestServer({ https: 'auto', allowHttp: true, silent: true })
  const socket = await BareSocket.open(server.blobPort)
  // A later connection was accepted, so the first one was, too.
  assert.equal((await ask(server, server.tls?.ca?.pem ?? '', LIST)).status, 200)
  await server.close()
  assert.equal(await socket.rest(), '')
})

test('a renewed certificate is used for new connections', async () => {
  const server = await runTestServer({ https: 'auto', silent: true })
  const fingerprint = (): Promise<string> =>
    new Promise((resolve, reject) => {
      // The renewed one is not valid yet.
      const options = { host: '127.0.0.1', port: server.blobPort, rejectUnauthorized: false }
      const socket = connectTls(options, () => {
        resolve(socket.getPeerCertificate().fingerprint256)
        socket.destroy()
      })
      socket.once('error', reject)
    })
  const first = await fingerprint()
  await server.renewTls(Date.now())
  assert.equal(await fingerprint(), first)
  await server.renewTls(Date.now() + 370 * 86_400_000)
  assert.notEqual(await fingerprint(), first)
  await server.close()
})

test('close ends idle TLS connections', async () => {
  const server = await runTestServer({ https: 'auto', silent: true })
  const options = {
    host: '127.0.0.1',
    port: server.blobPort,
    ca: server.tls?.ca?.pem,
    servername: 'localhost',
  }
  const socket = connectTls(options)
  await new Promise((resolve) => socket.once('secureConnect', resolve))
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => undefined).resume()
  await server.close()
  await closed
})
