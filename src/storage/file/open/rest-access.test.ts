// What REST may do to a file that SMB clients have open: the tables of "Manage file locks in Azure Files".
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { StorageError } from '../../shared/error.ts'
import { CACHE_HANDLE, CACHE_READ, CACHE_WRITE, holdersOf, putHolder, putLock } from './open.ts'
import { putOpen, setDeletePending, SHARE_DELETE, SHARE_READ, SHARE_WRITE } from './open.ts'
import type { FileEvent, FileKv, FileOpen } from './open.ts'
import { BreaksNeeded, checkOpens, REST_ACCESS, type RestOperation } from './rest-access.ts'

const FILE = { shareId: 1, nodeId: 5 }
const READ_DATA = 0x1
const WRITE_DATA = 0x2
const DELETE = 0x1_0000
const READ_ATTRIBUTES = 0x80

const OPEN: FileOpen = {
  ...FILE,
  openId: 9,
  parentId: 0,
  path: 'a.txt',
  isDirectory: false,
  access: READ_DATA,
  shareAccess: SHARE_READ | SHARE_WRITE | SHARE_DELETE,
  sessionId: '1',
  clientIp: '10.0.0.1:445',
  openedMs: 0,
}

function newKv(): FileKv {
  return openMemoryKv<FileEvent>()
}

async function opened(...opens: readonly Partial<FileOpen>[]): Promise<FileKv> {
  const kv = newKv()
  await kv.write(function* (tx) {
    for (const [i, open] of opens.entries()) putOpen(tx, { ...OPEN, openId: 9 + i, ...open })
  })
  return kv
}

/** `ok`, the error's code, or the breaks that come first. */
async function outcome(kv: FileKv, operation: RestOperation, range?: ByteRange): Promise<string> {
  try {
    await kv.write((tx) => checkOpens(tx, FILE.shareId, FILE, operation, range))
    return 'ok'
  } catch (error) {
    if (error instanceof BreaksNeeded) {
      return `after ${error.breaks.map(({ to }) => cacheText(to)).join(', ')}`
    }
    assert(error instanceof StorageError)
    return error.code
  }
}

const OPERATIONS = Object.keys(REST_ACCESS) as RestOperation[]

const shareModes: Readonly<Record<string, number>> = {
  none: 0,
  R: SHARE_READ,
  W: SHARE_WRITE,
  D: SHARE_DELETE,
  RW: SHARE_READ | SHARE_WRITE,
  RD: SHARE_READ | SHARE_DELETE,
  WD: SHARE_WRITE | SHARE_DELETE,
  RWD: SHARE_READ | SHARE_WRITE | SHARE_DELETE,
}

// The operations that a share mode refuses, as the page lists them; those it does not name are below.
const WRITES = ['Put Range', 'Set Properties', 'Set Metadata']
const REPLACES = ['Create File', 'Copy File']
const DELETES = ['Delete File', 'Delete Directory', 'Rename Target']
const READS = ['Get File', 'List Ranges']
const SHARE_MODE_TABLE: Readonly<Record<string, readonly string[]>> = {
  none: [...REPLACES, ...READS, ...WRITES, ...DELETES, 'Acquire Lease', 'Rename'],
  R: [...REPLACES, ...WRITES, ...DELETES, 'Acquire Lease', 'Rename'],
  W: [...REPLACES, ...READS, ...DELETES, 'Acquire Lease', 'Rename'],
  D: [...REPLACES, ...READS, ...WRITES, ...DELETES, 'Acquire Lease'],
  RW: [...REPLACES, ...DELETES, 'Acquire Lease', 'Rename'],
  RD: [...REPLACES, ...WRITES, ...DELETES, 'Acquire Lease'],
  WD: [...READS, ...DELETES, 'Acquire Lease'],
  RWD: DELETES,
}

describe('a file that is open for reading', () => {
  for (const [mode, refused] of Object.entries(SHARE_MODE_TABLE)) {
    for (const operation of OPERATIONS) {
      const expected = refused.includes(operation) ? 'SharingViolation' : 'ok'
      test(`sharing ${mode}: ${operation} → ${expected}`, async () => {
        const kv = await opened({ shareAccess: shareModes[mode] ?? 0 })
        assert.equal(await outcome(kv, operation), expected)
      })
    }
  }

  test('counts with every other open of it', async () => {
    const kv = await opened({}, { shareAccess: SHARE_READ })
    assert.equal(await outcome(kv, 'Put Range'), 'SharingViolation')
  })

  test('and another file beside it does not', async () => {
    const kv = await opened({ nodeId: 6, shareAccess: 0 })
    assert.equal(await outcome(kv, 'Put Range'), 'ok')
  })

  test('nor does what is open in a snapshot', async () => {
    const kv = await opened({ snapshot: 3, shareAccess: 0 })
    for (const operation of OPERATIONS) assert.equal(await outcome(kv, operation), 'ok')
  })
})

