// An SMB client flushes its cache of a file before REST uses the file: which operation breaks which rights, and which
// waits. The rights are those of SMB leases: R to cache reads, W to cache writes, H to cache the handle.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ShareFileClient } from '@azure/storage-file-share'
import {
  NAMES,
  newFile,
  fileWorld,
  outcomeUnhindered,
  run,
  type OperationName,
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

const world = await fileWorld('cached')

type Rights = keyof typeof CACHES

async function newCached(
  rights: Rights,
): Promise<{ readonly file: ShareFileClient; readonly place: Place }> {
  const file = await newFile(world)
  const place = await placeOf(world.server, 'cached', file.path)
  await cacheOpen(world.server, place, CACHES[rights])
  return { file, place }
}

/** A client that acknowledges every break at once. */
const obedient = (event: BreakEvent) => acknowledge(world.server, event, event.holder, event.to)

const HELD: readonly Rights[] = ['R', 'RH', 'RW', 'RWH']

// `→ X`: the operation breaks the lease to X and waits for the acknowledgment; `notifies X`: it does not wait.
// prettier-ignore
const KEEP =    ['',        '',        '',       '']
// prettier-ignore
const READ =    ['',        '',        '→ R',    '→ RH']
// prettier-ignore
const WRITE =   ['notifies none', 'notifies none', '→ none', '→ none']
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
  return `${isAwaited ? '→' : 'notifies'} ${cacheText(to)}`
}

/** The handle stays open, which prevents a deletion whatever it caches. */
function outcomeWhileOpen(name: OperationName): string {
  const isDeletion = name === 'Delete File' || name === 'Rename over File'
  return isDeletion ? '409 SharingViolation' : outcomeUnhindered(name)
}

describe('a client that acknowledges at once:', () => {
  for (const name of NAMES) {
    for (const [i, rights] of HELD.entries()) {
      const expected = BREAKS[name][i] ?? ''
      test(`${name} on ${rights}: ${expected || 'no break'}`, async () => {
        const { file } = await newCached(rights)
        const { breaks, stop } = onBreak(world.server, obedient)
        const outcome = await outcomeOf(run(name, file, world))
        stop()
        assert.equal(breaks.map(textOf).join(), expected)
        assert.equal(outcome, outcomeWhileOpen(name))
      })
    }
  }

  test('List breaks no lease', async () => {
    const { file } = await newCached('RWH')
    const { breaks, stop } = onBreak(world.server)
    const root = world.share.rootDirectoryClient
    const listed = await itemsOf(root.listFilesAndDirectories())
    stop()
    assert(listed.some((each) => each.name === file.name))
    assert.equal(breaks.length, 0)
  })
})

describe('a slow client:', () => {
  for (const name of NAMES) {
    for (const [i, rights] of HELD.entries()) {
      const expected = BREAKS[name][i] ?? ''
      if (!expected.startsWith('→')) continue
      test(`${name} on ${rights} waits for it`, async () => {
        const { file, place } = await newCached(rights)
        const { breaks, stop } = onBreak(world.server)
        let isDone = false
        const running = outcomeOf(run(name, file, world)).finally(() => {
          isDone = true
        })
        await untilTrue(() => breaks.length === 1)
        assert.equal(isDone, false)
        const [event] = breaks
        assert(event !== undefined)
        await acknowledge(world.server, place, event.holder, event.to)
        assert.equal(await running, outcomeWhileOpen(name))
        stop()
        assert.equal(breaks.length, 1)
      })

      test(`${name} on ${rights} times out → 500 ClientCacheFlushDelay`, async () => {
        const { file } = await newCached(rights)
        const { breaks, stop } = onBreak(world.server)
        const running = outcomeOf(run(name, file, world))
        await untilTrue(() => breaks.length === 1)
        world.server.endWaits()
        assert.equal(await running, '500 ClientCacheFlushDelay')
        stop()
      })
    }
  }
})

describe('a client that closes its handle instead:', () => {
  for (const name of ['Delete File', 'Rename over File', 'Get File', 'Put Range'] as const) {
    test(`${name} continues`, async () => {
      const { file } = await newCached('RWH')
      const { stop } = onBreak(world.server, () => file.forceCloseAllHandles())
      assert.equal(await outcomeOf(run(name, file, world)), 'ok')
      stop()
    })
  }
})

describe('several requests or clients:', () => {
  test('waiting requests cause one break, and all continue', async () => {
    const { file } = await newCached('RWH')
    const { breaks, stop } = onBreak(world.server)
    const running = Array.from({ length: 5 }, () => outcomeOf(file.getProperties()))
    await untilTrue(() => breaks.length === 1)
    const [event] = breaks
    assert(event !== undefined)
    await obedient(event)
    assert.deepEqual(new Set(await Promise.all(running)), new Set(['ok']))
    stop()
    assert.equal(breaks.length, 1)
  })

  test('leases of several clients are broken together, and all are awaited', async () => {
    const { file, place } = await newCached('RH')
    const other = await cacheOpen(world.server, place, CACHES.RH, { holder: 'other' })
    const { breaks, stop } = onBreak(world.server)
    const running = outcomeOf(file.delete())
    await untilTrue(() => breaks.length === 2)
    for (const event of breaks) await obedient(event)
    await untilTrue(() => breaks.length === 2)
    assert.equal(await running, '409 SharingViolation')
    stop()
    assert.deepEqual(
      new Set(breaks.map(({ holder }) => holder)),
      new Set([`holder-${place.nodeId}`, other.holder]),
    )
  })

  test('a write after a read breaks further rights', async () => {
    const { file } = await newCached('RWH')
    const { breaks, stop } = onBreak(world.server, obedient)
    await file.getProperties()
    await file.uploadRange('x', 0, 1)
    stop()
    assert.deepEqual(breaks.map(textOf), ['→ RH', 'notifies none'])
  })
})

test('a handle without a lease gets no break', async () => {
  const file = await newFile(world)
  await openPlace(world.server, await placeOf(world.server, 'cached', file.path))
  const { breaks, stop } = onBreak(world.server)
  await file.uploadRange('x', 0, 1)
  stop()
  assert.equal(breaks.length, 0)
})
