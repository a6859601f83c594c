// A storm: SMB clients open, cache, lock, write, rename and delete a few files in any order while REST does all that
// it can do to them. Everybody gets an answer that the service knows, and when all have gone nothing is left of them:
// no handle, no lock, no mark, and the share's count of bytes is that of its files. SEED=n runs another storm.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { NAMES, run } from '../file/file-operations.ts'
import { itemsOf, outcomeOf } from '../file/smb-client.ts'
import { openDoors, type Doors } from './both-doors.ts'
import { ACCESS, LEASE, OPLOCK, OPTION, SHARE } from './client-message.ts'
import { LOCK } from './client-message-info.ts'
import { statusOf, type SmbClient } from './smb-client.ts'
import type { SmbFile } from './smb-file.ts'

let doors: Doors

before(async () => {
  doors = await openDoors()
})
after(() => doors.close())

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
  // A lease's key that is in use on another file: files change their names here.
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
  // The file has become shorter.
  '416 InvalidRange',
]

type Chance = <T>(from: readonly [T, ...T[]] | readonly T[]) => T

/** Numbers that a seed repeats (mulberry32). */
function chanceOf(seed: number): Chance {
  let state = seed
  return (from) => {
    state = (state + 0x6d2b_79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    const index = ((mixed ^ (mixed >>> 14)) >>> 0) % from.length
    const chosen = from[index]
    assert(chosen !== undefined)
    return chosen
  }
}

const ACCESSES = [ACCESS.read, ACCESS.read | ACCESS.write, ACCESS.all, ACCESS.readAttributes]
const MODES = [SHARE.RWD, SHARE.RWD, SHARE.RWD, SHARE.RW, SHARE.R, SHARE.none]
const OPLOCKS = [OPLOCK.none, OPLOCK.ii, OPLOCK.exclusive, OPLOCK.batch]
const LEASES = [LEASE.R, LEASE.RH, LEASE.RW, LEASE.RWH]

function openAny(client: SmbClient, index: number, chance: Chance): Promise<SmbFile> {
  const file = chance([0, 1, 2])
  const key = Buffer.alloc(16, 1 + index * FILES.length + file)
  return client.open(FILES[file] ?? '', {
    access: chance(ACCESSES),
    share: chance(MODES),
    disposition: chance([1, 1, 3, 5]),
    options: OPTION.nonDirectory,
    ...(chance([true, false]) && { lease: { key, state: chance(LEASES) } }),
    oplock: chance(OPLOCKS),
  })
}

const USES: readonly ((handle: SmbFile, chance: Chance) => Promise<unknown>)[] = [
  (handle) => handle.read(0, 100),
  (handle) => handle.read(0, 100),
  (handle, chance) => handle.write(chance([0, 500, 70_000]), 'x'.repeat(chance([1, 40_000]))),
  (handle, chance) => handle.setLength(chance([0, 1_000, 100_000])),
  (handle, chance) => handle.lock(chance([0, 10]), 10, chance([LOCK.shared, LOCK.exclusive])),
  (handle) => handle.unlock(0, 10),
  (handle, chance) => handle.rename(chance(FILES), chance([true, false])),
  (handle) => handle.setDisposition(true),
  (handle) => handle.setDisposition(false),
  (handle) => handle.close(),
  (handle) => handle.close(),
]

async function stormOfClient(index: number, chance: Chance): Promise<void> {
  const client = await doors.smb({ dialect: index % 2 ? 0x0210 : 0x0311 })
  client.answerBreaks()
  let handles: SmbFile[] = []
  for (let step = 0; step < STEPS; step += 1) {
    const handle = handles.length < 4 && chance([true, false]) ? undefined : handles[0]
    if (handle === undefined) {
      const opening = openAny(client, index, chance)
      const status = await statusOf(opening)
      assert(STATUSES.includes(status), `CREATE: ${status}`)
      if (status === 'SUCCESS') handles.push(await opening)
      continue
    }
    const use = chance(USES)
    const status = await statusOf(use(handle, chance))
    assert(STATUSES.includes(status), `${String(use)}: ${status}`)
    const [first, ...rest] = handles
    handles = first === undefined ? rest : [...rest, ...(status === 'FILE_CLOSED' ? [] : [first])]
  }
  if (index % 2 === 0) client.end()
  else for (const handle of handles) await statusOf(handle.close())
}

async function stormOfRest(chance: Chance): Promise<void> {
  const root = doors.share.rootDirectoryClient
  for (let step = 0; step < STEPS; step += 1) {
    const file = root.getFileClient(chance(FILES))
    const name = chance(NAMES)
    const outcome = await outcomeOf(run(name, file, doors))
    assert(CODES.includes(outcome), `${name}: ${outcome}`)
    if (name === 'Acquire Lease' && outcome === 'ok') {
      const broken = await outcomeOf(file.getShareLeaseClient().breakLease())
      assert(CODES.includes(broken), broken)
    }
  }
}

const seed = Number(process.env.SEED ?? 1)

for (let storm = seed; storm < seed + 3; storm += 1) {
  test(`seed ${storm}: after it nothing is left of anybody`, async () => {
    const root = doors.share.rootDirectoryClient
    for (const name of FILES) await root.getFileClient(name).create(2_000)
    const clients = Array.from({ length: CLIENTS }, (_, index) =>
      stormOfClient(index, chanceOf(storm * 100 + index)),
    )
    const rest = [1, 2].map((each) => stormOfRest(chanceOf(storm * 100 + 50 + each)))
    await Promise.all([...clients, ...rest])
    // Those that have just lost their connection are closed soon, and by force at once.
    await root.forceCloseAllHandles({ recursive: true })
    assert.deepEqual(await itemsOf(root.listHandles({ recursive: true })), [])
    let lengthBytes = 0
    for await (const item of root.listFilesAndDirectories()) {
      assert(item.kind === 'file')
      const file = root.getFileClient(item.name)
      lengthBytes += (await file.getProperties()).contentLength ?? 0
    }
    assert.equal((await doors.share.getStatistics()).shareUsageBytes, lengthBytes)
    for (const name of FILES) {
      const file = root.getFileClient(name)
      assert.equal(await outcomeOf(file.create(2_000)), 'ok')
      assert.equal(await outcomeOf(file.uploadRange('x', 0, 1)), 'ok')
      assert.equal(await outcomeOf(file.delete()), 'ok')
    }
  })
}
