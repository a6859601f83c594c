// Every part of a real server by its admin port: what it answers fits its description, and mistakes are named.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startServer, type LazuliServer } from '../../src/server.ts'
import type { JsonSchema } from '../../src/start/admin/api/schema.ts'
import { rawRequest } from '../harness.ts'
import { fits } from '../json-schema.ts'
import { DISPOSITION } from '../smb/client-message.ts'
import { SmbClient } from '../smb/smb-client.ts'
import { cleanUp, run, tempFolder } from '../server-process.ts'

let server: LazuliServer
let document: Document

type Operation = {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>> }>
  >
}
type Document = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }

before(async () => {
  server = await startServer({ adminPort: 0 })
  document = (await (await fetch(`${server.adminUrl}/api/openapi.json`)).json()) as Document
})
after(async () => {
  await server.close()
  await cleanUp()
})

async function ask(line: string, body?: object): Promise<{ status: number; value: unknown }> {
  const [method = '', path = ''] = line.split(' ')
  const answer = await fetch(`${server.adminUrl}/api/${path}`, {
    method,
    ...(method === 'POST' && {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body ?? {}),
    }),
  })
  return { status: answer.status, value: await answer.json() }
}

/** Routes whose answers were checked. */
const checked = new Set<string>()

/** Asks, and checks the answer with the description that the server gives of itself. */
async function done(path: string, line: string, body?: object): Promise<unknown> {
  const { status, value } = await ask(line, body)
  assert(status === 200 || status === 201, `${line}: ${JSON.stringify(value)}`)
  const method = (line.split(' ')[0] ?? '').toLowerCase()
  const schema =
    document.paths[`/api/${path}`]?.[method]?.responses[status]?.content?.['application/json']
      ?.schema
  assert(schema !== undefined, `${path} is described`)
  assert(fits(schema, value), `${line}: ${JSON.stringify(value)} fits ${JSON.stringify(schema)}`)
  checked.add(`${method} /api/${path}`)
  return value
}

async function send(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const block =
    method === 'PUT' && path.split('/').length > 2 ? { 'x-ms-blob-type': 'BlockBlob' } : {}
  const { status } = await rawRequest(server, {
    method,
    path,
    headers: { ...block, 'x-lazuli-client': 'A', ...headers },
  })
  return status
}

test('leases are listed and broken', async () => {
  await send('PUT', '/leased?restype=container')
  await send('PUT', '/leased?restype=container&comp=lease', {
    'x-ms-lease-action': 'acquire',
    'x-ms-lease-duration': '-1',
  })
  const value = await done('leases', 'GET leases?countMax=5')
  assert.partialDeepStrictEqual(value, {
    leases: [
      { kind: 'container', resource: '/devstoreaccount1/leased', state: 'leased', client: 'A' },
    ],
  })
  await done('leases/break', 'POST leases/break', { resource: '/devstoreaccount1/leased' })
  const again = await ask('POST leases/break', { resource: '/devstoreaccount1/leased' })
  assert.equal(again.status, 404)
})

test('lists of a server on which nothing is held', async () => {
  for (const path of [
    'messages/invisible',
    'opens',
    'locks',
    'copies',
    'uncommitted',
    'races',
    'snapshots',
    'faults',
    'barriers',
  ])
    await done(path, `GET ${path}`)
  assert.equal((await ask('DELETE opens/none')).status, 400)
})

