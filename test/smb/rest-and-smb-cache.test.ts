// An SMB client flushes its cache of a file, under an oplock or a lease, before REST uses the file: REST breaks the
// lease, the client flushes and acknowledges, REST continues. The columns are those of "Manage file locks in Azure
// Files"; rights are R to cache reads, W to cache writes, H to cache the handle.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import {
  DELETES,
  NAMES,
  newFile,
  outcomeUnhindered,
  run,
  type OperationName,
} from '../file/file-operations.ts'
import { itemsOf, outcomeOf, untilTrue } from '../file/smb-client.ts'
import { openRestAndSmb, type Opened } from './rest-and-smb.ts'
import { ACCESS, LEASE, OPLOCK, type OpenTerms } from './client-message.ts'
import type { CacheBreak } from './client-message-info.ts'
import type { SmbClient } from './smb-client.ts'

const world = await openRestAndSmb()

type Rights = 'R' | 'RH' | 'RW' | 'RWH'
const HELD: readonly Rights[] = ['R', 'RH', 'RW', 'RWH']

// `→ X`: the operation breaks the lease to X and waits for the acknowledgment; `notifies X`: it does not wait.
// prettier-ignore
const COLUMNS = {
  keep:   ['',           '',           '',       ''],
  read:   ['',           '',           '→ R',    '→ RH'],
  write:  ['notifies none', 'notifies none', '→ none', '→ none'],
  delete: ['',           '→ R',        '',       '→ RW'],
} as const

const BREAKS: Readonly<Record<OperationName, keyof typeof COLUMNS>> = {
  'Get File Properties': 'read',
  'Get File Metadata': 'read',
  'Get File': 'read',
  'List Ranges': 'read',
  'Put Range': 'write',
  'Clear Range': 'write',
  'Put Range from URL': 'write',
  'Set File Properties': 'write',
  Resize: 'write',
  'Set File Metadata': 'write',
  'Create File': 'write',
  'Copy File': 'write',
  'Acquire Lease': 'write',
  'Delete File': 'delete',
  'Rename File': 'delete',
  'Rename over File': 'delete',
  'Change Lease': 'keep',
  'Release Lease': 'keep',
  'Break Lease': 'keep',
}

function stateName(state: number): string {
  return Object.entries(LEASE).find(([, each]) => each === state)?.[0] ?? `state ${state}`
}

async function leased(rights: Rights, how: OpenTerms = {}): Promise<Opened> {
  const lease = { key: randomBytes(16), state: LEASE[rights] }
  const opened = await world.opened({ lease, ...how })
  assert.equal(opened.handle.opened.leaseState, LEASE[rights])
  return opened
}

/** The handle stays open, which prevents a deletion whatever it caches. */
function outcomeWhileOpen(name: OperationName): string {
  const isDeletion = DELETES.some((each) => each === name)
  return isDeletion ? '409 SharingViolation' : outcomeUnhindered(name)
}

async function watched(running: Promise<string>) {
  const state = { isDone: false, outcome: running }
  void running.finally(() => {
    state.isDone = true
  })
  return state
}

/** Sends a request and waits for its response, so that everything sent before has arrived. */
async function settled(client: SmbClient): Promise<void> {
  const root = await client.open('')
  await root.close()
}

for (const name of NAMES) {
  for (const [i, rights] of HELD.entries()) {
    const expected = COLUMNS[BREAKS[name]][i] ?? ''
    test(`${name} on a lease of ${rights}: ${expected || 'no break'}`, async () => {
      const { file, client } = await leased(rights)
      const running = await watched(outcomeOf(run(name, file, world)))
      if (expected.startsWith('→')) {
        const broken = await client.nextBreak()
        assert(broken.kind === 'lease' && broken.isAcknowledged)
        assert.deepEqual(
          [stateName(broken.from), stateName(broken.to)],
          [rights, expected.slice(2)],
        )
        await settled(client)
        assert.equal(running.isDone, false)
        await client.acknowledge(broken)
      }
      assert.equal(await running.outcome, outcomeWhileOpen(name))
      if (expected.startsWith('notifies')) {
        const broken = await client.nextBreak()
        assert(broken.kind === 'lease')
        assert.equal(`notifies ${stateName(broken.to)}`, expected)
        // The right to cache the handle is acknowledged too, though nothing waits for it.
        assert.equal(broken.isAcknowledged, rights === 'RH')
        if (broken.isAcknowledged) await client.acknowledge(broken)
      }
      await settled(client)
      assert.equal(client.breakCount, 0)
      client.end()
    })
  }
}

