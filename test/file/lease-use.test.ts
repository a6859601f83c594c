// What a lease guards: every operation that takes a lease id, with the lease's own, another and none, on a file
// that is available, leased by A, or was leased by A until that was broken.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ShareFileClient } from '@azure/storage-file-share'
import {
  DELETES,
  newFile,
  openWorld,
  READS,
  REPLACES,
  run,
  WRITES,
  type OperationName,
  type World,
} from './file-operations.ts'
import { itemsOf, outcomeOf } from './smb-client.ts'

const A = '11111111-aaaa-4aaa-8aaa-111111111111'
const B = '22222222-bbbb-4bbb-8bbb-222222222222'

let world: World

before(async () => {
  world = await openWorld('leased')
})
after(() => world.server.close())

const STATES = ['available', 'leased', 'broken'] as const

async function newIn(state: (typeof STATES)[number]): Promise<ShareFileClient> {
  const file = await newFile(world)
  if (state !== 'available') await file.getShareLeaseClient(A).acquireLease()
  if (state === 'broken') await file.getShareLeaseClient(A).breakLease()
  return file
}

const ABSENT = '412 LeaseNotPresentWithFileOperation'
const MISMATCH = '412 LeaseIdMismatchWithFileOperation'
const MISSING = '412 LeaseIdMissing'
const LOST = '412 LeaseLost'

// prettier-ignore
const USES = [
  //            available  leased     broken
  ['write', A,         [ABSENT, 'ok',     LOST]],
  ['write', B,         [ABSENT, MISMATCH, ABSENT]],
  ['write', undefined, ['ok',   MISSING,  'ok']],
  ['read',  A,         [ABSENT, 'ok',     LOST]],
  ['read',  B,         [ABSENT, MISMATCH, ABSENT]],
  ['read',  undefined, ['ok',   'ok',     'ok']],
] as const

const KINDS: Readonly<Record<'read' | 'write', readonly OperationName[]>> = {
  read: ['Get File Properties', 'Get File Metadata', ...READS],
  write: [...WRITES, ...REPLACES, ...DELETES, 'Rename File'],
}

for (const [kind, id, outcomes] of USES) {
  const whose = id === undefined ? 'no lease' : `the lease ${id === A ? 'A' : 'B'}`
  describe(`with ${whose}`, () => {
    for (const name of KINDS[kind]) {
      for (const [i, state] of STATES.entries()) {
        test(`${name}, ${state} → ${outcomes[i]}`, async () => {
          const file = await newIn(state)
          assert.equal(await outcomeOf(run(name, file, world, id)), outcomes[i])
        })
      }
    }
  })
}

describe('a lease', () => {
  test('survives that the file is replaced, written and given other properties', async () => {
    const file = await newIn('leased')
    for (const name of [...WRITES, ...REPLACES]) {
      await run(name, file, world, A)
      assert.equal((await file.getProperties()).leaseState, 'leased', name)
    }
  })

  test('goes with the file when it is renamed', async () => {
    const file = await newIn('leased')
    const name = world.newName()
    await file.rename(name, { sourceLeaseAccessConditions: { leaseId: A } })
    const renamed = world.share.rootDirectoryClient.getFileClient(name)
    assert.equal((await renamed.getProperties()).leaseState, 'leased')
    assert.equal(await outcomeOf(renamed.setMetadata({})), MISSING)
  })

  test('goes with the file that is deleted: one made again has none', async () => {
    const file = await newIn('leased')
    await file.delete({ leaseAccessConditions: { leaseId: A } })
    await file.create(1)
    assert.equal((await file.getProperties()).leaseState, 'available')
  })

  test('that is broken is forgotten with the next write', async () => {
    const file = await newIn('broken')
    await file.setMetadata({})
    assert.equal((await file.getProperties()).leaseState, 'available')
  })

  test('of a file that is not there is none: Create File with an id → 412', async () => {
    const file = world.share.rootDirectoryClient.getFileClient(world.newName())
    assert.equal(await outcomeOf(run('Create File', file, world, A)), ABSENT)
    assert.equal(await file.exists(), false)
  })

  test('keeps nobody from listing its directory', async () => {
    const file = await newIn('leased')
    const root = world.share.rootDirectoryClient
    const names = (await itemsOf(root.listFilesAndDirectories())).map((each) => each.name)
    assert(names.includes(file.name))
  })

  for (const text of ['me', `${A}0`, A.slice(1)]) {
    test(`id “${text}” is none → 400 InvalidHeaderValue`, async () => {
      const file = await newIn('leased')
      const outcome = await outcomeOf(run('Put Range', file, world, text))
      assert.equal(outcome, '400 InvalidHeaderValue')
    })
  }

  test('id is the same in any form and case', async () => {
    const file = await newIn('leased')
    for (const text of [A.toUpperCase(), A.replaceAll('-', ''), `{${A}}`]) {
      assert.equal(await outcomeOf(run('Put Range', file, world, text)), 'ok')
    }
  })
})
