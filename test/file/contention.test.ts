// Many clients use one file at once: a reader sees every Put Range completely or not at all, and downloads and copies
// are of one state.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../harness.ts'
import { fileFixtureOn } from './fixture.ts'

const KIB = 1024
/** The writers continue until the reader has read this often. */
const READS_MIN = 10
/** The reader continues until the writers have written this often. */
const WRITES_MIN = 10

const { share } = await fileFixtureOn(await startTestServer({ onDisk: true }))

const fileOf = (name: string) => share.rootDirectoryClient.getFileClient(name)

/** The value of all bytes in the range, which must be equal. */
function only(bytes: Buffer, from: number, to: number): number {
  const [first = 0] = bytes.subarray(from, to)
  assert(
    bytes.subarray(from, to).every((byte) => byte === first),
    `[${from}, ${to}) is torn`,
  )
  return first
}

/**
 * Odd values are written to the first three quarters, even values to the last three. The quarters that only one kind
 * writes must agree with the middle: a later write of the same kind would have overwritten the middle too.
 */
function checkOverlap(bytes: Buffer): void {
  const quarter = bytes.length / 4
  const left = only(bytes, 0, quarter)
  const middle = only(bytes, quarter, 3 * quarter)
  const right = only(bytes, 3 * quarter, bytes.length)
  assert.equal(middle % 2 === 1 ? left : right, middle)
}

// Small ranges are stored in the kv, large ones in extents.
for (const lengthBytes of [8 * KIB, 256 * KIB]) {
  test(`overlapping ranges in a file of ${lengthBytes} bytes are atomic`, async () => {
    const file = fileOf(`overlap-${lengthBytes}`)
    await file.create(lengthBytes)
    const [quarter, long] = [lengthBytes / 4, (lengthBytes / 4) * 3]
    const phase = { isWriting: true, reads: 0 }
    let last = 0
    const writer = async (isLow: boolean) => {
      for (let count = 0; count < 15 || phase.reads < READS_MIN; count += 1) {
        last += 2
        const value = (last + (isLow ? 1 : 0)) % 256
        await file.uploadRange(Buffer.alloc(long, value), isLow ? 0 : quarter, long)
      }
    }
    const reader = async () => {
      while (phase.isWriting) {
        checkOverlap(await file.downloadToBuffer())
        phase.reads += 1
      }
    }
    const readers = [reader(), reader(), reader()]
    await Promise.all([writer(true), writer(false), writer(true), writer(false)])
    phase.isWriting = false
    await Promise.all(readers)
    checkOverlap(await file.downloadToBuffer())
  })
}

test('a copy and a snapshot are of one state', async () => {
  const source = fileOf('source')
  await source.create(64 * KIB)
  const phase = { isWriting: true, writes: 0 }
  const writer = async (value: number) => {
    while (phase.isWriting) {
      await source.uploadRange(Buffer.alloc(64 * KIB, value), 0, 64 * KIB)
      phase.writes += 1
    }
  }
  const writers = [1, 2, 3].map(writer)
  for (let count = 0; count < 10 || phase.writes < WRITES_MIN; count += 1) {
    const copy = fileOf(`copy-${count}`)
    await copy.startCopyFromURL(source.url)
    const { snapshot = '' } = await share.createSnapshot()
    const past = share.withSnapshot(snapshot).rootDirectoryClient.getFileClient('source')
    const [first, again] = [await past.downloadToBuffer(), await past.downloadToBuffer()]
    only(first, 0, first.length)
    assert(first.equals(again))
    const copied = await copy.downloadToBuffer()
    only(copied, 0, copied.length)
  }
  phase.isWriting = false
  await Promise.all(writers)
})

test('no write to different places of one file is lost', async () => {
  const file = fileOf('places')
  const count = 64
  await file.create(count * KIB)
  const write = (n: number) => file.uploadRange(Buffer.alloc(KIB, n + 1), n * KIB, KIB)
  await Promise.all(Array.from({ length: count }, (_, n) => write(n)))
  const bytes = await file.downloadToBuffer()
  for (let n = 0; n < count; n += 1) assert.equal(only(bytes, n * KIB, (n + 1) * KIB), n + 1)
})
