// REST on a file that an SMB client has open: which share modes prevent which operations, and which accesses prevent a
// lease. The first table is from "Manage file locks in Azure Files".
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SHARE_READ } from '../../src/storage/file/open/open.ts'
import {
  DELETES,
  isRefused,
  NAMES,
  newFile,
  fileWorld,
  outcomeUnhindered,
  run,
  type REFUSED,
} from './file-operations.ts'
import { ACCESS, itemsOf, openPlace, outcomeOf, placeOf, SHARE_MODES } from './smb-client.ts'

const world = await fileWorld('modes')

const VIOLATION = '409 SharingViolation'

for (const [mode, shareAccess] of Object.entries(SHARE_MODES) as [keyof typeof REFUSED, number][]) {
  describe(`a file that is open for reading and shares ${mode}`, () => {
    for (const name of NAMES) {
      const expected = isRefused(mode, name) ? VIOLATION : outcomeUnhindered(name)
      test(`${name} → ${expected}`, async () => {
        const file = await newFile(world)
        await openPlace(world.server, await placeOf(world.server, 'modes', file.path), {
          shareAccess,
        })
        assert.equal(await outcomeOf(run(name, file, world)), expected)
      })
    }
  })
}

describe('a file that is open only for its attributes', () => {
  for (const name of NAMES) {
    const isDeletion = DELETES.some((each) => each === name)
    const expected = isDeletion ? VIOLATION : outcomeUnhindered(name)
    test(`${name} → ${expected}`, async () => {
      const file = await newFile(world)
      const how = { access: ACCESS.none, shareAccess: 0 }
      await openPlace(world.server, await placeOf(world.server, 'modes', file.path), how)
      assert.equal(await outcomeOf(run(name, file, world)), expected)
    })
  }
})

describe('a lease on a file that is open with full sharing for', () => {
  for (const [name, access, expected] of [
    ['only its attributes', ACCESS.none, 'ok'],
    ['reading', ACCESS.read, 'ok'],
    ['writing', ACCESS.write, VIOLATION],
    ['deleting', ACCESS.delete, VIOLATION],
    ['reading and writing', ACCESS.read | ACCESS.write, VIOLATION],
    ['reading and deleting', ACCESS.read | ACCESS.delete, VIOLATION],
    ['writing and deleting', ACCESS.write | ACCESS.delete, VIOLATION],
    ['all of these', ACCESS.read | ACCESS.write | ACCESS.delete, VIOLATION],
  ] as const) {
    test(`${name} → ${expected}`, async () => {
      const file = await newFile(world)
      await openPlace(world.server, await placeOf(world.server, 'modes', file.path), { access })
      assert.equal(await outcomeOf(run('Acquire Lease', file, world)), expected)
    })
  }
})

describe('a file that is open', () => {
  test('is listed with any share mode', async () => {
    const file = await newFile(world)
    await openPlace(world.server, await placeOf(world.server, 'modes', file.path), {
      shareAccess: 0,
    })
    const listed = await itemsOf(world.share.rootDirectoryClient.listFilesAndDirectories())
    assert(listed.some(({ name }) => name === file.name))
  })

  test('refuses operations that one of two handles does not share until it is closed', async () => {
    const file = await newFile(world)
    const place = await placeOf(world.server, 'modes', file.path)
    await openPlace(world.server, place)
    const { openId } = await openPlace(world.server, place, { shareAccess: SHARE_READ })
    assert.equal(await outcomeOf(run('Put Range', file, world)), VIOLATION)
    await file.forceCloseHandle(String(openId))
    assert.equal(await outcomeOf(run('Put Range', file, world)), 'ok')
  })

  test('is independent of the one in a snapshot', async () => {
    const file = await newFile(world)
    const { snapshot = '' } = await world.share.createSnapshot()
    await openPlace(world.server, await placeOf(world.server, 'modes', file.path), {
      shareAccess: 0,
    })
    const past = world.share.withSnapshot(snapshot).rootDirectoryClient.getFileClient(file.name)
    for (const name of ['Get File', 'List Ranges', 'Get File Properties'] as const) {
      assert.equal(await outcomeOf(run(name, past, world)), 'ok')
    }
  })
})

describe('a directory that is open', () => {
  const directoryOf = async (path: string) => {
    const directory = world.share.getDirectoryClient(path)
    await directory.create()
    return directory
  }

  for (const [what, expected, work] of [
    ['Delete Directory', VIOLATION, (path) => world.share.getDirectoryClient(path).delete()],
    [
      'Get Directory Properties',
      'ok',
      (path) => world.share.getDirectoryClient(path).getProperties(),
    ],
    [
      'Set Directory Metadata',
      'ok',
      (path) => world.share.getDirectoryClient(path).setMetadata({}),
    ],
    [
      'Set Directory Properties',
      'ok',
      (path) => world.share.getDirectoryClient(path).setProperties(),
    ],
    [
      'Create File in it',
      'ok',
      (path) => world.share.getDirectoryClient(path).getFileClient('a').create(1),
    ],
    [
      'Rename Directory',
      'ok',
      (path) => world.share.getDirectoryClient(path).rename(`${path}-new`),
    ],
  ] as readonly (readonly [string, string, (path: string) => Promise<unknown>])[]) {
    // prettier-ignore
    test(`with full sharing: ${what} → ${expected}`, async () => {
      const path = world.newName()
      await directoryOf(path)
      await openPlace(world.server, await placeOf(world.server, 'modes', path))
      assert.equal(await outcomeOf(work(path)), expected)
    })
  }

  test('without sharing deletion: Rename Directory → 409 SharingViolation', async () => {
    const path = world.newName()
    const directory = await directoryOf(path)
    const how = { shareAccess: SHARE_MODES.RW }
    await openPlace(world.server, await placeOf(world.server, 'modes', path), how)
    assert.equal(await outcomeOf(directory.rename(`${path}-new`)), VIOLATION)
  })

  test('cannot be renamed while something below it is open', async () => {
    const path = world.newName()
    const directory = await directoryOf(path)
    await directoryOf(`${path}/sub`)
    await world.share.getDirectoryClient(`${path}/sub`).getFileClient('a').create(1)
    await openPlace(world.server, await placeOf(world.server, 'modes', `${path}/sub/a`))
    assert.equal(await outcomeOf(directory.rename(`${path}-new`)), VIOLATION)
    await directory.forceCloseAllHandles({ recursive: true })
    assert.equal(await outcomeOf(directory.rename(`${path}-new`)), 'ok')
  })
})