test('List Directories and Files breaks no lease', async () => {
  const { file, client } = await leased('RWH')
  const listed = await itemsOf(world.share.rootDirectoryClient.listFilesAndDirectories())
  assert(listed.some(({ name }) => name === file.name))
  await settled(client)
  assert.equal(client.breakCount, 0)
})

describe('oplocks:', () => {
  for (const [level, name, to] of [
    ['batch', 'Get File', OPLOCK.ii],
    ['exclusive', 'Get File', OPLOCK.ii],
    ['batch', 'Get File Properties', OPLOCK.ii],
    ['batch', 'Put Range', OPLOCK.none],
    ['exclusive', 'Set File Metadata', OPLOCK.none],
    ['batch', 'Create File', OPLOCK.none],
    ['ii', 'Get File', undefined],
    ['ii', 'Put Range', OPLOCK.none],
  ] as const) {
    test(`${level}: ${name} → ${to === undefined ? 'no break' : `level ${to}`}`, async () => {
      const { file, client, handle } = await world.opened({ oplock: OPLOCK[level] })
      assert.equal(handle.opened.oplock, OPLOCK[level])
      const running = await watched(outcomeOf(run(name, file, world)))
      if (to !== undefined) {
        const broken = await client.nextBreak()
        assert(broken.kind === 'oplock')
        assert.deepEqual([broken.to, broken.fileId], [to, handle.opened.fileId])
        if (level !== 'ii') {
          assert.equal(running.isDone, false)
          await client.acknowledge(broken)
        }
      }
      assert.equal(await running.outcome, 'ok')
    })
  }
})

describe('data that the client flushes before it acknowledges', () => {
  for (const [what, how] of [
    ['a lease of RWH', { lease: { key: randomBytes(16), state: LEASE.RWH } }],
    ['a lease of RW', { lease: { key: randomBytes(16), state: LEASE.RW } }],
    ['a batch oplock', { oplock: OPLOCK.batch }],
    ['an exclusive oplock', { oplock: OPLOCK.exclusive }],
  ] as const) {
    test(`is returned by Get File: ${what}`, async () => {
      const { file, client, handle } = await world.opened({ ...how, access: ACCESS.all })
      const reading = file.downloadToBuffer(0, 6)
      const broken = await client.nextBreak()
      await handle.write(0, 'cached')
      await client.acknowledge(broken)
      assert.equal(String(await reading), 'cached')
    })
  }

  test('sets the length that Get File Properties returns', async () => {
    const { file, client, handle } = await leased('RWH', { access: ACCESS.all })
    const reading = file.getProperties()
    const broken = await client.nextBreak()
    await handle.write(5_000, 'x')
    await client.acknowledge(broken)
    assert.equal((await reading).contentLength, 5_001)
  })

  test('is overwritten only in the range of the Put Range that broke the lease', async () => {
    const { file, client, handle } = await leased('RWH', { access: ACCESS.all })
    const writing = file.uploadRange('REST', 2, 4)
    const broken = await client.nextBreak()
    await handle.write(0, 'cached..')
    await client.acknowledge(broken)
    await writing
    assert.equal(String(await file.downloadToBuffer(0, 8)), 'caREST..')
    assert.equal(String(await handle.read(0, 8)), 'caREST..')
  })
})

