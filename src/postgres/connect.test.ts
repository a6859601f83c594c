// Connections with TLS and passwords, to a server that demands both.
import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { makeCa, makeServerCertificate } from '../start/tls/certificate.ts'
import { connect, DatabaseUnavailable } from './client.ts'
import { SKIP_REASON, startServer, type TestServer } from './harness.ts'
import { callDeadlineMs } from './pool.ts'
import { connectionSettings } from './settings.ts'

// `me` needs a password and TLS, `plain` gets in only without TLS.
const HBA = `local all all trust
hostssl all me all scram-sha-256
hostnossl all plain all trust
host all all all reject
`

describe('connections', { skip: SKIP_REASON ?? false }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-connect-'))
  const file = (name: string): string => join(folder, name)
  let server: TestServer
  before(async () => {
    server = await startServer(['-c', 'fsync=off'])
    const [ca, otherCa] = [await makeCa(Date.now()), await makeCa(Date.now())]
    const { certPem, keyPem } = await makeServerCertificate(ca, ['localhost'], Date.now())
    writeFileSync(file('ca.pem'), ca.certPem)
    writeFileSync(file('other.pem'), otherCa.certPem)
    own(server, 'server.crt', certPem)
    own(server, 'server.key', keyPem)
    own(server, 'data/pg_hba.conf', HBA)
    await server.sql(`CREATE ROLE me LOGIN PASSWORD 's3:cret'; CREATE ROLE plain LOGIN`)
    const at = (name: string): string => join(server.folder, name)
    await server.sql(`ALTER SYSTEM SET ssl_cert_file = '${at('server.crt')}'`)
    await server.sql(`ALTER SYSTEM SET ssl_key_file = '${at('server.key')}'`)
    await server.sql('ALTER SYSTEM SET ssl = on')
    await server.sql('SELECT pg_reload_conf()')
    // The postmaster reads its settings when it gets the signal, which may be after the answer.
    while ((await outcomeOf('me', 'sslmode=require', 's3:cret')) === 'no TLS');
  })
  after(async () => {
    await server.stop()
    rmSync(folder, { recursive: true })
  })

  /** 'TLS', 'plain', or why there is no connection. */
  async function outcomeOf(
    user: string,
    query: string,
    password = '',
    { env = {}, host = 'localhost' }: { env?: Record<string, string>; host?: string } = {},
  ): Promise<string> {
    const secret = password === '' ? '' : `:${encodeURIComponent(password)}`
    const url = `postgres://${user}${secret}@${host}:${server.port}/postgres?${query}`
    const settings = connectionSettings(url, { HOME: folder, ...env })
    try {
      const connection = await connect(settings, { statements: 0 }, callDeadlineMs())
      const [row] = await connection.run(IS_TLS, [], callDeadlineMs())
      await connection.close()
      return row?.[0] === 't' ? 'TLS' : 'plain'
    } catch (error) {
      assert(error instanceof DatabaseUnavailable && !error.message.includes('s3'))
      return reasonOf(error.message)
    }
  }

  test('sslmode decides whether TLS is tried, and what is verified', async () => {
    const caOf = (name: string): string => `sslrootcert=${encodeURIComponent(file(name))}`
    const CASES = [
      ['me', 'sslmode=disable', 'refused'],
      ['me', 'sslmode=allow', 'TLS'],
      ['me', 'sslmode=prefer', 'TLS'],
      ['me', '', 'TLS'],
      ['me', 'sslmode=require', 'TLS'],
      ['me', `sslmode=require&${caOf('other.pem')}`, 'certificate'],
      ['me', `sslmode=verify-ca&${caOf('ca.pem')}`, 'TLS'],
      ['me', `sslmode=verify-ca&${caOf('other.pem')}`, 'certificate'],
      ['me', 'sslmode=verify-ca', 'root certificate missing'],
      ['me', `sslmode=verify-full&${caOf('ca.pem')}`, 'TLS'],
      ['plain', 'sslmode=disable', 'plain'],
      ['plain', 'sslmode=allow', 'plain'],
      ['plain', 'sslmode=prefer', 'plain'],
      ['plain', 'sslmode=require', 'refused'],
    ] as const
    for (const [user, query, expected] of CASES) {
      const outcome = await outcomeOf(user, query, user === 'me' ? 's3:cret' : '')
      assert.equal(outcome, expected, `${user} ${query}`)
    }
    const full = `sslmode=verify-full&${caOf('ca.pem')}`
    assert.equal(await outcomeOf('me', full, 's3:cret', { host: '127.0.0.1' }), 'certificate')
    const ca = `sslmode=verify-ca&${caOf('ca.pem')}`
    assert.equal(await outcomeOf('me', ca, 's3:cret', { host: '127.0.0.1' }), 'TLS')
  })

  test('the password comes from the URL, the environment or the password file', async () => {
    assert.equal(await outcomeOf('me', '', 'wrong'), 'refused')
    assert.equal(await outcomeOf('me', ''), 'password missing')
    assert.equal(await outcomeOf('me', '', '', { env: { PGPASSWORD: 's3:cret' } }), 'TLS')
    writeFileSync(file('.pgpass'), `localhost:${server.port}:*:me:s3\\:cret\n`, { mode: 0o600 })
    assert.equal(await outcomeOf('me', ''), 'TLS')
    chmodSync(file('.pgpass'), 0o644)
    assert.equal(await outcomeOf('me', ''), 'password file open to others')
    rmSync(file('.pgpass'))
  })
})

const IS_TLS = { name: 'is_tls', text: 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()' }

function own({ folder }: TestServer, name: string, text: string): void {
  const path = join(folder, name)
  const { uid, gid } = statSync(folder)
  writeFileSync(path, text)
  chownSync(path, uid, gid)
  chmodSync(path, 0o600)
}

function reasonOf(message: string): string {
  const REASONS: readonly (readonly [RegExp, string])[] = [
    [/does not support SSL/, 'no TLS'],
    [/asks for a password/, 'password missing'],
    [/may be read by others/, 'password file open to others'],
    [/pg_hba.conf|password authentication failed/, 'refused'],
    [/needs a root certificate/, 'root certificate missing'],
    [/certificate|altnames/i, 'certificate'],
  ]
  return REASONS.find(([pattern]) => pattern.test(message))?.[1] ?? message
}
