// Byte-range locks: what they forbid, which of them conflict, locking and unlocking.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { randomFrom } from '../../../../test/random.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { locksOf, putOpen, type FileEvent, type FileKv, type FileOpen } from './open.ts'
import {
  addLocks,
  checkLocks,
  conflicts,
  forbids,
  isLockRange,
  overlaps,
  removeLocks,
  type LockElement,
} from './smb-lock.ts'

const U64_MAX = (1n << 64n) - 1n

describe('a lock range is valid', () => {
  // prettier-ignore
  const rows: readonly (readonly [offset: bigint, length: bigint, isValid: boolean])[] = [
    [0n, 0n, true],
    [0n, U64_MAX, true],
    [1n, U64_MAX, true],
    [2n, U64_MAX, false],
    [U64_MAX, 0n, true],
    [U64_MAX, 1n, true],
    [U64_MAX, 2n, false],
  ]
  for (const [offset, length, isValid] of rows) {
    test(`${length} bytes from ${offset}: ${isValid}`, () => {
      assert.equal(isLockRange({ offset, length }), isValid)
    })
  }
})

describe('ranges overlap', () => {
  // [MS-FSA] 2.1.4.10: an empty range is between two bytes.
  // prettier-ignore
  const rows: readonly (readonly [a: readonly [bigint, bigint], b: readonly [bigint, bigint], overlap: boolean])[] = [
    [[0n, 10n], [9n, 1n], true],
    [[0n, 10n], [10n, 1n], false],
    [[0n, 10n], [5n, 0n], true],
    [[0n, 10n], [0n, 0n], false],
    [[0n, 10n], [10n, 0n], false],
    [[5n, 0n], [5n, 0n], false],
    [[U64_MAX, 1n], [U64_MAX, 1n], true],
    [[0n, U64_MAX], [U64_MAX, 1n], false],
  ]
  for (const [[offset, length], [otherOffset, otherLength], overlap] of rows) {
    const a = { offset, length }
    const b = { offset: otherOffset, length: otherLength }
    test(`${offset}+${length} and ${otherOffset}+${otherLength}: ${overlap}`, () => {
      assert.equal(overlaps(a, b), overlap)
      assert.equal(overlaps(b, a), overlap)
    })
  }
})

const [OWN, OTHER] = [1, 2]
const RANGE = { offset: 0n, length: 10n }

function held(openId: number, isExclusive: boolean) {
  return { openId, offset: '5', length: '10', isExclusive }
}

describe('a held lock', () => {
  // prettier-ignore
  const rows: readonly (readonly [who: 'own' | 'other', exclusive: boolean, shared: boolean, exclusive2: boolean, read: boolean, write: boolean])[] = [
    // forbids: a shared lock, an exclusive lock, a read, a write
    ['own',   false, false, true, false, true],
    ['own',   true,  false, true, false, false],
    ['other', false, false, true, false, true],
    ['other', true,  true,  true, true,  true],
  ]
  for (const [who, isExclusive, shared, exclusive, read, write] of rows) {
    test(`${who} ${isExclusive ? 'exclusive' : 'shared'} forbids what conflicts`, () => {
      const lock = held(who === 'own' ? OWN : OTHER, isExclusive)
      assert.equal(conflicts(lock, { ...RANGE, isExclusive: false }, OWN), shared, 'shared')
      assert.equal(conflicts(lock, { ...RANGE, isExclusive: true }, OWN), exclusive, 'exclusive')
      assert.equal(forbids(lock, RANGE, 'read', OWN), read, 'read')
      assert.equal(forbids(lock, RANGE, 'write', OWN), write, 'write')
    })
  }
})

const OPEN: FileOpen = {
  openId: OWN,
  shareId: 1,
  nodeId: 5,
  parentId: 0,
  path: 'a.txt',
  isDirectory: false,
  access: 0x3,
  shareAccess: 7,
  sessionId: '1',
  clientIp: '10.0.0.1:445',
  openedMs: 0,
}
const SECOND: FileOpen = { ...OPEN, openId: OTHER }

async function kvWith(...opens: readonly FileOpen[]): Promise<FileKv> {
  const kv = openMemoryKv<FileEvent>()
  await kv.write(function* (tx) {
    for (const open of opens) putOpen(tx, open)
  })
  return kv
}

function lock(kv: FileKv, open: FileOpen, ...wanted: readonly LockElement[]) {
  return kv.write((tx) => addLocks(tx, open, wanted))
}

