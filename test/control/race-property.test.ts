// Random programs on a real server: clients that use conditions or leases never have a race, and clients that do not have
// exactly those that a simple model counts.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import fc from 'fast-check'
import type { RawResponse } from '../harness.ts'
import { openRaceWorld, type RaceClient } from './race-client.ts'

const RUNS = 60
const CLIENTS = ['A', 'B', 'C'] as const
const world = await openRaceWorld({ journal: { countMax: 100_000, bytesMax: 1 << 30 } })
after(() => world.close())

const clients = CLIENTS.map((name) => ({ name, ...world.client(name) }))
type NamedClient = (typeof clients)[number]

const BLOCK = { 'x-ms-blob-type': 'BlockBlob' }
const path = (blob: string) => `/box/${blob}`
/** The file of Data Lake Storage that belongs to a blob. */
const file = (blob: string) => `/lake/${blob}`

function write(
  client: RaceClient,
  blob: string,
  headers: Readonly<Record<string, string>> = {},
  text = '',
): Promise<RawResponse> {
  return client.blob('PUT', path(blob), { ...BLOCK, ...headers }, text)
}

let blobCount = 0

/** Each run has a blob of its own. */
async function newBlob(): Promise<string> {
  blobCount += 1
  const blob = `blob-${blobCount}`
  await write(world.client('set-up'), blob)
  await world.client('set-up').lake('PUT', `${file(blob)}?resource=file`)
  return blob
}

const racesOn = (blob: string) =>
  world.server
    .races()
    .filter(({ resource }) => resource.endsWith(path(blob)) || resource.endsWith(file(blob)))

type Task = AsyncGenerator<void, void, void>

/** Reads, and writes if nothing has changed. */
async function* optimisticUpdate(client: NamedClient, blob: string): Task {
  const { headers } = await client.blob('GET', path(blob))
  yield
  await write(client, blob, { 'if-match': String(headers.etag) })
}

/** Reads and writes under a lease, or does nothing. */
async function* leasedUpdate(client: NamedClient, blob: string): Task {
  const lease = (action: string, headers = {}) =>
    client.blob('PUT', `${path(blob)}?comp=lease`, { 'x-ms-lease-action': action, ...headers })
  const { status, headers } = await lease('acquire', { 'x-ms-lease-duration': '60' })
  yield
  if (status !== 201) return
  const held = { 'x-ms-lease-id': String(headers['x-ms-lease-id']) }
  await client.blob('GET', path(blob))
  yield
  await write(client, blob, held)
  yield
  await lease('release', held)
}

/** Writes another file, and renames it over the one that it has read, if that has not changed. */
async function* optimisticRename(client: NamedClient, blob: string): Task {
  const { headers } = await client.lake('GET', file(blob))
  yield
  const own = `${file(blob)}.${client.name}`
  await client.lake('PUT', `${own}?resource=file`)
  await client.lake('PATCH', `${own}?action=append&position=0&flush=true`, {}, 'text')
  yield
  const given = { 'x-ms-rename-source': own, 'if-match': String(headers.etag) }
  await client.lake('PUT', file(blob), given)
}

/** Appends and flushes in one request, or is refused. */
async function* appendAtOnce(client: NamedClient, blob: string): Task {
  const { headers } = await client.lake('HEAD', file(blob))
  yield
  const position = Number(headers['content-length'] ?? 0)
  await client.lake('PATCH', `${file(blob)}?action=append&position=${position}&flush=true`, {}, 'x')
}

/** Appends and flushes under a lease, or does nothing. */
async function* leasedAppend(client: NamedClient, blob: string): Task {
  const lease = (action: string, headers = {}) =>
    client.lake('POST', file(blob), { 'x-ms-lease-action': action, ...headers })
  const terms = { 'x-ms-lease-duration': '60', 'x-ms-proposed-lease-id': randomUUID() }
  const { status, headers } = await lease('acquire', terms)
  yield
  if (status !== 201) return
  const held = { 'x-ms-lease-id': String(headers['x-ms-lease-id']) }
  const found = await client.lake('HEAD', file(blob))
  const end = Number(found.headers['content-length'] ?? 0)
  yield
  await client.lake('PATCH', `${file(blob)}?action=append&position=${end}`, held, 'xy')
  yield
  await client.lake('PATCH', `${file(blob)}?action=flush&position=${end + 2}`, held)
  yield
  await lease('release', held)
}

