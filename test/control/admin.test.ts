// The admin port and the command beside a server as a user runs it: the journal, its stream and file, and who may use them.
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startServer } from '../../src/server.ts'
import type { JournalEntry } from '../../src/control/entry.ts'
import { rawRequest } from '../harness.ts'
import {
  cleanUp,
  createContainer,
  run,
  startServerProcess,
  stop,
  tempFolder,
  type ServerProcess,
} from '../server-process.ts'

after(cleanUp)

const BLOCK_BLOB = { 'x-ms-blob-type': 'BlockBlob' }
const MEMORY = ['--inMemoryPersistence', '--silent']

async function put(
  server: Pick<ServerProcess, 'blobPort'>,
  client: string,
  condition = {},
): Promise<number> {
  const headers = { ...BLOCK_BLOB, 'x-lazuli-client': client, ...condition }
  const { status } = await rawRequest(server, {
    method: 'PUT',
    path: '/race/doc',
    headers,
    body: client,
  })
  return status
}

/** B overwrites the blob that A has the ETag of. */
async function loseRace(server: Pick<ServerProcess, 'blobPort'>): Promise<void> {
  assert.equal((await createContainer(server, 'race')).status, 201)
  assert.equal(await put(server, 'B'), 201)
  assert.equal(await put(server, 'A', { 'If-None-Match': '*' }), 409)
}

type Page = { readonly entries: readonly JournalEntry[] }

async function journal(adminUrl: string, query = ''): Promise<readonly JournalEntry[]> {
  const answer = await fetch(`${adminUrl}/api/journal${query}`)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as Page).entries
}

test('the journal over HTTP, as a stream, as a file and in a terminal', async () => {
  const cwd = tempFolder('journal')
  const server = await startServerProcess({ args: [...MEMORY, '--journalFile', 'all.log'], cwd })
  await loseRace(server)
  const [lost, ...more] = await journal(server.adminUrl, '?conflicts=true')
  assert(lost !== undefined && more.length === 0)
  assert.partialDeepStrictEqual(lost, {
    operation: 'Put Blob',
    resource: '/devstoreaccount1/race/doc',
    status: 409,
    client: { name: 'A' },
    winner: { client: 'B', operation: 'Put Blob' },
  })
  assert.equal((await journal(server.adminUrl, '?resource=/devstoreaccount1/race/doc')).length, 2)

  const shown = await run({ args: ['journal', '--conflicts', '--adminUrl', server.adminUrl] })
  assert.match(
    shown.stdout,
    new RegExp(`#${lost.id} +A +Put Blob +409  /devstoreaccount1/race/doc\\n`),
  )
  assert.match(
    shown.stdout,
    new RegExp(
      `BlobAlreadyExists, refused by existence, lost to #${lost.lostTo} \\(client B, Put Blob, [\\d.]+ m?s before\\)\\n`,
    ),
  )

  const stream = await fetch(`${server.adminUrl}/api/journal/stream?conflicts=true`, {
    headers: { 'Last-Event-ID': String(lost.id - 1) },
  })
  assert.equal(stream.headers.get('content-type'), 'text/event-stream')
  await put(server, 'A', { 'If-None-Match': '*' })
  let events = ''
  for await (const bytes of stream.body ?? []) {
    events += Buffer.from(bytes).toString()
    if ((events.match(/^data: .*\n\n/gm) ?? []).length === 2) break
  }
  assert.match(events, new RegExp(`^id: ${lost.id}\\n`, 'm'))

  assert.equal((await stop(server)).code, 0)
  const path = join(cwd, 'all.log')
  assert.equal(statSync(path).mode & 0o077, 0)
  const lines = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line))
  assert.equal(lines.length, 4)
  assert.deepEqual(lines[2], lost)
})

test('where other machines reach the admin port, control needs --control and a token', async () => {
  const server = await startServerProcess({
    args: [...MEMORY, '--adminHost', '0.0.0.0', '--control'],
  })
  const [, token = ''] = /token for the journal and control: (\S+)/.exec(server.stdout()) ?? []
  const url = server.adminUrl
  assert.equal((await fetch(`${url}/health/live`)).status, 200)
  assert.equal((await fetch(`${url}/api/journal`)).status, 401)
  const args = ['journal', '--adminUrl', url]
  const refused = await run({ args })
  assert.deepEqual([refused.code, refused.stdout], [1, ''])
  assert.match(
    refused.stderr,
    /^lazuli: this needs .*; give the token of .* with --controlToken or LAZULI_CONTROL_TOKEN\n$/,
  )
  const allowed = await run({ args, env: { LAZULI_CONTROL_TOKEN: token } })
  assert.deepEqual([allowed.code, allowed.stdout], [0, 'no entries\n'])
})

test('without --control, other machines cannot even read the journal', async () => {
  const server = await startServerProcess({ args: [...MEMORY, '--adminHost', '0.0.0.0'] })
  assert.doesNotMatch(server.stdout(), /token/)
  const answer = await fetch(`${server.adminUrl}/api/journal`)
  assert.equal(answer.status, 403)
  assert.match(await answer.text(), /start the server with --controlToken/)
})

test('--journal off: there is no journal, and the command says so', async () => {
  const server = await startServerProcess({ args: [...MEMORY, '--journal', 'off'] })
  const { code, stderr } = await run({ args: ['journal', '--adminUrl', server.adminUrl] })
  assert.equal(code, 1)
  assert.match(stderr, /^lazuli: there is no \/api\/journal; see \/api\/openapi\.json\n$/)
})

test('the text log has the operation, the error code and the client request id', async () => {
  const server = await startServerProcess({ args: ['--inMemoryPersistence'] })
  await createContainer(server, 'race')
  await put(server, 'B', { 'x-ms-client-request-id': 'mine' })
  await put(server, 'A', { 'If-None-Match': '*' })
  await server.printed(/" 201 0 "Put Blob" "ms=[\d.]+ client=mine"\n/)
  await server.printed(/" 409 \d+ "Put Blob" "error=BlobAlreadyExists ms=[\d.]+"\n/)
})

test('startServer: the journal as a method and over HTTP', async () => {
  await using stack = new AsyncDisposableStack()
  const server = await startServer({ adminPort: 0, journal: { countMax: 2, clientBy: ['name'] } })
  stack.defer(() => server.close())
  const heard: number[] = []
  const stopListening = server.journal.listen(({ id }) => heard.push(id), { conflicts: true })
  await loseRace(server)
  const entries = server.journal.list()
  assert.deepEqual(
    entries.map(({ id, client }) => [id, client.name]),
    [
      [2, 'B'],
      [3, 'A'],
    ],
  )
  assert.deepEqual(await journal(server.adminUrl ?? ''), JSON.parse(JSON.stringify(entries)))
  assert.deepEqual(heard, [3])
  stopListening()
  server.journal.clear()
  assert.deepEqual(server.journal.list(), [])
})

test('startServer: options of the journal and the admin port are checked', async () => {
  const server = await startServer({ journal: false })
  assert.equal(server.adminUrl, undefined)
  assert.throws(() => server.journal.list(), /this server was started with journal: false/)
  await server.close()
  const refused = (options: object, message: RegExp) =>
    assert.rejects(startServer(options), message)
  await refused(
    { controlToken: 'secret-of-this-test' },
    /'controlToken' can only be used with 'adminPort'/,
  )
  await refused(
    { adminPort: 0, host: '0.0.0.0' },
    /'adminPort' needs 'controlToken', since other machines can reach 0\.0\.0\.0/,
  )
})
