// REST on a file that a real SMB client has open: every operation with every share mode, for our client and impacket,
// and every access with a lease. The first table is from "Manage file locks in Azure Files".
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  DELETES,
  isRefused,
  NAMES,
  newFile,
  outcomeUnhindered,
  REFUSED,
  run,
  type OperationName,
} from '../file/file-operations.ts'
import { itemsOf, outcomeOf } from '../file/smb-client.ts'
import { openRestAndSmb } from './rest-and-smb.ts'
import { ACCESS, DISPOSITION, OPTION, SHARE } from './client-message.ts'
import { noImpacket, startImpacket, type ImpacketClient } from './impacket-client.ts'
import { statusOf } from './smb-client.ts'

const world = await openRestAndSmb()
const client = await world.smb()

const VIOLATION = '409 SharingViolation'

type Mode = keyof typeof SHARE

const MODES = Object.keys(REFUSED) as Mode[]

function expectedOf(mode: Mode, name: OperationName): string {
  return isRefused(mode, name) ? VIOLATION : outcomeUnhindered(name)
}

for (const mode of MODES) {
  test(`a file that is open for reading and shares ${mode}`, async (t) => {
    for (const name of NAMES) {
      const expected = expectedOf(mode, name)
      await t.test(`${name} → ${expected}`, async () => {
        const file = await newFile(world)
        const handle = await client.open(file.path, { share: SHARE[mode] })
        assert.equal(await outcomeOf(run(name, file, world)), expected)
        await handle.close()
      })
    }
  })
}

describe('impacket', { skip: noImpacket ?? false }, () => {
  let impacket: ImpacketClient

  before(() => {
    impacket = startImpacket(world.server.smbPort, 'world')
  })
  after(() => impacket.end())

  for (const mode of MODES) {
    test(`has a file open for reading and shares ${mode}`, async () => {
      const outcomes: string[] = []
      for (const name of NAMES) {
        const file = await newFile(world)
        const how = { path: file.path, access: ACCESS.read, share: SHARE[mode] }
        const handle = await impacket.open(how)
        outcomes.push(`${name}: ${await outcomeOf(run(name, file, world))}`)
        await impacket.close(handle)
      }
      assert.deepEqual(
        outcomes,
        NAMES.map((name) => `${name}: ${expectedOf(mode, name)}`),
      )
    })
  }
})

describe('after the handle is closed', () => {
  for (const name of NAMES) {
    test(`${name} → ${outcomeUnhindered(name)}`, async () => {
      const file = await newFile(world)
      const handle = await client.open(file.path, { share: SHARE.none })
      await handle.close()
      assert.equal(await outcomeOf(run(name, file, world)), outcomeUnhindered(name))
    })
  }

  test('by the end of its connection, operations succeed', async () => {
    const { file, client: lost } = await world.opened({ share: SHARE.none })
    assert.equal(await outcomeOf(run('Get File', file, world)), VIOLATION)
    lost.end()
    const isFree = async () => (await outcomeOf(run('Get File', file, world))) === 'ok'
    for (let turn = 0; turn < 1_000 && !(await isFree()); turn += 1);
    assert(await isFree())
  })
})

describe('a file that is open only for its attributes', () => {
  for (const name of NAMES) {
    const isDeletion = DELETES.some((each) => each === name)
    const expected = isDeletion ? VIOLATION : outcomeUnhindered(name)
    test(`${name} → ${expected}`, async () => {
      const file = await newFile(world)
      await client.open(file.path, { access: ACCESS.readAttributes, share: SHARE.none })
      assert.equal(await outcomeOf(run(name, file, world)), expected)
    })
  }
})

describe('a lease on a file that is open with full sharing for', () => {
  const { read, write, delete: remove, append, readAttributes } = ACCESS
  for (const [name, access, expected] of [
    ['only its attributes', readAttributes, 'ok'],
    ['reading', read, 'ok'],
    ['writing', write, VIOLATION],
    ['appending', append, VIOLATION],
    ['deleting', remove, VIOLATION],
    ['reading and writing', read | write, VIOLATION],
    ['reading and deleting', read | remove, VIOLATION],
    ['writing and deleting', write | remove, VIOLATION],
    ['all of these', ACCESS.all, VIOLATION],
  ] as const) {
    test(`${name} → ${expected}`, async () => {
      const file = await newFile(world)
      await client.open(file.path, { access })
      assert.equal(await outcomeOf(run('Acquire Lease', file, world)), expected)
    })
  }
})

