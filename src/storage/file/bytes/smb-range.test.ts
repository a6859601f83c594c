// The bytes of an open file: READ, WRITE, server-side copies, zeroing and allocated ranges.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { smallPiece } from '../../../extent/content/small.ts'
import { ADDRESS, exampleShare, refusalOf, type ExampleShare } from '../open/open-example.ts'
import { CACHE_READ, type FileOpen } from '../open/open.ts'
import { snapshotShare } from '../share/share-snapshot.ts'
import { shareUsageBytes } from '../share/share.ts'
import { copyChunks, type Chunk } from './smb-copy.ts'
import { addLocks } from '../open/smb-lock.ts'
import { checkWriteOpened, readOpened, writeOpened, type SmbWrite } from './smb-range.ts'
import { FILE_BYTES_MAX } from './range.ts'
import { allocatedRanges, zeroOpened } from './smb-zero.ts'

function write(
  { kv, newId, moment }: ExampleShare,
  open: FileOpen,
  offset: number | 'end',
  text: string,
  frozen: SmbWrite['frozen'] = {},
) {
  const bytes = Buffer.from(text)
  const pieces = [smallPiece(newId(), bytes)]
  const by = { moment: moment(), newId: newId() }
  const part = { offset, lengthBytes: bytes.length, frozen }
  return kv.write((tx) => writeOpened(tx, { address: ADDRESS, open }, part, pieces, by))
}

async function read({ kv }: ExampleShare, open: FileOpen, offset = 0, lengthBytes = 100) {
  const at = { address: ADDRESS, open }
  const found = await kv.read((tx) => readOpened(tx, at, { offset, lengthBytes }))
  if (found === undefined) return undefined
  assert('bytes' in found, 'a short range is read at once')
  return Buffer.from(found.bytes).toString().replaceAll('\0', '.')
}

function lock({ kv }: ExampleShare, open: FileOpen, offset: bigint, length: bigint) {
  return kv.write((tx) => addLocks(tx, open, [{ offset, length, isExclusive: true }]))
}

describe('reading and writing', () => {
  test('a write beyond the end extends the file with zeros', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file')
    await write(share, open, 0, 'abc')
    await write(share, open, 6, 'xyz')
    assert.equal(await read(share, open), 'abc...xyz')
    await write(share, open, 'end', '!')
    await write(share, open, 1, 'B')
    assert.equal(await read(share, open), 'aBc...xyz!')
    assert.equal(await share.kv.read((tx) => shareUsageBytes(tx, 1)), 10)
  })

  test('a read ends at the end of the file; an empty read always succeeds', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file')
    await write(share, open, 0, 'abc')
    assert.equal(await read(share, open, 2, 10), 'c')
    assert.equal(await read(share, open, 3, 1), undefined)
    assert.equal(await read(share, open, 1_000, 0), '')
  })

  test('a read of a snapshot returns the old bytes', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file')
    await write(share, open, 0, 'before')
    const { snapshot } = await share.kv.write((tx) =>
      snapshotShare(tx, ADDRESS, undefined, share.moment()),
    )
    await write(share, open, 0, 'AFTER.')
    assert.equal(await read(share, { ...open, snapshot }), 'before')
    assert.equal(await read(share, open), 'AFTER.')
  })

  test('reads and writes of bytes locked by another client are refused', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file')
    const { open: other } = await share.open('file')
    await write(share, open, 0, 'abcdef')
    await lock(share, open, 2n, 2n)
    assert.equal(await refusalOf(write(share, other, 1, 'xx')), 'FileLockConflict')
    assert.equal(await refusalOf(read(share, other, 3, 1)), 'FileLockConflict')
    assert.equal(await refusalOf(write(share, open, 1, 'BC')), 'done')
    assert.equal(await read(share, other, 0, 2), 'aB')
    assert.equal(await read(share, other, 3, 0), '', 'an empty read of locked bytes')
  })

  // prettier-ignore
  const ENDS: readonly (readonly [offset: number, lengthBytes: number, outcome: string])[] = [
    [FILE_BYTES_MAX - 1, 1, 'done'],
    [FILE_BYTES_MAX - 1, 2, 'ShareSizeLimitReached'],
    [FILE_BYTES_MAX, 1, 'ShareSizeLimitReached'],
  ]
  for (const [offset, lengthBytes, outcome] of ENDS) {
    test(`${lengthBytes} bytes at ${offset}: ${outcome}`, async () => {
      const share = await exampleShare()
      const { open } = await share.open('file')
      const part = { offset, lengthBytes, frozen: {} }
      const check = share.kv.read((tx) => checkWriteOpened(tx, { address: ADDRESS, open }, part))
      assert.equal(await refusalOf(check), outcome)
    })
  }

  // prettier-ignore
  const TIMES = [
    [{},                  true,  true],
    [{ lastWrite: true }, false, true],
    [{ change: true },    true,  false],
    [{ lastWrite: true, change: true }, false, false],
  ] as const
  for (const [frozen, updatesLastWrite, updatesChange] of TIMES) {
    test(`a write does not update frozen times: ${Object.keys(frozen).join(', ') || 'none'}`, async () => {
      const share = await exampleShare()
      const { open } = await share.open('file')
      const { before, after } = await write(share, open, 0, 'a', frozen)
      assert.equal(after.lastWriteTime !== before.lastWriteTime, updatesLastWrite)
      assert.equal(after.changeTime !== before.changeTime, updatesChange)
    })
  }
})

