// SMB clients open, cache, lock, write, rename and delete a few files in random order while REST runs all its operations
// on them. Every response is a documented one, and in the end nothing is left: no handle, lock or deletion mark, and the
// share's usage is that of its files. SEED=n runs another sequence.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NAMES, run } from '../file/file-operations.ts'
import { itemsOf, outcomeOf } from '../file/smb-client.ts'
import { randomFrom, type Random } from '../random.ts'
import { openRestAndSmb } from './rest-and-smb.ts'
import { ACCESS, LEASE, OPLOCK, OPTION, SHARE } from './client-message.ts'
import { LOCK } from './client-message-info.ts'
import { statusOf, type SmbClient } from './smb-client.ts'
import type { SmbFile } from './smb-file.ts'

const world = await openRestAndSmb()

const CLIENTS = 5
const STEPS = 80
const FILES = ['storm-a', 'storm-b', 'storm-c']

const STATUSES = [
  'SUCCESS',
  'ACCESS_DENIED',
  'CANNOT_DELETE',
  'DELETE_PENDING',
  'END_OF_FILE',
  'FILE_CLOSED',
  'FILE_LOCK_CONFLICT',
  // A lease key that is in use on another file, since files are renamed.
  'INVALID_PARAMETER',
  'LOCK_NOT_GRANTED',
  'OBJECT_NAME_COLLISION',
  'OBJECT_NAME_NOT_FOUND',
  'RANGE_NOT_LOCKED',
  'SHARING_VIOLATION',
]
const CODES = [
  'ok',
  '404 ResourceNotFound',
  '409 FileLockConflict',
  '409 LeaseAlreadyPresent',
  '409 LeaseIdMismatchWithLeaseOperation',
  '409 LeaseNotPresentWithLeaseOperation',
  '409 SharingViolation',
  '409 SMBDeletePending',
  '412 LeaseIdMissing',
  // The file was shortened.
  '416 InvalidRange',
]

const ACCESSES = [ACCESS.read, ACCESS.read | ACCESS.write, ACCESS.all, ACCESS.readAttributes]
const MODES = [SHARE.RWD, SHARE.RWD, SHARE.RWD, SHARE.RW, SHARE.R, SHARE.none]
const OPLOCKS = [OPLOCK.none, OPLOCK.ii, OPLOCK.exclusive, OPLOCK.batch]
const LEASES = [LEASE.R, LEASE.RH, LEASE.RW, LEASE.RWH]

function openAny(client: SmbClient, index: number, random: Random): Promise<SmbFile> {
  const file = random.pick([0, 1, 2])
  const key = Buffer.alloc(16, 1 + index * FILES.length + file)
  return client.open(FILES[file] ?? '', {
    access: random.pick(ACCESSES),
    share: random.pick(MODES),
    disposition: random.pick([1, 1, 3, 5]),
    options: OPTION.nonDirectory,
    ...(random.pick([true, false]) && { lease: { key, state: random.pick(LEASES) } }),
    oplock: random.pick(OPLOCKS),
  })
}

const USES: readonly ((handle: SmbFile, random: Random) => Promise<unknown>)[] = [
  (handle) => handle.read(0, 100),
  (handle) => handle.read(0, 100),
  (handle, random) =>
    handle.write(random.pick([0, 500, 70_000]), 'x'.repeat(random.pick([1, 40_000]))),
  (handle, random) => handle.setLength(random.pick([0, 1_000, 100_000])),
  (handle, random) =>
    handle.lock(random.pick([0, 10]), 10, random.pick([LOCK.shared, LOCK.exclusive])),
  (handle) => handle.unlock(0, 10),
  (handle, random) => handle.rename(random.pick(FILES), random.pick([true, false])),
  (handle) => handle.setDisposition(true),
  (handle) => handle.setDisposition(false),
  (handle) => handle.close(),
  (handle) => handle.close(),
]

async function stormOfClient(index: number, random: Random): Promise<void> {
  const client = await world.smb({ dialect: index % 2 ? 0x0210 : 0x0311 })
  client.answerBreaks()
  let handles: SmbFile[] = []
  for (let step = 0; step < STEPS; step += 1) {
    const handle = handles.length < 4 && random.pick([true, false]) ? undefined : handles[0]
    if (handle === undefined) {
      const opening = openAny(client, index, random)
      const status = await statusOf(opening)
      assert(STATUSES.includes(status), `CREATE: ${status}`)
      if (status === 'SUCCESS') handles.push(await opening)
      continue
    }
    const use = random.pick(USES)
    const status = await statusOf(use(handle, random))
    assert(STATUSES.includes(status), `${String(use)}: ${status}`)
    const [first, ...rest] = handles
    handles = first === undefined ? rest : [...rest, ...(status === 'FILE_CLOSED' ? [] : [first])]
  }
  if (index % 2 === 0) client.end()
  else for (const handle of handles) await statusOf(handle.close())
}

async function stormOfRest(random: Random): Promise<void> {
  const root = world.share.rootDirectoryClient
  for (let step = 0; step < STEPS; step += 1) {
    const file = root.getFileClient(random.pick(FILES))
    const name = random.pick(NAMES)
    const outcome = await outcomeOf(run(name, file, world))
    assert(CODES.includes(outcome), `${name}: ${outcome}`)
    if (name === 'Acquire Lease' && outcome === 'ok') {
      const broken = await outcomeOf(file.getShareLeaseClient().breakLease())
      assert(CODES.includes(broken), broken)
    }
  }
}

const seed = Number(process.env.SEED ?? 1)

for (let storm = seed; storm < seed + 3; storm += 1) {
  test(`seed ${storm} leaves nothing behind`, async () => {
    const root = world.share.rootDirectoryClient
    for (const name of FILES) await root.getFileClient(name).create(2_000)
    const clients = Array.from({ length: CLIENTS }, (_, index) =>
      stormOfClient(index, randomFrom(storm * 100 + index)),
    )
    const rest = [1, 2].map((each) => stormOfRest(randomFrom(storm * 100 + 50 + each)))
    await Promise.all([...clients, ...rest])
    // Handles of lost connections are closed soon, and by force at once.
    await root.forceCloseAllHandles({ recursive: true })
    assert.deepEqual(await itemsOf(root.listHandles({ recursive: true })), [])
    let lengthBytes = 0
    for await (const item of root.listFilesAndDirectories()) {
      assert(item.kind === 'file')
      const file = root.getFileClient(item.name)
      lengthBytes += (await file.getProperties()).contentLength ?? 0
    }
    assert.equal((await world.share.getStatistics()).shareUsageBytes, lengthBytes)
    for (const name of FILES) {
      const file = root.getFileClient(name)
      assert.equal(await outcomeOf(file.create(2_000)), 'ok')
      assert.equal(await outcomeOf(file.uploadRange('x', 0, 1)), 'ok')
      assert.equal(await outcomeOf(file.delete()), 'ok')
    }
  })
}