describe('a file that REST has leased', () => {
  const { read, write, append, delete: remove, readAttributes, all } = ACCESS
  // "Manage file locks in Azure Files": opens for reading are permitted, those for writing or deleting are not.
  const OPENS = [
    ['its attributes', { access: readAttributes }, 'SUCCESS'],
    ['reading', { access: read }, 'SUCCESS'],
    ['reading, sharing nothing', { access: read, share: SHARE.none }, 'SUCCESS'],
    ['writing', { access: write }, 'SHARING_VIOLATION'],
    ['appending', { access: append }, 'SHARING_VIOLATION'],
    ['deleting', { access: remove }, 'SHARING_VIOLATION'],
    ['everything', { access: all }, 'SHARING_VIOLATION'],
    [
      'reading, overwriting it',
      { access: read, disposition: DISPOSITION.overwrite },
      'SHARING_VIOLATION',
    ],
    ['deletion on close', { access: remove, options: OPTION.deleteOnClose }, 'SHARING_VIOLATION'],
  ] as const

  for (const [what, terms, expected] of OPENS) {
    test(`is opened for ${what} → ${expected}`, async () => {
      const file = await newFile(world)
      await file.getShareLeaseClient().acquireLease()
      assert.equal(await statusOf(client.open(file.path, terms)), expected)
    })

    for (const ends of ['releaseLease', 'breakLease'] as const) {
      test(`is opened for ${what} after ${ends} → SUCCESS`, async () => {
        const file = await newFile(world)
        const lease = file.getShareLeaseClient()
        await lease.acquireLease()
        await lease[ends]()
        assert.equal(await statusOf(client.open(file.path, terms)), 'SUCCESS')
      })
    }
  }

  test('cannot be replaced by an SMB rename', async () => {
    const file = await newFile(world)
    await file.getShareLeaseClient().acquireLease()
    const other = await newFile(world)
    const handle = await client.open(other.path, { access: ACCESS.delete })
    assert.equal(await statusOf(handle.rename(file.path, true)), 'SHARING_VIOLATION')
    await handle.close()
    assert.equal(await outcomeOf(file.getProperties()), 'ok')
    assert.equal(await outcomeOf(other.getProperties()), 'ok')
  })
})

describe('a directory', () => {
  const newDirectory = async () => {
    const directory = world.share.getDirectoryClient(world.newName())
    await directory.create()
    return directory
  }

  for (const [what, expected, work] of [
    ['Delete Directory', VIOLATION, (path) => world.share.getDirectoryClient(path).delete()],
    ['Rename Directory', 'ok', (path) => world.share.getDirectoryClient(path).rename(`${path}-n`)],
    [
      'Create File in it',
      'ok',
      (path) => world.share.getDirectoryClient(path).getFileClient('a').create(1),
    ],
  ] as readonly (readonly [string, string, (path: string) => Promise<unknown>])[]) {
    test(`that is open: ${what} → ${expected}`, async () => {
      const { path } = await newDirectory()
      await client.open(path, { options: OPTION.directory })
      assert.equal(await outcomeOf(work(path)), expected)
    })
  }

  test('cannot be renamed while something below it is open', async () => {
    const directory = await newDirectory()
    await directory.createSubdirectory('sub')
    const path = `${directory.path}\\sub\\a`
    const { create } = DISPOSITION
    const handle = await client.open(path, { access: ACCESS.write, disposition: create })
    const moved = `${directory.path}-moved`
    assert.equal(await outcomeOf(directory.rename(moved)), VIOLATION)
    await handle.close()
    assert.equal(await outcomeOf(directory.rename(moved)), 'ok')
    assert.equal(await statusOf(client.open(path)), 'OBJECT_PATH_NOT_FOUND')
    assert.equal(await statusOf(client.open(`${moved}\\sub\\a`)), 'SUCCESS')
  })

  test('lists open files with any share mode', async () => {
    const file = await newFile(world)
    await client.open(file.path, { share: SHARE.none })
    const listed = await itemsOf(world.share.rootDirectoryClient.listFilesAndDirectories())
    assert(listed.some(({ name }) => name === file.name))
  })
})
