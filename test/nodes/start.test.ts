// What a node says when it can't start, and what it says about the durability of its database when it does.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { STANDBY_SKIP_REASON, startServer, type TestServer } from '../../src/postgres/harness.ts'
import { cleanUp, stop } from '../server-process.ts'
import { launchNode, startNodeProcess } from './rig.ts'

/** Passwords are asked for from one user only. */
const HBA = `host all guarded 127.0.0.1/32 scram-sha-256
local all all trust
host all all 127.0.0.1/32 trust
host replication all 127.0.0.1/32 trust
`

describe('a node', { skip: STANDBY_SKIP_REASON ?? false }, () => {
  let postgres: TestServer
  let standby: TestServer

  before(async () => {
    postgres = await startServer(['-c', 'fsync=off'])
    await postgres.sql(`CREATE ROLE guarded LOGIN PASSWORD 'right'`)
    await postgres.sql(`CREATE TABLE hba (line text)`)
    const lines = HBA.trim().split('\n').map((line) => `('${line}')`) // prettier-ignore
    await postgres.sql(`INSERT INTO hba VALUES ${lines.join()}`)
    await postgres.sql(`COPY hba TO '${postgres.folder}/data/pg_hba.conf'`)
    await postgres.sql('SELECT pg_reload_conf()')
    standby = await postgres.startStandby()
  })

  after(async () => {
    await cleanUp()
    await standby.stop()
    await postgres.stop()
  })

  /** The only line of a node that does not start. */
  const refusal = async (url: string, env = {}): Promise<string> => {
    const { code, stderr } = await launchNode({ url, name: 'n', env }).ended
    assert.equal(code, 1, stderr)
    const [line = '', ...more] = stderr.split('\n')
    assert.deepEqual(more, [''], stderr)
    return line
  }

  const REFUSALS: Readonly<Record<string, readonly [() => string, RegExp]>> = {
    'a database that is missing': [() => postgres.tcpUrl('nowhere'), /database "nowhere" does not exist$/], // prettier-ignore
    'a server that is not there': [() => 'postgres://postgres@127.0.0.1:1/x', /^lazuli: Can't connect to postgres:\/\/postgres@127\.0\.0\.1:1\/x: connect ECONNREFUSED/], // prettier-ignore
    'a wrong password': [() => `postgres://guarded:wrong@127.0.0.1:${postgres.port}/postgres`, /password authentication failed for user "guarded"$/], // prettier-ignore
    'no password': [() => `postgres://guarded@127.0.0.1:${postgres.port}/postgres`, /the server asks for a password$/], // prettier-ignore
    'a standby': [() => standby.tcpUrl('postgres'), /The server is a standby; only a primary will do\.$/], // prettier-ignore
  }

  for (const [what, [url, expected]] of Object.entries(REFUSALS)) {
    test(`says so in one line: ${what}`, async () => {
      const line = await refusal(url())
      assert.match(line, expected)
      assert.doesNotMatch(line, /wrong@/, 'the password is not shown')
    })
  }

  test('refuses a database of a newer version', async () => {
    const database = await postgres.newDatabase()
    const schema = 'CREATE SCHEMA lazuli; CREATE TABLE lazuli.schema (version integer)'
    await postgres.sql(`${schema}; INSERT INTO lazuli.schema VALUES (999)`, database)
    const line = await refusal(postgres.tcpUrl(database))
    assert.match(line, /^lazuli: The database was written by a newer version of Lazuli: .* 999,/)
  })

  test('refuses to join others with other accounts', async () => {
    const url = postgres.tcpUrl(await postgres.newDatabase())
    const node = await startNodeProcess({ url, name: 'first' })
    const key = Buffer.alloc(64, 'k').toString('base64')
    const line = await refusal(url, { LAZULI_ACCOUNTS: `other:${key}` })
    assert.match(line, /^lazuli: the node first serves the same store with other accounts/)
    assert.equal((await stop(node)).code, 0)
  })

  const start = async (args: readonly string[] = []): Promise<string> => {
    const url = postgres.tcpUrl(await postgres.newDatabase())
    const node = await startNodeProcess({ url, name: 'n', args, isSilent: false })
    await stop(node)
    return /^A (?:crash|fail-over) .*/m.exec(node.stdout())?.[0] ?? ''
  }

  test('says what a fail-over can lose', async () => {
    assert.match(await start(), /^A crash .* loses nothing; a fail-over .* can lose .* \(synchronous_standby_names is empty\)\.$/) // prettier-ignore
    await set('synchronous_standby_names', `'*'`)
    assert.equal(await start(), 'A fail-over to a synchronous standby loses nothing (synchronous_standby_names is *).') // prettier-ignore
    await set('synchronous_standby_names', `''`)
    await set('synchronous_commit', 'off')
    const line = await refusal(postgres.tcpUrl(await postgres.newDatabase()))
    assert.match(line, /synchronous_commit=off.*--allowAsyncCommit$/)
    assert.match(await start(['--allowAsyncCommit']), /^A crash of the database can lose the last acknowledged writes/) // prettier-ignore
    await set('synchronous_commit', 'on')
  })

  const set = async (name: string, value: string): Promise<void> => {
    await postgres.sql(`ALTER SYSTEM SET ${name} = ${value}`)
    await postgres.sql('SELECT pg_reload_conf()')
  }
})
