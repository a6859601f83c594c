import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { listen } from '../listen.ts'
import { defaultOptions, type Options } from '../options/options.ts'
import { StartError } from '../start-error.ts'
import { machineNames, type Machine } from './machine.ts'
import { loadTls, type Tls } from './tls.ts'

const DAY_MS = 86_400_000
const NOW_MS = Date.now()
const folder = mkdtempSync(join(tmpdir(), 'lazuli-tls-'))
after(() => rmSync(folder, { recursive: true }))

const ADA: Machine = {
  name: 'Ada',
  fullName: async () => 'ada.example.com',
  addresses: () => ['192.0.2.7', '2001:db8::7'],
}

function load(
  values: Partial<Options>,
  location?: string,
  nowMs = NOW_MS,
  machine = ADA,
): Promise<Tls | undefined> {
  return loadTls({ options: defaultOptions(values), location, nowMs, machine })
}

async function loadAuto(
  location: string | undefined,
  values: Partial<Options> = {},
  nowMs = NOW_MS,
  machine = ADA,
) {
  const tls = await load({ https: 'auto', ...values }, location, nowMs, machine)
  assert(tls?.ca)
  return { ca: tls.ca.pem, cert: String(tls.context.cert), key: String(tls.context.key), tls }
}

test('without --https and --cert there is no TLS', async () => {
  assert.equal(await load({}), undefined)
})

test('--https auto: a client that trusts the CA can connect by each name', async (t) => {
  const { tls, ca } = await loadAuto(join(folder, 'connect'), { httpsNames: ['storage.test'] })
  const server = createServer(tls.context, (_request, response) => response.end('hello'))
  t.after(() => server.close())
  const { port } = await listen(server, { what: 'test', flag: '', host: '127.0.0.1', port: 0 })
  // Node and OpenSSL accept no wildcard directly below a top-level name; others accept *.localhost.
  const hosts = ['localhost', 'host.docker.internal', 'a1.blob.localhost', 'storage.test']
  for (const servername of hosts) {
    const status = await new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, ca, servername, agent: false }
      request(options, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end()
    })
    assert.equal(status, 200, servername)
  }
})

test('--https auto: the certificate is for the local names and addresses', async () => {
  const { cert } = await loadAuto(join(folder, 'names'), { blobHost: '10.1.2.3' })
  const certificate = new X509Certificate(cert)
  for (const name of ['localhost', 'host.docker.internal', '*.localhost', '*.blob.localhost']) {
    assert(certificate.subjectAltName?.split(', ').includes(`DNS:${name}`), name)
  }
  for (const address of ['127.0.0.1', '::1', '10.1.2.3']) {
    assert(certificate.checkIP(address), address)
  }
})

// prettier-ignore
const REACHED: readonly [string, Partial<Options>, readonly string[], readonly string[]][] = [
  ['on loopback', {}, [], ['192.0.2.7', '2001:db8::7']],
  ['on all addresses of IPv4', { queueHost: '0.0.0.0' }, ['192.0.2.7'], ['2001:db8::7']],
  ['on all addresses', { dfsHost: '::' }, ['192.0.2.7', '2001:db8::7'], []],
]

for (const [where, options, has, lacks] of REACHED) {
  test(`--https auto: the certificate has the names of the machine, and its addresses ${where}`, async () => {
    const { cert } = await loadAuto(undefined, options)
    const certificate = new X509Certificate(cert)
    for (const name of ['ada', 'ada.example.com']) assert(certificate.checkHost(name), name)
    for (const address of has) assert(certificate.checkIP(address), address)
    for (const address of lacks) assert(!certificate.checkIP(address), address)
  })
}

test('--https auto: a name that is no DNS name is left out, and so is the full name of another machine', async () => {
  const odd = { ...ADA, name: 'my_machine', fullName: async () => 'localhost' }
  assert.deepEqual(await machineNames(odd, ['127.0.0.1']), [])
})

test('--https auto: a machine with a new name gets a new certificate, and one whose full name is unknown for now does not', async () => {
  const location = join(folder, 'machine')
  const first = await loadAuto(location)
  const unknown = { ...ADA, fullName: async () => undefined }
  assert.equal((await loadAuto(location, {}, NOW_MS, unknown)).cert, first.cert)
  const renamed = await loadAuto(location, {}, NOW_MS, { ...unknown, name: 'grace' })
  assert.notEqual(renamed.cert, first.cert)
  assert(new X509Certificate(renamed.cert).checkHost('grace'))
})

for (const location of [join(folder, 'running'), undefined]) {
  const where = location === undefined ? 'in memory' : 'in a folder'
  test(`--https auto ${where}: a running server renews its certificate before it expires, and keeps its CA`, async () => {
    const { tls, ca } = await loadAuto(location)
    assert.equal(await tls.renew(NOW_MS + 300 * DAY_MS), undefined)
    const renewed = await tls.renew(NOW_MS + 370 * DAY_MS)
    assert(renewed)
    const certificate = new X509Certificate(String(renewed.cert))
    assert(certificate.verify(new X509Certificate(ca).publicKey))
    assert(Date.parse(certificate.validTo) > NOW_MS + 700 * DAY_MS)
    assert.equal(await tls.renew(NOW_MS + 371 * DAY_MS), undefined)
  })
}

