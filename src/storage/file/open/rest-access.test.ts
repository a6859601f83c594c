// REST operations on a file that SMB clients have open: the tables of "Manage file locks in Azure Files".
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { StorageError } from '../../shared/error.ts'
import { CACHE_HANDLE, CACHE_READ, CACHE_WRITE, holdersOf, putHolder, putLock } from './open.ts'
import { putOpen, setDeletePending, SHARE_DELETE, SHARE_READ, SHARE_WRITE } from './open.ts'
import type { FileEvent, FileKv, FileOpen } from './open.ts'
import { checkOpens, isBreaks, REST_ACCESS, type RestOperation } from './rest-access.ts'

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

/** `ok`, the error's code, or the breaks to wait for. */
async function outcome(kv: FileKv, operation: RestOperation, range?: ByteRange): Promise<string> {
  try {
    const attempted = await kv.attempt((tx) => checkOpens(tx, FILE.shareId, FILE, operation, range))
    if ('value' in attempted) return 'ok'
    assert(isBreaks(attempted.need))
    return `after ${attempted.need.breaks.map(({ to }) => cacheText(to)).join(', ')}`
  } catch (error) {
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

// The operations that a share mode refuses, as documented; undocumented ones are below.
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

describe('a file open for reading', () => {
  for (const [mode, refused] of Object.entries(SHARE_MODE_TABLE)) {
    for (const operation of OPERATIONS) {
      const expected = refused.includes(operation) ? 'SharingViolation' : 'ok'
      test(`sharing ${mode}: ${operation} → ${expected}`, async () => {
        const kv = await opened({ shareAccess: shareModes[mode] ?? 0 })
        assert.equal(await outcome(kv, operation), expected)
      })
    }
  }

  test('is checked against all of its opens', async () => {
    const kv = await opened({}, { shareAccess: SHARE_READ })
    assert.equal(await outcome(kv, 'Put Range'), 'SharingViolation')
  })

  test('is not affected by opens of another file', async () => {
    const kv = await opened({ nodeId: 6, shareAccess: 0 })
    assert.equal(await outcome(kv, 'Put Range'), 'ok')
  })

  test('is not affected by opens in a snapshot', async () => {
    const kv = await opened({ snapshot: 3, shareAccess: 0 })
    for (const operation of OPERATIONS) assert.equal(await outcome(kv, operation), 'ok')
  })
})

describe('a file open only for its attributes denies nothing but deletes', () => {
  for (const operation of OPERATIONS) {
    const expected = DELETES.includes(operation) ? 'SharingViolation' : 'ok'
    test(`${operation} → ${expected}`, async () => {
      const kv = await opened({ access: READ_ATTRIBUTES, shareAccess: 0 })
      assert.equal(await outcome(kv, operation), expected)
    })
  }
})

describe('Acquire Lease on a file open with full sharing for', () => {
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

describe('a locked byte range', () => {
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

  test('anywhere in the file prevents Put Range', async () => {
    const kv = await opened({})
    await kv.write(function* (tx) {
      putLock(tx, FILE, 0, { openId: 9, offset: '100', length: '10', isExclusive: false })
    })
    assert.equal(await outcome(kv, 'Put Range', { from: 0, to: 10 }), 'FileLockConflict')
  })
})

describe('a file marked for deletion by an SMB client', () => {
  for (const operation of OPERATIONS) {
    test(`${operation} → SMBDeletePending, until the mark is removed`, async () => {
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

// `after X`: the operation waits for a break to X. `tells X`: it breaks to X without waiting.
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

describe('the cache of a client', () => {
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

  test('is broken only once', async () => {
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

  test('is waited for only if it holds too much', async () => {
    const kv = await opened({ holder: 'one' }, { holder: 'two' }, { holder: 'three' })
    await kv.write(function* (tx) {
      putHolder(tx, FILE, { holder: 'one', kind: 'lease', state: CACHE_READ | CACHE_HANDLE })
      putHolder(tx, FILE, { holder: 'two', kind: 'oplock', state: CACHE_READ })
      putHolder(tx, FILE, { holder: 'three', kind: 'lease', state: CACHE_READ | CACHE_HANDLE })
    })
    assert.equal(await outcome(kv, 'Delete File'), 'after R, R')
  })

  test('is broken before share modes are checked, since the client may close its handle', async () => {
    const kv = await opened({ holder: 'one', shareAccess: 0 })
    await kv.write(function* (tx) {
      putHolder(tx, FILE, { holder: 'one', kind: 'lease', state: cacheStates['RWH'] ?? 0 })
    })
    assert.equal(await outcome(kv, 'Get File'), 'after RH')
  })
})
