// What a lease protects: every operation that accepts a lease id, with the right id, another and none, on a file that is
// available, leased by A, or whose lease by A was broken.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ShareFileClient } from '@azure/storage-file-share'
import {
  DELETES,
  newFile,
  fileWorld,
  READS,
  REPLACES,
  run,
  WRITES,
  type OperationName,
} from './file-operations.ts'
import { itemsOf, outcomeOf } from './smb-client.ts'

const A = '11111111-aaaa-4aaa-8aaa-111111111111'
const B = '22222222-bbbb-4bbb-8bbb-222222222222'

const world = await fileWorld('leased')

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
  const sent = id === undefined ? 'no lease id' : `the lease id ${id === A ? 'A' : 'B'}`
  describe(`with ${sent}`, () => {
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
  test('survives replacing the file, writes and changes of properties', async () => {
    const file = await newIn('leased')
    for (const name of [...WRITES, ...REPLACES]) {
      await run(name, file, world, A)
      assert.equal((await file.getProperties()).leaseState, 'leased', name)
    }
  })

  test('survives a rename', async () => {
    const file = await newIn('leased')
    const name = world.newName()
    await file.rename(name, { sourceLeaseAccessConditions: { leaseId: A } })
    const renamed = world.share.rootDirectoryClient.getFileClient(name)
    assert.equal((await renamed.getProperties()).leaseState, 'leased')
    assert.equal(await outcomeOf(renamed.setMetadata({})), MISSING)
  })

  test('ends with the deletion of the file, and a new one has no lease', async () => {
    const file = await newIn('leased')
    await file.delete({ leaseAccessConditions: { leaseId: A } })
    await file.create(1)
    assert.equal((await file.getProperties()).leaseState, 'available')
  })

  test('that is broken is forgotten after the next write', async () => {
    const file = await newIn('broken')
    await file.setMetadata({})
    assert.equal((await file.getProperties()).leaseState, 'available')
  })

  test('id with Create File of a missing file → 412', async () => {
    const file = world.share.rootDirectoryClient.getFileClient(world.newName())
    assert.equal(await outcomeOf(run('Create File', file, world, A)), ABSENT)
    assert.equal(await file.exists(), false)
  })

  test('does not affect listing the directory', async () => {
    const file = await newIn('leased')
    const root = world.share.rootDirectoryClient
    const names = (await itemsOf(root.listFilesAndDirectories())).map((each) => each.name)
    assert(names.includes(file.name))
  })

  for (const text of ['me', `${A}0`, A.slice(1)]) {
    test(`id “${text}” is invalid → 400 InvalidHeaderValue`, async () => {
      const file = await newIn('leased')
      const outcome = await outcomeOf(run('Put Range', file, world, text))
      assert.equal(outcome, '400 InvalidHeaderValue')
    })
  }

  test('id can be in any form and case', async () => {
    const file = await newIn('leased')
    for (const text of [A.toUpperCase(), A.replaceAll('-', ''), `{${A}}`]) {
      assert.equal(await outcomeOf(run('Put Range', file, world, text)), 'ok')
    }
  })
})