function element(offset: bigint, length: bigint, isExclusive = true): LockElement {
  return { offset, length, isExclusive }
}

describe('the locks of a file', () => {
  test('are taken all together or not at all', async () => {
    const kv = await kvWith(OPEN, SECOND)
    assert.equal(await lock(kv, SECOND, element(20n, 1n)), 'locked')
    assert.equal(await lock(kv, OPEN, element(0n, 1n), element(20n, 1n)), 'conflict')
    assert.equal(await lock(kv, OPEN, element(0n, 2n), element(1n, 1n)), 'conflict')
    const locks = await kv.read((tx) => locksOf(tx, 1, 5))
    assert.deepEqual(locks, [{ openId: OTHER, offset: '20', length: '1', isExclusive: true }])
  })

  test('are unlocked oldest first if their ranges are equal', async () => {
    const kv = await kvWith(OPEN, SECOND)
    await lock(kv, OPEN, element(0n, 10n, true))
    await lock(kv, OPEN, element(0n, 10n, false))
    const unlock = () => kv.write((tx) => removeLocks(tx, OPEN, [{ offset: 0n, length: 10n }]))
    assert.equal(await unlock(), 1)
    assert.equal(await lock(kv, SECOND, element(0n, 10n, false)), 'locked')
    assert.equal(await unlock(), 1)
    assert.equal(await unlock(), 0)
  })

  test('are unlocked only by their open, with the exact range, which announces a release', async () => {
    const kv = await kvWith(OPEN, SECOND)
    const events: FileEvent[] = []
    kv.listen((event) => events.push(event))
    await lock(kv, OPEN, element(0n, 10n))
    const unlock = (open: FileOpen, length: bigint) =>
      kv.write((tx) => removeLocks(tx, open, [{ offset: 0n, length }]))
    assert.equal(await unlock(SECOND, 10n), 0)
    assert.equal(await unlock(OPEN, 9n), 0)
    assert.deepEqual(events, [])
    assert.equal(await unlock(OPEN, 10n), 1)
    assert.deepEqual(events, [{ kind: 'released', shareId: 1, nodeId: 5 }])
  })

  test('conflict exactly if one of them conflicts with a held or an earlier one', async () => {
    const random = randomFrom(7)
    const some = (count: number) =>
      Array.from({ length: random.below(count) }, () =>
        element(BigInt(random.below(40)), BigInt(random.below(4)), random.below(2) === 0),
      )
    for (let round = 0; round < 500; round += 1) {
      const kv = await kvWith(OPEN, SECOND)
      for (const each of some(6)) await lock(kv, SECOND, each)
      for (const each of some(6)) await lock(kv, OPEN, each)
      const held = await kv.read((tx) => locksOf(tx, 1, 5))
      const wanted = some(5)
      const isConflict = wanted.some((each, at) => {
        const earlier = wanted.slice(0, at).map(({ offset, length, isExclusive }) => {
          return { openId: OWN, offset: String(offset), length: String(length), isExclusive }
        })
        return [...held, ...earlier].some((one) => conflicts(one, each, OWN))
      })
      assert.equal(await lock(kv, OPEN, ...wanted), isConflict ? 'conflict' : 'locked')
    }
  })

  test('are unlocked up to the first range that is not locked', async () => {
    const kv = await kvWith(OPEN)
    await lock(kv, OPEN, element(0n, 1n), element(2n, 1n))
    const ranges = [0n, 1n, 2n].map((offset) => ({ offset, length: 1n }))
    assert.equal(await kv.write((tx) => removeLocks(tx, OPEN, ranges)), 1)
    const left = await kv.read((tx) => locksOf(tx, 1, 5))
    assert.deepEqual(
      left.map(({ offset }) => offset),
      ['2'],
    )
  })

  test('cannot be taken by a closed open', async () => {
    const kv = await kvWith(SECOND)
    assert.equal(await lock(kv, OPEN, element(0n, 10n)), 'closed')
  })

  test('forbid others to write, except in a snapshot', async () => {
    const kv = await kvWith(OPEN, SECOND)
    await lock(kv, OPEN, element(0n, 10n))
    const write = (open: FileOpen, from: number, to: number) =>
      kv.read((tx) => checkLocks(tx, open, { from, to }, 'write'))
    await assert.rejects(write(SECOND, 9, 20), { code: 'FileLockConflict' })
    await write(SECOND, 10, 20)
    await write(OPEN, 0, 20)
    await write({ ...SECOND, snapshot: 3 }, 0, 20)
  })
})
