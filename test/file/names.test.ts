// Many clients use the same names at once: exactly one creates, deletes or moves a file or directory, the tree stays
// consistent, and a share snapshot is one state of all its files.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../harness.ts'
import { fileFixtureOn } from './fixture.ts'
import { outcomeOf } from './smb-client.ts'

const CLIENTS = 100

const { share } = await fileFixtureOn(await startTestServer({ onDisk: true }), 'names')

const fileOf = (path: string) => share.rootDirectoryClient.getFileClient(path)

/** The number of times that each outcome occurred in concurrent calls. */
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

test('only one client creates a directory, and only one deletes it', async () => {
  const directory = share.getDirectoryClient('one')
  const others = CLIENTS - 1
  const created = await tally(() => directory.create())
  assert.deepEqual(created, { ok: 1, '409 ResourceAlreadyExists': others })
  const deleted = await tally(() => directory.delete())
  assert.deepEqual(deleted, { ok: 1, '404 ResourceNotFound': others })
})

test('concurrent creations of a file result in one file with one id', async () => {
  const ids = new Set<string | undefined>()
  const created = await tally(async (client) => {
    ids.add((await fileOf('replaced').create(client + 1)).fileId)
  })
  assert.deepEqual(created, { ok: CLIENTS })
  assert.equal(ids.size, 1)
  const deleted = await tally(() => fileOf('replaced').delete())
  assert.deepEqual(deleted, { ok: 1, '404 ResourceNotFound': CLIENTS - 1 })
})

test('only one of many files can be moved to the same name', async () => {
  await share.createDirectory('race')
  for (let client = 0; client < 50; client += 1) await fileOf(`race/${client}`).create(1)
  const moved = await tally((client) => fileOf(`race/${client}`).rename('race/Goal'), 50)
  assert.deepEqual(moved, { ok: 1, '409 ResourceAlreadyExists': 49 })
  assert.equal((await namesIn('race')).length, 50)
})

test('a directory that many clients move stays one, with its content', async () => {
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

test('two directories cannot be moved into each other', async () => {
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

test('either a directory is deleted or a file is created in it', async () => {
  for (let round = 0; round < 20; round += 1) {
    const directory = share.getDirectoryClient(`short-${round}`)
    await directory.create()
    const [created, deleted] = await Promise.all([
      outcomeOf(directory.getFileClient('new').create(1)),
      outcomeOf(directory.delete()),
    ])
    const is = `${created}, ${deleted}`
    assert(['ok, 409 DirectoryNotEmpty', '404 ParentNotFound, ok'].includes(is), is)
    assert.equal(await directory.exists(), created === 'ok')
  }
})

test('a snapshot is one state of all files while 16 clients write', async () => {
  const pairs = Array.from({ length: 16 }, (_, at) => [`first-${at}`, `second-${at}`] as const)
  for (const name of pairs.flat()) await fileOf(name).create(1)
  const phase = { isWriting: true }
  // The first file of a pair is never behind the second, and at most one write ahead.
  const write = async ([first, second]: readonly [string, string]) => {
    for (let value = 1; phase.isWriting; value = (value + 1) % 256) {
      for (const name of [first, second]) await fileOf(name).uploadRange(Buffer.of(value), 0, 1)
    }
  }
  const writing = pairs.map(write)
  const seen = new Set<number>()
  // Continues until writes were visible in between.
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
