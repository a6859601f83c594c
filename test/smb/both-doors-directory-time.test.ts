// A directory's last write time moves with its entries, whichever door they come and go by; its ETag and
// Last-Modified are its own.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ShareDirectoryClient } from '@azure/storage-file-share'
import { openDoors, type Doors } from './both-doors.ts'
import { ACCESS, DISPOSITION, OPTION } from './client-message.ts'
import type { SmbClient } from './smb-client.ts'

let doors: Doors
let smb: SmbClient

before(async () => {
  doors = await openDoors()
  smb = await doors.smb()
})
after(() => doors.close())

const ALL = { access: ACCESS.all }
const { create } = DISPOSITION

async function newDirectory(): Promise<ShareDirectoryClient> {
  const directory = doors.share.getDirectoryClient(doors.newName())
  await directory.create()
  await directory.createFile('old', 0)
  return directory
}

/** The times as REST and SMB show them, and what only REST shows. */
async function shown(directory: ShareDirectoryClient) {
  const { fileLastWriteOn, fileChangeOn, etag, lastModified } = await directory.getProperties()
  const handle = await smb.open(directory.path, { access: ACCESS.readAttributes })
  const { lastWriteMs } = await handle.basic()
  await handle.close()
  assert.equal(fileLastWriteOn?.getTime(), lastWriteMs, 'both doors show the same')
  return {
    lastWriteMs,
    changeMs: fileChangeOn?.getTime(),
    etag,
    modifiedMs: lastModified?.getTime(),
  }
}

type Change = (directory: ShareDirectoryClient) => Promise<unknown>

const MOVES: readonly (readonly [what: string, change: Change])[] = [
  ['REST makes a file', (directory) => directory.createFile('new', 0)],
  ['REST makes a directory', (directory) => directory.createSubdirectory('new')],
  ['REST deletes a file', (directory) => directory.deleteFile('old')],
  [
    'REST renames a file',
    (directory) => directory.getFileClient('old').rename(`${directory.path}/renamed`),
  ],
  [
    'SMB makes a file',
    async ({ path }) => (await smb.open(`${path}\\new`, { ...ALL, disposition: create })).close(),
  ],
  [
    'SMB makes a directory',
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

describe('it moves', () => {
  for (const [what, change] of MOVES) {
    test(`when ${what}`, async () => {
      const directory = await newDirectory()
      const old = await shown(directory)
      doors.server.advance(5_000)
      await change(directory)
      const nowMs = doors.server.now()
      assert.deepEqual(await shown(directory), { ...old, lastWriteMs: nowMs, changeMs: nowMs })
    })
  }

  test('in both directories, when a file goes from one to the other', async () => {
    const [from, to] = [await newDirectory(), await newDirectory()]
    doors.server.advance(5_000)
    await from.getFileClient('old').rename(`${to.path}/moved`)
    for (const directory of [from, to]) {
      assert.equal((await shown(directory)).lastWriteMs, doors.server.now())
    }
  })

  test('in the root', async () => {
    doors.server.advance(5_000)
    await newDirectory()
    const { lastWriteMs } = await shown(doors.share.getDirectoryClient(''))
    assert.equal(lastWriteMs, doors.server.now())
  })
})

test('it stays when a file in it is written, overwritten or set, and above it', async () => {
  const directory = await newDirectory()
  const sub = directory.getDirectoryClient('sub')
  await sub.create()
  const old = await shown(directory)
  doors.server.advance(5_000)
  const file = directory.getFileClient('old')
  await file.create(4)
  await file.uploadRange('abcd', 0, 4)
  await file.setMetadata({ a: 'b' })
  await sub.createFile('below', 0)
  assert.deepEqual(await shown(directory), old)
})

test('a snapshot shows it as it was', async () => {
  const directory = await newDirectory()
  const old = await shown(directory)
  const { snapshot } = await doors.share.createSnapshot()
  assert(snapshot)
  doors.server.advance(5_000)
  await directory.createFile('later', 0)
  const past = doors.share.withSnapshot(snapshot).getDirectoryClient(directory.path)
  assert.equal((await past.getProperties()).fileLastWriteOn?.getTime(), old.lastWriteMs)
  assert.equal((await shown(directory)).lastWriteMs, doors.server.now())
})

test('a time that is set is kept until the next entry', async () => {
  const directory = await newDirectory()
  const setMs = Date.UTC(2001, 0, 1)
  await directory.setProperties({ lastWriteTime: new Date(setMs) })
  assert.equal((await shown(directory)).lastWriteMs, setMs)
  await directory.deleteFile('old')
  assert.equal((await shown(directory)).lastWriteMs, doors.server.now())
})

test('many files made at once in one directory are all there', async () => {
  const directory = await newDirectory()
  const names = Array.from({ length: 100 }, (_, index) => `f${index}`)
  await Promise.all(
    names.map(async (name, index) => {
      if (index % 2 === 0) return await directory.createFile(name, 0)
      const made = await smb.open(`${directory.path}\\${name}`, { ...ALL, disposition: create })
      return await made.close()
    }),
  )
  const found = new Set<string>()
  for await (const { name } of directory.listFilesAndDirectories()) found.add(name)
  assert.deepEqual(found, new Set([...names, 'old']))
  assert.equal((await shown(directory)).lastWriteMs, doors.server.now())
})
