// Many clients at the same names at once: exactly one makes, takes away or moves a thing, the tree stays a tree,
// and a snapshot of the share is one state of all of its files.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ShareServiceClient, type ShareClient } from '@azure/storage-file-share'
import { startTestServer, type TestServer } from '../harness.ts'
import { outcomeOf } from './smb-client.ts'

const CLIENTS = 100

let server: TestServer
let share: ShareClient

before(async () => {
  server = await startTestServer({ onDisk: true })
  share = ShareServiceClient.fromConnectionString(server.connectionString).getShareClient('names')
  await share.create()
})
after(() => server.close())

const fileOf = (path: string) => share.rootDirectoryClient.getFileClient(path)

/** How often each outcome came of so many calls at once. */
async function tally(
  call: (client: number) => Promise<unknown>,
  count = CLIENTS,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const all = Array.from({ length: count }, (_, client) => outcomeOf(call(client)))
  for (const outcome of await Promise.all(all)) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}

async function namesIn(path: string): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of share.getDirectoryClient(path).listFilesAndDirectories())
    names.push(name)
  return names.toSorted()
}

test('one creates a directory, one deletes it', async () => {
  const directory = share.getDirectoryClient('one')
  const others = CLIENTS - 1
  const made = await tally(() => directory.create())
  assert.deepEqual(made, { ok: 1, '409 ResourceAlreadyExists': others })
  const gone = await tally(() => directory.delete())
  assert.deepEqual(gone, { ok: 1, '404 ResourceNotFound': others })
})

test('who creates a file that is there replaces it: one file, one id', async () => {
  const ids = new Set<string | undefined>()
  const made = await tally(async (client) => {
    ids.add((await fileOf('replaced').create(client + 1)).fileId)
  })
  assert.deepEqual(made, { ok: CLIENTS })
  assert.equal(ids.size, 1)
  const gone = await tally(() => fileOf('replaced').delete())
  assert.deepEqual(gone, { ok: 1, '404 ResourceNotFound': CLIENTS - 1 })
})

test('of those who move files to one place, one comes first', async () => {
  await share.createDirectory('race')
  for (let client = 0; client < 50; client += 1) await fileOf(`race/${client}`).create(1)
  const moved = await tally((client) => fileOf(`race/${client}`).rename('race/Goal'), 50)
  assert.deepEqual(moved, { ok: 1, '409 ResourceAlreadyExists': 49 })
  assert.equal((await namesIn('race')).length, 50)
})

test('a directory that many move about stays one, with what is in it', async () => {
  await share.createDirectory('roaming-0')
  await fileOf('roaming-0/inside').create(7)
  const places = Array.from({ length: 7 }, (_, at) => `roaming-${at}`)
  await tally((client) => {
    const [from = '', to = ''] = [places[client % 7], places[(client * 3 + 1) % 7]]
    return share.getDirectoryClient(from).rename(to)
  })
  const found = (await namesIn('')).filter((name) => name.startsWith('roaming-'))
  assert.equal(found.length, 1, found.join())
  assert.equal((await fileOf(`${found[0]}/inside`).getProperties()).contentLength, 7)
})

test('two directories do not go into each other', async () => {
  for (let round = 0; round < 10; round += 1) {
    const [left, right] = [`left-${round}`, `right-${round}`]
    await share.createDirectory(left)
    await share.createDirectory(right)
    const moves = [
      share.getDirectoryClient(left).rename(`${right}/inner`),
      share.getDirectoryClient(right).rename(`${left}/inner`),
    ]
    const outcomes = (await Promise.all(moves.map(outcomeOf))).toSorted()
    assert.deepEqual(outcomes, ['404 ParentNotFound', 'ok'])
    const there = (await namesIn('')).filter((name) => name === left || name === right)
    assert.equal(there.length, 1)
    assert.deepEqual(await namesIn(there[0] ?? ''), ['inner'])
  }
})

test('nothing is made in a directory that is deleted at the same time, or it stays', async () => {
  for (let round = 0; round < 20; round += 1) {
    const directory = share.getDirectoryClient(`short-${round}`)
    await directory.create()
    const [made, gone] = await Promise.all([
      outcomeOf(directory.getFileClient('new').create(1)),
      outcomeOf(directory.delete()),
    ])
    const is = `${made}, ${gone}`
    assert(['ok, 409 DirectoryNotEmpty', '404 ParentNotFound, ok'].includes(is), is)
    assert.equal(await directory.exists(), made === 'ok')
  }
})

test('a snapshot is one state of all files, while 16 clients write', async () => {
  const pairs = Array.from({ length: 16 }, (_, at) => [`first-${at}`, `second-${at}`] as const)
  for (const name of pairs.flat()) await fileOf(name).create(1)
  const phase = { isWriting: true }
  // The first of a pair is never behind the second, nor more than one write ahead.
  const write = async ([first, second]: readonly [string, string]) => {
    for (let value = 1; phase.isWriting; value = (value + 1) % 256) {
      for (const name of [first, second]) await fileOf(name).uploadRange(Buffer.of(value), 0, 1)
    }
  }
  const writing = pairs.map(write)
  const seen = new Set<number>()
  // Until they have been seen to write meanwhile.
  for (let count = 0; count < 8 || seen.size < 5; count += 1) {
    const { snapshot = '' } = await share.createSnapshot()
    const past = share.withSnapshot(snapshot).rootDirectoryClient
    const valueOf = async (name: string) =>
      (await past.getFileClient(name).downloadToBuffer())[0] ?? -1
    for (const [first, second] of pairs) {
      const [ahead, behind] = [await valueOf(first), await valueOf(second)]
      assert(
        ahead === behind || ahead === (behind + 1) % 256,
        `${first} ${ahead}, ${second} ${behind}`,
      )
      seen.add(ahead)
    }
  }
  phase.isWriting = false
  await Promise.all(writing)
})