test('--cert: changed files are used, and bad ones are not', async () => {
  const { cert, key } = await loadAuto(undefined)
  const path = join(folder, 'given.pem')
  writeFileSync(path, key + cert)
  const tls = await load({ cert: path })
  assert(tls)
  assert.equal(await tls.renew(NOW_MS), undefined)
  const other = await loadAuto(undefined)
  writeFileSync(path, other.key + cert)
  await assert.rejects(tls.renew(NOW_MS), /the key does not belong to the certificate/)
  writeFileSync(path, other.key + other.cert)
  assert.equal(String((await tls.renew(NOW_MS))?.cert), other.key + other.cert)
})

test('--https auto: certificates are kept, and only the owner can read their keys', async () => {
  const location = join(folder, 'kept')
  const first = await loadAuto(location)
  const second = await loadAuto(location)
  assert.deepEqual([second.ca, second.cert, second.key], [first.ca, first.cert, first.key])
  assert.equal(first.tls.ca?.path, join(location, 'https', 'ca.pem'))
  assert.equal(readFileSync(join(location, 'https', 'ca.pem'), 'utf8'), first.ca)
  for (const file of ['ca.private.pem', 'server.private.pem']) {
    assert.equal(statSync(join(location, 'https', file)).mode & 0o777, 0o600, file)
  }
})

test('--https auto: another name or a near expiry renews the certificate but not the CA', async () => {
  const location = join(folder, 'renewed')
  const first = await loadAuto(location)
  const renamed = await loadAuto(location, { httpsNames: ['nas.home'] })
  assert.equal(renamed.ca, first.ca)
  assert.notEqual(renamed.cert, first.cert)
  const later = await loadAuto(location, { httpsNames: ['nas.home'] }, NOW_MS + 370 * DAY_MS)
  assert.equal(later.ca, first.ca)
  assert.notEqual(later.cert, renamed.cert)
})

test('--https auto: a CA that would expire before its certificates is replaced', async () => {
  const location = join(folder, 'old-ca')
  const first = await loadAuto(location)
  const later = await loadAuto(location, {}, NOW_MS + 3300 * DAY_MS)
  assert.notEqual(later.ca, first.ca)
  assert(new X509Certificate(later.cert).verify(new X509Certificate(later.ca).publicKey))
})

test('--https auto in memory writes nothing', async () => {
  const tls = await load({ https: 'auto' }, undefined)
  assert(tls?.ca)
  assert.equal(tls.ca.path, undefined)
})

test('--https auto: the error names a damaged file', async () => {
  const location = join(folder, 'damaged')
  await loadAuto(location)
  writeFileSync(join(location, 'https', 'server.private.pem'), 'nothing')
  await assert.rejects(loadAuto(location), /server\.private\.pem is damaged; delete it/)
})

test('--cert works with --key, --pwd, or both in one file', async (t) => {
  const { cert, key } = await loadAuto(join(folder, 'given'))
  const other = await loadAuto(join(folder, 'other'))
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const certPath = file('cert.pem', cert)
  const keyPath = file('key.pem', key)
  const bothPath = file('both.pem', key + cert)
  const pfx = join(folder, 'cert.pfx')
  const openssl = ['pkcs12', '-export', '-in', certPath, '-inkey', keyPath, '-out', pfx]
  execFileSync('openssl', [...openssl, '-passout', 'pass:secret'])
  const encrypted = join(folder, 'encrypted.pem')
  execFileSync(
    'openssl',
    ['ec', '-aes256', '-in', keyPath, '-out', encrypted, '-passout', 'pass:pw'],
    {
      stdio: 'ignore',
    },
  )

  for (const values of [
    { cert: certPath, key: keyPath },
    { cert: bothPath },
    { cert: pfx, pwd: 'secret' },
    { cert: certPath, key: encrypted, pwd: 'pw' },
  ]) {
    await t.test(`accepts ${Object.keys(values).join(', ')}`, async () => {
      assert(await load(values))
    })
  }

  const wrong: readonly [Partial<Options>, RegExp][] = [
    [{ cert: join(folder, 'none.pem'), key: keyPath }, /cannot read --cert .*: no such file/],
    [{ cert: certPath, key: join(folder, 'none.pem') }, /cannot read --key .*: no such file/],
    [{ cert: certPath, key: file('k2.pem', other.key) }, /key does not belong to the certificate/],
    [{ cert: certPath }, /there is no private key/],
    [{ cert: certPath, key: file('k3.pem', 'nothing') }, /there is no private key/],
    [{ cert: certPath, key: encrypted, pwd: 'wrong' }, /the password \(--pwd\) is wrong/],
    [{ cert: certPath, key: encrypted }, /it is encrypted; pass its password/],
    [{ cert: pfx, pwd: 'wrong' }, /the password \(--pwd\) is wrong/],
    [{ cert: pfx }, /it is encrypted; pass its password/],
    [{ cert: pfx, key: keyPath }, /is not PEM/],
    [{ cert: file('rubbish.pfx', 'rubbish'), pwd: 'x' }, /neither PEM nor a readable PFX/],
  ]
  for (const [values, message] of wrong) {
    await t.test(`refuses with ${message.source}`, async () => {
      await assert.rejects(load(values), (error) => {
        assert(error instanceof StartError)
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /\n/)
        return true
      })
    })
  }
})
