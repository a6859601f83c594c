// The commands for a store in PostgreSQL, run as an operator runs them: beside the nodes of a cluster.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { SKIP_REASON, testServer, type TestServer } from '../src/postgres/harness.ts'
import { callDeadlineMs } from '../src/postgres/pool.ts'
import {
  cleanUp,
  createContainer,
  deleteBlob,
  launch,
  putBlob,
  run,
  startServerProcess,
  stop,
  tempFolder,
  type Ended,
  type ServerProcess,
} from './server-process.ts'

after(cleanUp)

const FREE_PORTS = { LAZULI_NODE_PORT: '0', LAZULI_WEB_PORT: '0' }

function startNode(url: string, name: string): Promise<ServerProcess> {
  return startServerProcess({ args: ['--store', url, '--nodeName', name], env: FREE_PORTS })
}

type KnownNode = { readonly endpoints: object; readonly roles: readonly string[] }

/** A node learns of others with its heartbeat: waits until it has seen all of them with what they will have. */
async function knowsNodes({ adminUrl }: ServerProcess, count: number): Promise<void> {
  const deadlineMs = Date.now() + 30_000
  for (;;) {
    const answer = await fetch(`${adminUrl}/api/nodes`)
    const { nodes } = (await answer.json()) as { readonly nodes: readonly KnownNode[] }
    const isReady = nodes.every(({ endpoints }) => Object.keys(endpoints).length > 0)
    const roleCount = nodes.flatMap(({ roles }) => roles).length
    if (nodes.length === count && isReady && roleCount === 3) return
    assert(Date.now() < deadlineMs, `the node still knows ${nodes.length} of ${count} nodes`)
  }
}

/** Rows of a query in the test's database. */
async function rowsOf(server: TestServer, database: string, text: string) {
  const connection = await server.connectTo(database)
  try {
    return await connection.run({ name: 'test', text }, [], callDeadlineMs())
  } finally {
    await connection.close()
  }
}

/** Name and labels of each sample, and its value. */
async function metricsOf(adminUrl: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(samples.map((line) => [line.replace(/ \S+$/, ''), Number(/\S+$/.exec(line)?.[0])]))
}

function assertRefused({ code, stdout, stderr }: Ended, exitCode: number, says: RegExp): void {
  assert.match(stderr, says)
  assert.match(stderr, /^lazuli: [^\n]+\n$/, 'one line')
  assert.deepEqual([code, stdout], [exitCode, ''])
}

