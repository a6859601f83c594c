// What an SMB client caches of a file under an oplock or a lease is on the server before REST looks at it: REST
// asks, the client flushes and acknowledges, REST goes on. The columns are those of "Manage file locks in Azure
// Files"; rights are R to read, W to write, H to keep the handle.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import {
  DELETES,
  NAMES,
  newFile,
  outcomeUnhindered,
  run,
  type OperationName,
} from '../file/file-operations.ts'
import { itemsOf, outcomeOf, untilTrue } from '../file/smb-client.ts'
import { openDoors, type Doors, type Opened } from './both-doors.ts'
import { ACCESS, LEASE, OPLOCK, type OpenTerms } from './client-message.ts'
import type { CacheBreak } from './client-message-info.ts'
import type { SmbClient } from './smb-client.ts'

let doors: Doors

before(async () => {
  doors = await openDoors()
})
after(() => doors.close())

type Rights = 'R' | 'RH' | 'RW' | 'RWH'
const HELD: readonly Rights[] = ['R', 'RH', 'RW', 'RWH']

// `→ X`: the client is asked to go down to X, and the operation waits until it has; `tells X`: it does not wait.
// prettier-ignore
const COLUMNS = {
  keep:   ['',           '',           '',       ''],
  read:   ['',           '',           '→ R',    '→ RH'],
  write:  ['tells none', 'tells none', '→ none', '→ none'],
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
  const opened = await doors.opened({ lease, ...how })
  assert.equal(opened.handle.opened.leaseState, LEASE[rights])
  return opened
}

/** The handle stays open: it is in the way of a deletion, whatever it caches. */
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

/** Asks it something, so that all that was sent before it has come. */
async function settled(client: SmbClient): Promise<void> {
  const root = await client.open('')
  await root.close()
}

for (const name of NAMES) {
  for (const [i, rights] of HELD.entries()) {
    const expected = COLUMNS[BREAKS[name]][i] ?? ''
    test(`${name} on a lease of ${rights}: ${expected || 'nobody is asked'}`, async () => {
      const { file, client } = await leased(rights)
      const running = await watched(outcomeOf(run(name, file, doors)))
      if (expected.startsWith('→')) {
        const asked = await client.nextBreak()
        assert(asked.kind === 'lease' && asked.isAcknowledged)
        assert.deepEqual([stateName(asked.from), stateName(asked.to)], [rights, expected.slice(2)])
        await settled(client)
        assert.equal(running.isDone, false)
        await client.acknowledge(asked)
      }
      assert.equal(await running.outcome, outcomeWhileOpen(name))
      if (expected.startsWith('tells')) {
        const asked = await client.nextBreak()
        assert(asked.kind === 'lease')
        assert.equal(`tells ${stateName(asked.to)}`, expected)
        // Leave to keep the handle is given back, though nobody waits for it.
        assert.equal(asked.isAcknowledged, rights === 'RH')
        if (asked.isAcknowledged) await client.acknowledge(asked)
      }
      await settled(client)
      assert.equal(client.breakCount, 0)
      client.end()
    })
  }
}

test('List Directories and Files asks nobody', async () => {
  const { file, client } = await leased('RWH')
  const listed = await itemsOf(doors.share.rootDirectoryClient.listFilesAndDirectories())
  assert(listed.some(({ name }) => name === file.name))
  await settled(client)
  assert.equal(client.breakCount, 0)
})

describe('oplocks', () => {
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
    test(`${level}: ${name} → ${to === undefined ? 'nobody is asked' : `level ${to}`}`, async () => {
      const { file, client, handle } = await doors.opened({ oplock: OPLOCK[level] })
      assert.equal(handle.opened.oplock, OPLOCK[level])
      const running = await watched(outcomeOf(run(name, file, doors)))
      if (to !== undefined) {
        const asked = await client.nextBreak()
        assert(asked.kind === 'oplock')
        assert.deepEqual([asked.to, asked.fileId], [to, handle.opened.fileId])
        if (level !== 'ii') {
          assert.equal(running.isDone, false)
          await client.acknowledge(asked)
        }
      }
      assert.equal(await running.outcome, 'ok')
    })
  }
})