const TASKS = { optimisticUpdate, leasedUpdate, optimisticRename, appendAtOnce, leasedAppend }
const anyTask = fc.constantFrom(...(Object.keys(TASKS) as (keyof typeof TASKS)[]))
const anyClient = fc.nat({ max: CLIENTS.length - 1 })

test('clients that use conditions or leases have no race in any order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(anyClient, anyTask), { minLength: 5, maxLength: 30 }),
      async (schedule) => {
        const blob = await newBlob()
        const running = new Map<number, Task>()
        for (const [at, kind] of schedule) {
          const client = clients[at]
          assert(client)
          const task = running.get(at) ?? TASKS[kind](client, blob)
          running.set(at, task)
          if ((await task.next()).done === true) running.delete(at)
        }
        for (const task of running.values()) while ((await task.next()).done !== true);
        assert.deepEqual(racesOn(blob), [])
      },
    ),
    { numRuns: RUNS },
  )
})

const anyAct = fc.constantFrom('read', 'write', 'write if unchanged')

test('clients that use none have exactly the lost updates that a model counts', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(anyClient, anyAct), { minLength: 3, maxLength: 30 }),
      async (schedule) => {
        const blob = await newBlob()
        /** What each client has read or written last. */
        const seen = new Map<string, string>()
        const lost: (readonly [author: string, client: string, wasConditional: boolean])[] = []
        const readers = new Set<string>()
        let [current, author, wasConditional] = ['', 'set-up', false]
        for (const [at, act] of schedule) {
          const client = clients[at] as NamedClient
          const last = seen.get(client.name)
          if (act === 'read') {
            const { headers } = await client.blob('GET', path(blob))
            current = String(headers.etag)
            readers.add(client.name)
          } else {
            const isConditional = act === 'write if unchanged'
            const condition = isConditional && last !== undefined ? { 'if-match': last } : {}
            const { status, headers } = await write(client, blob, condition)
            if (status !== 201) continue
            if (last !== undefined && last !== current)
              lost.push([author, client.name, wasConditional])
            ;[current, author] = [String(headers.etag), client.name]
            wasConditional = 'if-match' in condition
          }
          seen.set(client.name, current)
        }
        const found = racesOn(blob).map(({ kind, isHarmless, clients: [mine, theirs] }) => {
          assert.equal(kind, 'lost update')
          return [theirs, mine, isHarmless]
        })
        /** Blind writes, which can't depend on what was there, are harmless. */
        const expected = lost.map(([theirs, mine, isDependent]) => {
          const isHarmless = !isDependent && !readers.has(theirs) && !readers.has(mine)
          return [theirs, mine, isHarmless]
        })
        assert.deepEqual(found, expected)
      },
    ),
    { numRuns: RUNS },
  )
})

test('with requests at the same time, races are found exactly if something is missing in the end', async () => {
  for (const isSafe of [false, true]) {
    const blob = await newBlob()
    const append = async (client: NamedClient, round: number): Promise<void> => {
      for (;;) {
        const { text, headers } = await client.blob('GET', path(blob))
        const condition = isSafe ? { 'if-match': String(headers.etag) } : {}
        const answer = await write(client, blob, condition, `${text} ${client.name}${round}`)
        if (answer.status === 201) return
      }
    }
    await Promise.all(
      clients.map(async (client) => {
        for (let round = 0; round < 8; round += 1) await append(client, round)
      }),
    )
    const { text } = await world.client('reader').blob('GET', path(blob))
    const missing = clients.length * 8 - text.trim().split(' ').length
    assert.equal(racesOn(blob).length > 0, missing > 0, `${missing} are missing`)
    if (isSafe) assert.equal(missing, 0)
  }
})