function copy(share: ExampleShare, source: FileOpen, target: FileOpen, ...chunks: Chunk[]) {
  const by = { moment: share.moment(), newId: share.newId() }
  const at = {
    source: { address: ADDRESS, open: source },
    target: { address: ADDRESS, open: target },
  }
  return share.kv.write((tx) => copyChunks(tx, { ...at, chunks, frozen: {} }, by))
}

function chunk(sourceOffset: number, targetOffset: number, lengthBytes: number): Chunk {
  return { sourceOffset, targetOffset, lengthBytes }
}

describe('a server-side copy', () => {
  test('copies the bytes and holes of the source', async () => {
    const share = await exampleShare()
    const { open: source } = await share.open('source')
    const { open: target } = await share.open('target')
    await write(share, source, 0, 'abc')
    await write(share, source, 5, 'fgh')
    await write(share, target, 0, '123456789')
    const copied = await copy(share, source, target, chunk(1, 2, 6), chunk(7, 8, 1))
    assert.deepEqual(copied, { chunkCount: 2, totalBytes: 7, failure: undefined })
    assert.equal(await read(share, target), '12bc..fgh')
    await write(share, source, 0, 'XXXXXXXX')
    assert.equal(await read(share, target), '12bc..fgh', 'the copy does not follow the source')
  })

  test('within one file reads a chunk before it writes it', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file')
    await write(share, open, 0, 'abcdefghij')
    await copy(share, open, open, chunk(0, 4, 6))
    assert.equal(await read(share, open), 'abcdabcdef')
  })

  test('ends at a chunk that is not inside the source; earlier chunks stay', async () => {
    const share = await exampleShare()
    const { open: source } = await share.open('source')
    const { open: target } = await share.open('target')
    await write(share, source, 0, 'abcd')
    const copied = await copy(share, source, target, chunk(0, 0, 2), chunk(2, 2, 3))
    assert.deepEqual(copied, { chunkCount: 1, totalBytes: 2, failure: 'source' })
    assert.equal(await read(share, target), 'ab')
  })

  for (const locked of ['source', 'target']) {
    test(`is refused if another client has locked the ${locked}`, async () => {
      const share = await exampleShare()
      const { open: source } = await share.open('source')
      const { open: target } = await share.open('target')
      await write(share, source, 0, 'abcd')
      await lock(share, (await share.open(locked)).open, 0n, 4n)
      const { chunkCount, failure } = await copy(share, source, target, chunk(0, 0, 4))
      assert.equal(chunkCount, 0)
      assert(failure !== undefined && failure !== 'source')
      assert.equal(failure.code, 'FileLockConflict')
    })
  }
})

describe('zeroing', () => {
  test('frees whole blocks and ignores bytes beyond the end', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file')
    await write(share, open, 0, 'x'.repeat(2_048))
    const at = { address: ADDRESS, open }
    const zero = (from: number, to: number) => {
      const by = { moment: share.moment(), newId: share.newId(), zerosId: share.newId() }
      return share.kv.write((tx) => zeroOpened(tx, at, { range: { from, to }, frozen: {} }, by))
    }
    const ranges = (from: number, to: number) =>
      share.kv.read((tx) => allocatedRanges(tx, at, { from, to }, 10))
    await zero(500, 1_024)
    assert.equal(await read(share, open, 499, 3), 'x..')
    assert.equal(await read(share, open, 1_023, 2), '.x')
    const parts = await ranges(0, Infinity)
    assert.deepEqual(
      parts.map(({ from, to }) => [from, to]),
      [
        [0, 512],
        [1_024, 2_048],
      ],
    )
    await zero(2_000, 10_000)
    assert.equal(await read(share, open, 2_047, 10), '.')
    assert.deepEqual(await ranges(2_048, 5_000), [])
  })
})

describe('caches of other clients do not go stale', () => {
  const by = (share: ExampleShare) => {
    return { moment: share.moment(), newId: share.newId(), zerosId: share.newId() }
  }
  const range = { from: 0, to: 1 }
  const CHANGES: Readonly<
    Record<string, (share: ExampleShare, open: FileOpen) => Promise<unknown>>
  > = {
    'a write': (share, open) => write(share, open, 0, 'x'),
    'a lock': (share, open) => lock(share, open, 0n, 1n),
    'a copy': (share, open) => copy(share, open, open, chunk(0, 1, 1)),
    zeroing: (share, open) => {
      const at = { address: ADDRESS, open }
      return share.kv.write((tx) => zeroOpened(tx, at, { range, frozen: {} }, by(share)))
    },
  }
  for (const [what, change] of Object.entries(CHANGES)) {
    test(`${what} breaks the leases of others, but not its own`, async () => {
      const share = await exampleShare()
      const lease = (holder: string) => ({ holder, kind: 'lease', state: CACHE_READ }) as const
      const { open } = await share.open('file', { cache: lease('own') })
      await write(share, open, 0, 'abc')
      await share.open('file', { cache: lease('other') })
      await share.open('file', { cache: lease('third') })
      share.events.length = 0
      await change(share, open)
      const broken = share.events.flatMap((event) =>
        event.kind === 'break' ? [`${event.holder} to ${event.to}`] : [],
      )
      assert.deepEqual(broken, ['other to 0', 'third to 0'])
    })
  }
})