test('the clock is held, advanced and set', async () => {
  const held = await done('clock', 'POST clock', { hold: true })
  assert.partialDeepStrictEqual(held, { isHeld: true })
  await done('clock', 'POST clock', { advance: 'PT60S' })
  await done('clock', 'POST clock', { advance: 1_000 })
  await done('clock', 'POST clock', { run: true })
  await done('clock', 'GET clock')
  const wrong = await ask('POST clock', { advance: 'soon' })
  assert.equal(wrong.status, 400)
  assert.match(JSON.stringify(wrong.value), /"message":".*PT60S/)
})

test('a barrier holds a request until it is released', async () => {
  await send('PUT', '/barred?restype=container')
  const rule = { at: 'checked', match: { operation: 'Put Blob', path: '/barred/*' } }
  const { id } = (await done('barriers', 'POST barriers', rule)) as { id: string }
  const late = await ask(`GET barriers/${id}?held=1&timeLimit=1`)
  assert.equal(late.status, 409)
  const putting = send('PUT', '/barred/doc')
  const waiting = await done('barriers/{id}', `GET barriers/${id}?held=1`)
  assert.partialDeepStrictEqual(waiting, { held: [{ client: 'A', operation: 'Put Blob' }] })
  const unknown = await ask(`POST barriers/${id}/release`, { clients: ['B'] })
  assert.partialDeepStrictEqual(unknown, { status: 400, value: { error: { field: 'clients' } } })
  await done('barriers/{id}/release', `POST barriers/${id}/release`, { clients: ['A'] })
  assert.equal(await putting, 201)
  await done('barriers/{id}', `DELETE barriers/${id}`)
  assert.equal((await ask(`GET barriers/${id}`)).status, 404)
})

test('a fault strikes', async () => {
  await send('PUT', '/faulty?restype=container')
  const rule = {
    match: { path: '/faulty/*' },
    effect: { status: 503, code: 'ServerBusy' },
    times: 1,
  }
  const { id } = (await done('faults', 'POST faults', rule)) as { id: string }
  assert.deepEqual([await send('PUT', '/faulty/doc'), await send('PUT', '/faulty/doc')], [503, 201])
  assert.partialDeepStrictEqual(await done('faults', 'GET faults'), {
    faults: [{ id, struckCount: 1 }],
  })
  await done('faults/{id}', `DELETE faults/${id}`)
})

test('snapshots, reset, seed and export', async () => {
  await send('PUT', '/kept?restype=container')
  await done('snapshots/{name}', 'POST snapshots/one')
  await done('reset', 'POST reset', { service: 'blob' })
  assert.equal(await send('HEAD', '/kept?restype=container'), 404)
  await done('snapshots/{name}/restore', 'POST snapshots/one/restore')
  assert.equal(await send('HEAD', '/kept?restype=container'), 200)
  await done('snapshots/{name}', 'DELETE snapshots/one')
  const unknown = await ask('POST reset', { account: 'nobody' })
  assert.partialDeepStrictEqual(unknown, { status: 400, value: { error: { field: 'account' } } })

  const folder = tempFolder('seed')
  mkdirSync(join(folder, 'blobs', 'seeded'), { recursive: true })
  writeFileSync(join(folder, 'blobs', 'seeded', 'a.txt'), 'hello')
  await done('seed', 'POST seed', { folder })
  assert.equal(await send('HEAD', '/seeded/a.txt'), 200)
  const into = join(folder, 'out')
  await done('export', 'POST export', { folder: into })
  assert(readdirSync(into).length > 0)
  assert.equal((await ask('POST snapshots/none/restore')).status, 400)
  const none = await ask('POST seed', { folder: join(folder, 'none') })
  assert(none.status >= 400 && none.status < 500, JSON.stringify(none))
})

test('the journal, its entries, the timeline and races', async () => {
  const { lastId } = (await done('journal', 'GET journal?conflicts=true')) as { lastId: number }
  assert(lastId > 0)
  await done('journal/{id}', `GET journal/${lastId}`)
  await done('timeline', 'GET timeline?resource=/devstoreaccount1')
  await done('overview', 'GET overview')
  await send('PUT', '/raced?restype=container')
  const put = (client: string) => send('PUT', '/raced/doc', { 'x-lazuli-client': client })
  for (const client of ['A', 'B']) {
    await put(client)
    await send('GET', '/raced/doc', { 'x-lazuli-client': client })
  }
  await put('A')
  const { races } = (await done('races', 'GET races')) as {
    races: { kind: string; entries: { id: number }[] }[]
  }
  assert.deepEqual(
    races.map(({ kind }) => kind),
    ['lost update'],
  )
  const query = `entry=${races[0]?.entries.at(-1)?.id}&kind=lost+update`
  await done('races/test', `GET races/test?${query}`)
  const refused = await ask('GET races?expectNoRaces=true')
  assert.equal(refused.status, 409)
  assert.match(JSON.stringify(refused.value), /1 race:.*1\. lost update: .*If-Match/)
  const command = await run({
    args: ['races', '--expectNoRaces', '--adminUrl', server.adminUrl ?? ''],
  })
  assert.deepEqual([command.code, command.stdout], [1, ''])
  assert.match(command.stderr, /^lazuli: 1 race:\n1\. lost update: /)
  await done('journal', 'DELETE journal')
  await done('races', 'GET races?expectNoRaces=true')
})

test('all barriers and faults are removed together', async () => {
  await done('barriers', 'POST barriers', { at: 'read' })
  await done('faults', 'POST faults', { effect: { status: 503 } })
  await done('barriers', 'DELETE barriers')
  await done('faults', 'DELETE faults')
  assert.deepEqual([server.barriers.list(), server.faults.list()], [[], []])
})

test('messages, opens and a backup', async () => {
  const queue = (method: string, path: string, body?: string) =>
    rawRequest(
      { blobPort: server.queuePort },
      { method, path, ...(body !== undefined && { body }) },
    )
  await queue('PUT', '/jobs')
  await queue(
    'POST',
    '/jobs/messages',
    '<QueueMessage><MessageText>job</MessageText></QueueMessage>',
  )
  await queue('GET', '/jobs/messages')
  const { messages } = (await done('messages/invisible', 'GET messages/invisible')) as {
    messages: Record<string, string>[]
  }
  const { account, queue: name, messageId } = messages[0] ?? {}
  await done('messages/visible', 'POST messages/visible', { account, queue: name, messageId })
  await rawRequest({ blobPort: server.filePort }, { method: 'PUT', path: '/share?restype=share' })
  const smb = await SmbClient.connect({ port: server.smbPort, share: 'share' })
  await smb.open('f', { disposition: DISPOSITION.create })
  const { opens } = (await done('opens', 'GET opens')) as { opens: { id: string }[] }
  await done('opens/{id}', `DELETE opens/${opens[0]?.id}`)
  smb.end()
  await done('backup', 'GET backup')
})

test('every route has been asked, except those of the console and the backup of a store in memory', () => {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  )
  const others = all.filter(
    (route) => !checked.has(route) && !/\/(storage|accounts|sas|traffic)\b/.test(route),
  )
  assert.deepEqual(others, ['get /api/journal/stream', 'post /api/backup', 'delete /api/backup'])
})

for (const line of [
  'leases',
  'messages',
  'opens',
  'locks',
  'copies',
  'uncommitted',
  'races',
  'clock',
  'barriers',
  'faults',
  'snapshots',
  'journal',
])
  test(`lazuli ${line} shows it in a terminal`, async () => {
    const { code, stdout, stderr } = await run({
      args: [line, '--adminUrl', server.adminUrl ?? ''],
    })
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^[^\n]+\n/)
    for (const each of stdout.split('\n')) assert(each.length <= 130, each)
  })
