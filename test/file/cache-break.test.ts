// What an SMB client caches of a file is flushed before REST touches it: which operation asks for what, and who
// waits for whom. The rights are those of SMB leases: R to read, W to write, H to keep the handle.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ShareFileClient } from '@azure/storage-file-share'
import {
  NAMES,
  newFile,
  openWorld,
  outcomeUnhindered,
  run,
  type OperationName,
  type World,
} from './file-operations.ts'
import {
  acknowledge,
  cacheOpen,
  CACHES,
  cacheText,
  onBreak,
  openPlace,
  outcomeOf,
  placeOf,
  untilTrue,
  type BreakEvent,
  type Place,
  itemsOf,
} from './smb-client.ts'

let world: World

before(async () => {
  world = await openWorld('cached')
})
after(() => world.server.close())

type Rights = keyof typeof CACHES

async function newCached(
  rights: Rights,
): Promise<{ readonly file: ShareFileClient; readonly place: Place }> {
  const file = await newFile(world)
  const place = await placeOf(world.server, 'cached', file.path)
  await cacheOpen(world.server, place, CACHES[rights])
  return { file, place }
}

/** A client that does at once what it is asked. */
const obedient = (event: BreakEvent) => acknowledge(world.server, event, event.holder, event.to)

const HELD: readonly Rights[] = ['R', 'RH', 'RW', 'RWH']

// `→ X`: the client is asked to go down to X, and the operation waits until it has; `tells X`: it does not wait.
// prettier-ignore
const KEEP =    ['',        '',        '',       '']
// prettier-ignore
const READ =    ['',        '',        '→ R',    '→ RH']
// prettier-ignore
const WRITE =   ['tells none', 'tells none', '→ none', '→ none']
// prettier-ignore
const DELETE =  ['',        '→ R',     '',       '→ RW']

const BREAKS: Readonly<Record<OperationName, readonly string[]>> = {
  'Get File Properties': READ,
  'Get File Metadata': READ,
  'Get File': READ,
  'List Ranges': READ,
  'Put Range': WRITE,
  'Clear Range': WRITE,
  'Put Range from URL': WRITE,
  'Set File Properties': WRITE,
  Resize: WRITE,
  'Set File Metadata': WRITE,
  'Create File': WRITE,
  'Copy File': WRITE,
  'Acquire Lease': WRITE,
  'Delete File': DELETE,
  'Rename File': DELETE,
  'Rename over File': DELETE,
  'Change Lease': KEEP,
  'Release Lease': KEEP,
  'Break Lease': KEEP,
}

function textOf({ to, isAwaited }: BreakEvent): string {
  return `${isAwaited ? '→' : 'tells'} ${cacheText(to)}`
}

/** The handle stays open: it is in the way of a deletion, whatever it caches. */
function outcomeWhileOpen(name: OperationName): string {
  const isDeletion = name === 'Delete File' || name === 'Rename over File'
  return isDeletion ? '409 SharingViolation' : outcomeUnhindered(name)
}

describe('a client that does as it is asked', () => {
  for (const name of NAMES) {
    for (const [i, rights] of HELD.entries()) {
      const expected = BREAKS[name][i] ?? ''
      test(`${name} on ${rights}: ${expected || 'is left alone'}`, async () => {
        const { file } = await newCached(rights)
        const { told, stop } = onBreak(world.server, obedient)
        const outcome = await outcomeOf(run(name, file, world))
        stop()
        assert.equal(told.map(textOf).join(), expected)
        assert.equal(outcome, outcomeWhileOpen(name))
      })
    }
  }

  test('List asks nobody for anything', async () => {
    const { file } = await newCached('RWH')
    const { told, stop } = onBreak(world.server)
    const root = world.share.rootDirectoryClient
    const listed = await itemsOf(root.listFilesAndDirectories())
    stop()
    assert(listed.some((each) => each.name === file.name))
    assert.equal(told.length, 0)
  })
})

describe('a client that takes its time', () => {
  for (const name of NAMES) {
    for (const [i, rights] of HELD.entries()) {
      const expected = BREAKS[name][i] ?? ''
      if (!expected.startsWith('→')) continue
      test(`${name} on ${rights} waits for it`, async () => {
        const { file, place } = await newCached(rights)
        const { told, stop } = onBreak(world.server)
        let isDone = false
        const running = outcomeOf(run(name, file, world)).finally(() => {
          isDone = true
        })
        await untilTrue(() => told.length === 1)
        assert.equal(isDone, false)
        const [event] = told
        assert(event !== undefined)
        await acknowledge(world.server, place, event.holder, event.to)
        assert.equal(await running, outcomeWhileOpen(name))
        stop()
        assert.equal(told.length, 1)
      })

      test(`${name} on ${rights} waits in vain → 500 ClientCacheFlushDelay`, async () => {
        const { file } = await newCached(rights)
        const { told, stop } = onBreak(world.server)
        const running = outcomeOf(run(name, file, world))
        await untilTrue(() => told.length === 1)
        world.server.endWaits()
        assert.equal(await running, '500 ClientCacheFlushDelay')
        stop()
      })
    }
  }
})

describe('a client that closes its handle instead', () => {
  for (const name of ['Delete File', 'Rename over File', 'Get File', 'Put Range'] as const) {
    test(`${name} goes on without it`, async () => {
      const { file } = await newCached('RWH')
      const { stop } = onBreak(world.server, () => file.forceCloseAllHandles())
      assert.equal(await outcomeOf(run(name, file, world)), 'ok')
      stop()
    })
  }
})

describe('several', () => {
  test('requests that wait ask once, and all go on', async () => {
    const { file } = await newCached('RWH')
    const { told, stop } = onBreak(world.server)
    const running = Array.from({ length: 5 }, () => outcomeOf(file.getProperties()))
    await untilTrue(() => told.length === 1)
    const [event] = told
    assert(event !== undefined)
    await obedient(event)
    assert.deepEqual(new Set(await Promise.all(running)), new Set(['ok']))
    stop()
    assert.equal(told.length, 1)
  })

  test('clients are asked together, and all are waited for', async () => {
    const { file, place } = await newCached('RH')
    const other = await cacheOpen(world.server, place, CACHES.RH, { holder: 'other' })
    const { told, stop } = onBreak(world.server)
    const running = outcomeOf(file.delete())
    await untilTrue(() => told.length === 2)
    for (const event of told) await obedient(event)
    await untilTrue(() => told.length === 2)
    assert.equal(await running, '409 SharingViolation')
    stop()
    assert.deepEqual(
      new Set(told.map(({ holder }) => holder)),
      new Set([`holder-${place.nodeId}`, other.holder]),
    )
  })

  test('a read and then a write ask for more', async () => {
    const { file } = await newCached('RWH')
    const { told, stop } = onBreak(world.server, obedient)
    await file.getProperties()
    await file.uploadRange('x', 0, 1)
    stop()
    assert.deepEqual(told.map(textOf), ['→ RH', 'tells none'])
  })
})

test('a handle that caches nothing is not asked', async () => {
  const file = await newFile(world)
  await openPlace(world.server, await placeOf(world.server, 'cached', file.path))
  const { told, stop } = onBreak(world.server)
  await file.uploadRange('x', 0, 1)
  stop()
  assert.equal(told.length, 0)
})