describe('a file that is open for its attributes alone denies nothing', () => {
  for (const operation of OPERATIONS) {
    const expected = DELETES.includes(operation) ? 'SharingViolation' : 'ok'
    test(`${operation} → ${expected}`, async () => {
      const kv = await opened({ access: READ_ATTRIBUTES, shareAccess: 0 })
      assert.equal(await outcome(kv, operation), expected)
    })
  }
})

describe('Acquire Lease on a file that is open, shared with all, for', () => {
  for (const [name, access, expected] of [
    ['attributes', READ_ATTRIBUTES, 'ok'],
    ['reading', READ_DATA, 'ok'],
    ['executing', 0x20, 'ok'],
    ['writing', WRITE_DATA, 'SharingViolation'],
    ['appending', 0x4, 'SharingViolation'],
    ['deleting', DELETE, 'SharingViolation'],
    ['reading and writing', READ_DATA | WRITE_DATA, 'SharingViolation'],
    ['reading and deleting', READ_DATA | DELETE, 'SharingViolation'],
  ] as const) {
    test(`${name} → ${expected}`, async () => {
      assert.equal(await outcome(await opened({ access }), 'Acquire Lease'), expected)
    })
  }
})

describe('a byte range that is locked', () => {
  const takesLocks = [...WRITES, ...REPLACES]
  for (const isExclusive of [true, false]) {
    for (const operation of [
      ...takesLocks,
      ...READS,
      'Get Properties',
      'List',
    ] as RestOperation[]) {
      const isRefused = takesLocks.includes(operation) || (isExclusive && operation === 'Get File')
      const expected = isRefused ? 'FileLockConflict' : 'ok'
      test(`${isExclusive ? 'exclusively' : 'shared'}: ${operation} → ${expected}`, async () => {
        const kv = await opened({})
        await kv.write(function* (tx) {
          putLock(tx, FILE, 0, { openId: 9, offset: '100', length: '10', isExclusive })
        })
        assert.equal(await outcome(kv, operation), expected)
      })
    }
  }

  for (const [from, to, offset, length, expected] of [
    [0, 100, '100', '10', 'ok'],
    [0, 101, '100', '10', 'FileLockConflict'],
    [109, 200, '100', '10', 'FileLockConflict'],
    [110, 200, '100', '10', 'ok'],
    [105, 106, '100', '10', 'FileLockConflict'],
    [0, 1_000, '18446744073709551614', '1', 'ok'],
    [0, Infinity, '18446744073709551614', '1', 'FileLockConflict'],
    [0, 1_000, '0', '18446744073709551615', 'FileLockConflict'],
    [0, 1_000, '500', '0', 'FileLockConflict'],
    [0, 1_000, '0', '0', 'ok'],
  ] as const) {
    test(`Get File ${from}–${to} over ${offset}+${length} → ${expected}`, async () => {
      const kv = await opened({})
      await kv.write(function* (tx) {
        putLock(tx, FILE, 0, { openId: 9, offset, length, isExclusive: true })
      })
      assert.equal(await outcome(kv, 'Get File', { from, to }), expected)
    })
  }

  test('anywhere keeps Put Range out of the whole file', async () => {
    const kv = await opened({})
    await kv.write(function* (tx) {
      putLock(tx, FILE, 0, { openId: 9, offset: '100', length: '10', isExclusive: false })
    })
    assert.equal(await outcome(kv, 'Put Range', { from: 0, to: 10 }), 'FileLockConflict')
  })
})

describe('a file that an SMB client has marked for deletion', () => {
  for (const operation of OPERATIONS) {
    test(`${operation} → SMBDeletePending, until the mark is taken back`, async () => {
      const kv = await opened({ access: READ_ATTRIBUTES })
      const mark = (isPending: boolean) =>
        kv.write(function* (tx) {
          setDeletePending(tx, FILE, isPending)
        })
      await mark(true)
      assert.equal(await outcome(kv, operation), 'SMBDeletePending')
      await mark(false)
      assert.notEqual(await outcome(kv, operation), 'SMBDeletePending')
    })
  }
})