describe('what the client flushes before it acknowledges', () => {
  for (const [what, how] of [
    ['a lease of RWH', { lease: { key: randomBytes(16), state: LEASE.RWH } }],
    ['a lease of RW', { lease: { key: randomBytes(16), state: LEASE.RW } }],
    ['a batch oplock', { oplock: OPLOCK.batch }],
    ['an exclusive oplock', { oplock: OPLOCK.exclusive }],
  ] as const) {
    test(`is what Get File answers with: ${what}`, async () => {
      const { file, client, handle } = await doors.opened({ ...how, access: ACCESS.all })
      const reading = file.downloadToBuffer(0, 6)
      const asked = await client.nextBreak()
      await handle.write(0, 'cached')
      await client.acknowledge(asked)
      assert.equal(String(await reading), 'cached')
    })
  }

  test('is the length that Get File Properties answers with', async () => {
    const { file, client, handle } = await leased('RWH', { access: ACCESS.all })
    const reading = file.getProperties()
    const asked = await client.nextBreak()
    await handle.write(5_000, 'x')
    await client.acknowledge(asked)
    assert.equal((await reading).contentLength, 5_001)
  })

  test('is overwritten by the Put Range that asked for it, and kept elsewhere', async () => {
    const { file, client, handle } = await leased('RWH', { access: ACCESS.all })
    const writing = file.uploadRange('REST', 2, 4)
    const asked = await client.nextBreak()
    await handle.write(0, 'cached..')
    await client.acknowledge(asked)
    await writing
    assert.equal(String(await file.downloadToBuffer(0, 8)), 'caREST..')
    assert.equal(String(await handle.read(0, 8)), 'caREST..')
  })
})

describe('a client that', () => {
  test('closes its handle instead lets the deletion go on', async () => {
    const { file, client, handle } = await leased('RH')
    const deleting = outcomeOf(file.delete())
    await client.nextBreak()
    await handle.close()
    assert.equal(await deleting, 'ok')
  })

  test('loses its connection lets others go on', async () => {
    const { file, client } = await leased('RWH')
    const reading = outcomeOf(run('Get File', file, doors))
    await client.nextBreak()
    client.end()
    assert.equal(await reading, 'ok')
  })

  test('has its handle closed by force lets others go on', async () => {
    const { file, client } = await leased('RWH')
    const reading = outcomeOf(run('Get File', file, doors))
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
    test(`does not answer: ${name} on ${rights} → 500 ClientCacheFlushDelay`, async () => {
      const { file, client } = await leased(rights)
      const running = outcomeOf(run(name, file, doors))
      await client.nextBreak()
      doors.server.endWaits()
      assert.equal(await running, '500 ClientCacheFlushDelay')
      // Its time to acknowledge is over, too: what it cached is no more.
      assert.equal(await outcomeOf(run(name, file, doors)), outcomeWhileOpen(name))
      client.end()
    })
  }
})

describe('a durable handle whose client has lost its connection', () => {
  const lost = async (rights: Rights) => {
    const { file, client, handle } = await leased(rights, { durable: true })
    assert.equal(handle.opened.isDurable, true)
    client.end()
    const others = await doors.smb()
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
    test(`${name} on ${rights} ${isKept ? 'leaves it' : 'ends it'} and goes on`, async () => {
      const file = await lost(rights)
      assert.equal(await outcomeOf(run(name, file, doors)), 'ok')
      if (name === 'Delete File') return
      assert.equal((await itemsOf(file.listHandles())).length, isKept ? 1 : 0)
    })
  }
})

describe('several', () => {
  test('REST requests that wait ask once, and all go on', async () => {
    const { file, client } = await leased('RWH')
    const running = Array.from({ length: 5 }, () => outcomeOf(file.getProperties()))
    await client.acknowledge(await client.nextBreak())
    assert.deepEqual(new Set(await Promise.all(running)), new Set(['ok']))
    assert.equal(client.breakCount, 0)
  })

  test('clients that keep the handle are all asked and all waited for', async () => {
    const file = await newFile(doors)
    const clients = await Promise.all([doors.smb(), doors.smb(), doors.smb()])
    for (const client of clients) {
      await client.open(file.path, { lease: { key: randomBytes(16), state: LEASE.RH } })
    }
    const running = await watched(outcomeOf(file.delete()))
    const asked = new Map<SmbClient, CacheBreak>()
    for (const client of clients) asked.set(client, await client.nextBreak())
    for (const [client, each] of asked) {
      assert.equal(running.isDone, false)
      await client.acknowledge(each)
    }
    assert.equal(await running.outcome, '409 SharingViolation')
  })

  test('an SMB open and a REST read wait for the same answer', async () => {
    const { file, client } = await leased('RWH')
    const other = await doors.smb()
    const opening = await watched(other.open(file.path).then(() => 'SUCCESS'))
    const asked = await client.nextBreak()
    const reading = await watched(outcomeOf(run('Get File', file, doors)))
    await settled(client)
    assert.deepEqual([opening.isDone, reading.isDone], [false, false])
    await client.acknowledge(asked)
    assert.deepEqual([await opening.outcome, await reading.outcome], ['SUCCESS', 'ok'])
    await untilTrue(() => opening.isDone && reading.isDone)
  })
})
