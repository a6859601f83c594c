// A directory's last write time changes with its entries, whether REST or SMB changes them; its ETag and Last-Modified
// do not.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ShareDirectoryClient } from '@azure/storage-file-share'
import { openRestAndSmb } from './rest-and-smb.ts'
import { ACCESS, DISPOSITION, OPTION } from './client-message.ts'

const world = await openRestAndSmb()
const smb = await world.smb()

const ALL = { access: ACCESS.all }
const { create } = DISPOSITION

async function newDirectory(): Promise<ShareDirectoryClient> {
  const directory = world.share.getDirectoryClient(world.newName())
  await directory.create()
  await directory.createFile('old', 0)
  return directory
}

/** The times that REST and SMB show, and the properties that only REST shows. */
async function timesOf(directory: ShareDirectoryClient) {
  const { fileLastWriteOn, fileChangeOn, etag, lastModified } = await directory.getProperties()
  const handle = await smb.open(directory.path, { access: ACCESS.readAttributes })
  const { lastWriteMs } = await handle.basic()
  await handle.close()
  assert.equal(fileLastWriteOn?.getTime(), lastWriteMs, 'REST and SMB show the same')
  return {
    lastWriteMs,
    changeMs: fileChangeOn?.getTime(),
    etag,
    modifiedMs: lastModified?.getTime(),
  }
}

type Change = (directory: ShareDirectoryClient) => Promise<unknown>

const MOVES: readonly (readonly [what: string, change: Change])[] = [
  ['REST creates a file', (directory) => directory.createFile('new', 0)],
  ['REST creates a directory', (directory) => directory.createSubdirectory('new')],
  ['REST deletes a file', (directory) => directory.deleteFile('old')],
  [
    'REST renames a file',
    (directory) => directory.getFileClient('old').rename(`${directory.path}/renamed`),
  ],
  [
    'SMB creates a file',
    async ({ path }) => (await smb.open(`${path}\\new`, { ...ALL, disposition: create })).close(),
  ],
  [
    'SMB creates a directory',
    async ({ path }) => {
      const options = OPTION.directory
      await (await smb.open(`${path}\\new`, { ...ALL, disposition: create, options })).close()
    },
  ],
  [
    'SMB deletes a file',
    async ({ path }) => {
      const options = OPTION.deleteOnClose
      await (await smb.open(`${path}\\old`, { access: ACCESS.delete, options })).close()
    },
  ],
  [
    'SMB renames a file',
    async ({ path }) => {
      const handle = await smb.open(`${path}\\old`, { access: ACCESS.delete })
      await handle.rename(`${path}\\renamed`)
      await handle.close()
    },
  ],
]

describe('the last write time of a directory changes', () => {
  for (const [what, change] of MOVES) {
    test(`when ${what}`, async () => {
      const directory = await newDirectory()
      const old = await timesOf(directory)
      world.server.advance(5_000)
      await change(directory)
      const nowMs = world.server.now()
      assert.deepEqual(await timesOf(directory), { ...old, lastWriteMs: nowMs, changeMs: nowMs })
    })
  }

  test('in both directories when a file is moved between them', async () => {
    const [from, to] = [await newDirectory(), await newDirectory()]
    world.server.advance(5_000)
    await from.getFileClient('old').rename(`${to.path}/moved`)
    for (const directory of [from, to]) {
      assert.equal((await timesOf(directory)).lastWriteMs, world.server.now())
    }
  })

  test('in the root directory', async () => {
    world.server.advance(5_000)
    await newDirectory()
    const { lastWriteMs } = await timesOf(world.share.getDirectoryClient(''))
    assert.equal(lastWriteMs, world.server.now())
  })
})

test('it does not change when a file in it is written, overwritten or gets new properties, nor in its parent', async () => {
  const directory = await newDirectory()
  const sub = directory.getDirectoryClient('sub')
  await sub.create()
  const old = await timesOf(directory)
  world.server.advance(5_000)
  const file = directory.getFileClient('old')
  await file.create(4)
  await file.uploadRange('abcd', 0, 4)
  await file.setMetadata({ a: 'b' })
  await sub.createFile('below', 0)
  assert.deepEqual(await timesOf(directory), old)
})

test('a snapshot shows its time at the snapshot', async () => {
  const directory = await newDirectory()
  const old = await timesOf(directory)
  const { snapshot } = await world.share.createSnapshot()
  assert(snapshot)
  world.server.advance(5_000)
  await directory.createFile('later', 0)
  const past = world.share.withSnapshot(snapshot).getDirectoryClient(directory.path)
  assert.equal((await past.getProperties()).fileLastWriteOn?.getTime(), old.lastWriteMs)
  assert.equal((await timesOf(directory)).lastWriteMs, world.server.now())
})

test('a time that is set is kept until the entries change', async () => {
  const directory = await newDirectory()
  const setMs = Date.UTC(2001, 0, 1)
  await directory.setProperties({ lastWriteTime: new Date(setMs) })
  assert.equal((await timesOf(directory)).lastWriteMs, setMs)
  await directory.deleteFile('old')
  assert.equal((await timesOf(directory)).lastWriteMs, world.server.now())
})

test('all of many files created at once in one directory exist', async () => {
  const directory = await newDirectory()
  const names = Array.from({ length: 100 }, (_, index) => `f${index}`)
  await Promise.all(
    names.map(async (name, index) => {
      if (index % 2 === 0) return await directory.createFile(name, 0)
      const created = await smb.open(`${directory.path}\\${name}`, { ...ALL, disposition: create })
      return await created.close()
    }),
  )
  const found = new Set<string>()
  for await (const { name } of directory.listFilesAndDirectories()) found.add(name)
  assert.deepEqual(found, new Set([...names, 'old']))
  assert.equal((await timesOf(directory)).lastWriteMs, world.server.now())
})