const cacheStates: Readonly<Record<string, number>> = {
  R: CACHE_READ,
  RH: CACHE_READ | CACHE_HANDLE,
  RW: CACHE_READ | CACHE_WRITE,
  RWH: CACHE_READ | CACHE_WRITE | CACHE_HANDLE,
}

function cacheText(state: number): string {
  return Object.entries(cacheStates).find(([, each]) => each === state)?.[0] ?? 'none'
}

// `after X`: the operation waits until the client has gone down to X. `tells X`: it does not wait.
// prettier-ignore
const BREAK_TABLE: Readonly<Record<RestOperation, readonly string[]>> = {
  //                    R             RH            RW            RWH
  'List':              ['ok',         'ok',         'ok',         'ok'],
  'Lease':             ['ok',         'ok',         'ok',         'ok'],
  'Get Properties':    ['ok',         'ok',         'after R',    'after RH'],
  'Get File':          ['ok',         'ok',         'after R',    'after RH'],
  'List Ranges':       ['ok',         'ok',         'after R',    'after RH'],
  'Put Range':         ['tells none', 'tells none', 'after none', 'after none'],
  'Set Properties':    ['tells none', 'tells none', 'after none', 'after none'],
  'Set Metadata':      ['tells none', 'tells none', 'after none', 'after none'],
  'Create File':       ['tells none', 'tells none', 'after none', 'after none'],
  'Copy File':         ['tells none', 'tells none', 'after none', 'after none'],
  'Acquire Lease':     ['tells none', 'tells none', 'after none', 'after none'],
  'Delete File':       ['refused',    'after R',    'refused',    'after RW'],
  'Delete Directory':  ['refused',    'after R',    'refused',    'after RW'],
  'Rename':            ['ok',         'after R',    'ok',         'after RW'],
  'Rename Target':     ['refused',    'after R',    'refused',    'after RW'],
}

describe('what a client caches', () => {
  for (const [operation, expected] of Object.entries(BREAK_TABLE) as [RestOperation, string[]][]) {
    for (const [i, [name, state]] of Object.entries(cacheStates).entries()) {
      test(`${operation} on ${name} → ${expected[i]}`, async () => {
        const kv = await opened({ holder: 'one' })
        await kv.write(function* (tx) {
          putHolder(tx, FILE, { holder: 'one', kind: 'lease', state })
        })
        const told: FileEvent[] = []
        kv.listen((event) => told.push(event))
        const answer = await outcome(kv, operation)
        const shown = { SharingViolation: 'refused' }[answer] ?? answer
        const [event] = told
        const tells = event?.kind === 'break' && !event.isAwaited && `tells ${cacheText(event.to)}`
        assert.equal(tells || shown, expected[i])
      })
    }
  }

  test('and was told to give up is not told again', async () => {
    const kv = await opened({ holder: 'one' })
    await kv.write(function* (tx) {
      putHolder(tx, FILE, { holder: 'one', kind: 'lease', state: CACHE_READ })
    })
    const told: FileEvent[] = []
    kv.listen((event) => told.push(event))
    for (let i = 0; i < 3; i += 1) assert.equal(await outcome(kv, 'Put Range'), 'ok')
    assert.equal(told.length, 1)
    const holders = await kv.read((tx) => holdersOf(tx, FILE.shareId, FILE.nodeId))
    assert.deepEqual(
      holders.map(({ state }) => state),
      [0],
    )
  })

  test('of several, those that hold too much are waited for', async () => {
    const kv = await opened({ holder: 'one' }, { holder: 'two' }, { holder: 'three' })
    await kv.write(function* (tx) {
      putHolder(tx, FILE, { holder: 'one', kind: 'lease', state: CACHE_READ | CACHE_HANDLE })
      putHolder(tx, FILE, { holder: 'two', kind: 'oplock', state: CACHE_READ })
      putHolder(tx, FILE, { holder: 'three', kind: 'lease', state: CACHE_READ | CACHE_HANDLE })
    })
    assert.equal(await outcome(kv, 'Delete File'), 'after R, R')
  })

  test('is given up before share modes are looked at: the client may close its handle', async () => {
    const kv = await opened({ holder: 'one', shareAccess: 0 })
    await kv.write(function* (tx) {
      putHolder(tx, FILE, { holder: 'one', kind: 'lease', state: cacheStates['RWH'] ?? 0 })
    })
    assert.equal(await outcome(kv, 'Get File'), 'after RH')
  })
})