describe('a client that', () => {
  test('closes its handle instead lets the deletion continue', async () => {
    const { file, client, handle } = await leased('RH')
    const deleting = outcomeOf(file.delete())
    await client.nextBreak()
    await handle.close()
    assert.equal(await deleting, 'ok')
  })

  test('loses its connection lets others continue', async () => {
    const { file, client } = await leased('RWH')
    const reading = outcomeOf(run('Get File', file, world))
    await client.nextBreak()
    client.end()
    assert.equal(await reading, 'ok')
  })

  test('has its handle closed by force lets others continue', async () => {
    const { file, client } = await leased('RWH')
    const reading = outcomeOf(run('Get File', file, world))
    await client.nextBreak()
    await file.forceCloseAllHandles()
    assert.equal(await reading, 'ok')
  })

  for (const [name, rights] of [
    ['Get File', 'RWH'],
    ['Get File Properties', 'RW'],
    ['Put Range', 'RWH'],
    ['Delete File', 'RH'],
  ] as const) {
    test(`does not acknowledge: ${name} on ${rights} → 500 ClientCacheFlushDelay`, async () => {
      const { file, client } = await leased(rights)
      const running = outcomeOf(run(name, file, world))
      await client.nextBreak()
      world.server.endWaits()
      assert.equal(await running, '500 ClientCacheFlushDelay')
      // Its time to acknowledge is over too, so it has lost the lease.
      assert.equal(await outcomeOf(run(name, file, world)), outcomeWhileOpen(name))
      client.end()
    })
  }
})

describe('a durable handle whose client has lost its connection', () => {
  const lost = async (rights: Rights) => {
    const { file, client, handle } = await leased(rights, { durable: true })
    assert.equal(handle.opened.isDurable, true)
    client.end()
    const others = await world.smb()
    await settled(others)
    assert.equal((await itemsOf(file.listHandles())).length, 1)
    return file
  }

  for (const [name, rights, isKept] of [
    ['Get File', 'RH', true],
    ['Get File', 'RWH', false],
    ['Put Range', 'RWH', false],
    ['Delete File', 'RH', false],
    ['Delete File', 'RWH', false],
  ] as const) {
    test(`is ${isKept ? 'kept' : 'closed'} by ${name} on ${rights}, which continues`, async () => {
      const file = await lost(rights)
      assert.equal(await outcomeOf(run(name, file, world)), 'ok')
      if (name === 'Delete File') return
      assert.equal((await itemsOf(file.listHandles())).length, isKept ? 1 : 0)
    })
  }
})

describe('several requests or clients:', () => {
  test('waiting REST requests cause one break, and all continue', async () => {
    const { file, client } = await leased('RWH')
    const running = Array.from({ length: 5 }, () => outcomeOf(file.getProperties()))
    await client.acknowledge(await client.nextBreak())
    assert.deepEqual(new Set(await Promise.all(running)), new Set(['ok']))
    assert.equal(client.breakCount, 0)
  })

  test('leases of all clients that cache the handle are broken and awaited', async () => {
    const file = await newFile(world)
    const clients = await Promise.all([world.smb(), world.smb(), world.smb()])
    for (const client of clients) {
      await client.open(file.path, { lease: { key: randomBytes(16), state: LEASE.RH } })
    }
    const running = await watched(outcomeOf(file.delete()))
    const broken = new Map<SmbClient, CacheBreak>()
    for (const client of clients) broken.set(client, await client.nextBreak())
    for (const [client, each] of broken) {
      assert.equal(running.isDone, false)
      await client.acknowledge(each)
    }
    assert.equal(await running.outcome, '409 SharingViolation')
  })

  test('an SMB open and a REST read wait for the same acknowledgment', async () => {
    const { file, client } = await leased('RWH')
    const other = await world.smb()
    const opening = await watched(other.open(file.path).then(() => 'SUCCESS'))
    const broken = await client.nextBreak()
    const reading = await watched(outcomeOf(run('Get File', file, world)))
    await settled(client)
    assert.deepEqual([opening.isDone, reading.isDone], [false, false])
    await client.acknowledge(broken)
    assert.deepEqual([await opening.outcome, await reading.outcome], ['SUCCESS', 'ok'])
    await untilTrue(() => opening.isDone && reading.isDone)
  })
})