describe('beside the nodes of a cluster', { skip: SKIP_REASON }, () => {
  let postgres: TestServer
  let [database, url] = ['', '']
  let nodes: ServerProcess[]
  before(async () => {
    postgres = await testServer()
    database = await postgres.newDatabase()
    url = postgres.url(database)
    nodes = [await startNode(url, 'first'), await startNode(url, 'second')]
    for (const node of nodes) await knowsNodes(node, 2)
  })

  test('lazuli nodes lists them, and registers nothing', async () => {
    const writers = 'SELECT number, slot FROM lazuli.writer ORDER BY number'
    const before = await rowsOf(postgres, database, writers)
    const { code, stdout, stderr } = await run({ args: ['nodes', '--store', url] })
    assert.deepEqual([code, stderr], [0, ''])
    const [title, first, second, ...more] = stdout.split('\n')
    assert.match(title ?? '', /^NODE +NUMBER +HEARTBEAT +ROLES /)
    assert.match(
      first ?? '',
      /^first +1 +\d+\.\d s ago +sweeper,copies,files .* blob=127\.0\.0\.1:/,
    )
    assert.match(second ?? '', /^second +2 +\d+\.\d s ago +- /)
    assert.deepEqual(more, [''])
    assert.deepEqual(await rowsOf(postgres, database, writers), before)
  })

  test('lazuli nodes --json and the admin port of every node list the same', async () => {
    const { stdout } = await run({ args: ['nodes', '--json'], env: { LAZULI_STORE: url } })
    const identities = (text: string) =>
      (JSON.parse(text) as { nodes: Record<string, unknown>[] }).nodes.map(
        ({ name, number, roles, version, startedAt, peer, endpoints, isSilent }) =>
          ({ name, number, roles, version, startedAt, peer, endpoints, isSilent }), // prettier-ignore
      )
    const listed = identities(stdout)
    assert.deepEqual(listed.map(({ name }) => name), ['first', 'second']) // prettier-ignore
    assert.equal(listed[0]?.isSilent, false)
    for (const { adminUrl } of nodes) {
      const answer = await fetch(`${adminUrl}/api/nodes`)
      assert.equal(answer.headers.get('content-type'), 'application/json')
      assert.deepEqual(identities(await answer.text()), listed)
    }
  })

  test('their metrics show the database, the heartbeat and the roles', async () => {
    const [first, second] = await Promise.all(nodes.map(({ adminUrl }) => metricsOf(adminUrl)))
    assert(first && second)
    const roles = ['sweeper', 'copies', 'files'].map((role) => `lazuli_role{role="${role}"}`)
    assert.deepEqual(roles.map((name) => first.get(name)), [1, 1, 1]) // prettier-ignore
    assert.deepEqual(roles.map((name) => second.get(name)), [0, 0, 0]) // prettier-ignore
    assert.deepEqual([first.get('lazuli_nodes'), second.get('lazuli_nodes')], [2, 2])
    const [commits = 0, transactions = 0, trips = 0] = [
      'commits',
      'transactions',
      'round_trips',
    ].map((name) => first.get(`lazuli_database_${name}_total`))
    assert(commits > 0 && transactions >= commits && trips > commits)
    for (const name of ['heartbeat_age', 'heartbeat_duration', 'clock_ahead']) {
      assert(Number.isFinite(first.get(`lazuli_${name}_seconds`)), name)
    }
    assert(first.has('lazuli_database_overtaken_total'))
  })

  test('lazuli fsck checks what they write, and registers nothing', async () => {
    const [first, second] = nodes
    assert(first && second)
    assert.equal((await createContainer(first, 'checked')).status, 201)
    const body = Buffer.alloc(300_000, 'checked')
    assert.equal((await putBlob(second, '/checked/b', body)).status, 201)
    const writers = 'SELECT number, slot FROM lazuli.writer ORDER BY number'
    const before = await rowsOf(postgres, database, writers)
    const checking = launch({ args: ['fsck', '--store', url] })
    // Beside writes of both nodes.
    for (let at = 0; checking.child.exitCode === null; at += 1) {
      const node: ServerProcess = at % 2 === 0 ? first : second
      assert.equal((await putBlob(node, `/checked/${at % 5}`, body)).status, 201)
    }
    const { code, stdout, stderr } = await checking.ended
    assert.equal(code, 0, stderr)
    assert.match(stderr, /^(?:(?:records|content): [^\n]+\n)+$/)
    assert.match(stdout, /^\d+ records, \d+ extents, \d+ bytes of content checked\nno problems\n$/)
    assert.deepEqual(await rowsOf(postgres, database, writers), before)
  })

  test('lazuli fsck finds damage', async () => {
    const [first] = nodes
    assert(first)
    const body = Buffer.alloc(300_000, 'damaged')
    assert.equal((await createContainer(first, 'damage')).status, 201)
    assert.equal((await putBlob(first, '/damage/b', body)).status, 201)
    const tables = `SELECT tablename FROM pg_tables WHERE tablename LIKE 'extent\\_%'`
    for (const [table] of await rowsOf(postgres, database, tables)) {
      const damage = `UPDATE lazuli.${table} SET bytes = set_byte(bytes, 0, 0) WHERE get_byte(bytes, 0) = ${body[0]}`
      await postgres.sql(damage, database)
    }
    const { code, stdout } = await run({ args: ['fsck', '--store', url] })
    assert.equal(code, 1)
    assert.match(stdout, /^sliceDamaged \["blob",\d+,"b"\]: CRC-32 \d+ instead of \d+ \(extent/m)
    assert.match(stdout, /1 problems\n$/)
    assert.equal((await deleteBlob(first, '/damage/b')).status, 202)
  })

  test('lazuli fsck refuses the wrong place for content, and a database without a store', async () => {
    const folder = tempFolder('bytes')
    const wrong = await run({ args: ['fsck', '--store', url, '--bytes', `folder:${folder}`] })
    assertRefused(
      wrong,
      2,
      /the content of this store is not in folder; start with --bytes postgres/,
    )
    const empty = postgres.url(await postgres.newDatabase())
    const none = await run({ args: ['fsck', '--store', empty] })
    assertRefused(none, 2, /The database has no store of Lazuli/)
  })

  test('lazuli fsck checks content in a folder that nodes share', async () => {
    const [shared, other] = [tempFolder('shared'), tempFolder('other')]
    const sharing = postgres.url(await postgres.newDatabase())
    const args = ['--store', sharing, '--bytes', `folder:${shared}`]
    const node = await startServerProcess({ args, env: FREE_PORTS })
    assert.equal((await createContainer(node, 'box')).status, 201)
    assert.equal((await putBlob(node, '/box/b', Buffer.alloc(300_000))).status, 201)
    const { code, stdout } = await run({ args: ['fsck', ...args] })
    assert.deepEqual([code, /(\d+) bytes of/.exec(stdout)?.[1]], [0, '300000'], stdout)
    const wrong = await run({ args: ['fsck', '--store', sharing, '--bytes', `folder:${other}`] })
    assertRefused(wrong, 2, /does not have the bytes of this store. Is it mounted\?/)
    await stop(node)
  })

  test('a connection that the server refuses to encrypt leaves nothing that keeps the command', async () => {
    const args = ['nodes', '--store', postgres.tcpUrl(database)]
    const { code, stdout } = await run({ args })
    assert.deepEqual([code, /^first/m.test(stdout)], [0, true])
  })

  test('a node that leaves is not listed any more', async () => {
    const third = await startNode(url, 'third')
    assert.equal((await createContainer(third, 'by-third')).status, 201)
    const ended = await stop(third)
    assert.equal(ended.code, 0)
    const { stdout } = await run({ args: ['nodes', '--store', url] })
    assert.doesNotMatch(stdout, /third/)
  })
})

test('a server that is not a node lists none', async () => {
  const server = await startServerProcess({ args: ['--inMemoryPersistence'] })
  const answer = await fetch(`${server.adminUrl}/api/nodes`)
  assert.deepEqual(await answer.json(), { nodes: [] })
})

describe('lazuli nodes refuses in one line', { skip: SKIP_REASON }, () => {
  test('a database without a store, and leaves it so', async () => {
    const postgres = await testServer()
    const database = await postgres.newDatabase()
    const ended = await run({ args: ['nodes', '--store', postgres.url(database)] })
    assertRefused(
      ended,
      1,
      /postgres:\/\/postgres@.*\/test_\d+: The database has no store of Lazuli/,
    )
    const schemas = `SELECT nspname FROM pg_namespace WHERE nspname = 'lazuli'`
    assert.deepEqual(await rowsOf(postgres, database, schemas), [])
  })

  test('a database that does not exist', async () => {
    const ended = await run({ args: ['nodes', '--store', (await testServer()).url('none')] })
    assertRefused(ended, 1, /Can't connect to postgres:.*"none" does not exist/)
  })

  test('a URL that is none, and no URL at all', async () => {
    const bad = await run({ args: ['nodes', '--store', 'postgres://a@b/c?mode=1'] })
    assertRefused(bad, 2, /Unknown parameter "mode" in the URL of the database/)
    assertRefused(await run({ args: ['nodes'] }), 2, /lazuli nodes needs --store/)
    const json = await run({ args: ['health', '--json'] })
    assertRefused(json, 2, /--json can only be used with lazuli nodes/)
  })
})
