import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  EXAMPLE_ADDRESS,
  EXAMPLE_MOMENT,
  found,
  made,
  openExampleShare,
} from '../../storage/file/example.ts'
import { resizeFile } from '../../storage/file/tree/file-properties.ts'
import { volumeFactsOf, volumeSerialNumber } from './volume.ts'

const GIB = 2 ** 30

test('a share as a volume: its quota, and what its files leave of it', async () => {
  const kv = await openExampleShare()
  await kv.write(function* (tx) {
    yield* made(tx, 'f', 'file', 5)
    const resize = { lengthBytes: 4_096, newId: 6 }
    yield* resizeFile(tx, yield* found(tx, 'f'), resize, EXAMPLE_MOMENT)
  })
  const facts = await kv.read((tx) => volumeFactsOf(tx, EXAMPLE_ADDRESS))
  assert.deepEqual(
    [facts.label, facts.totalBytes, facts.availableBytes, facts.serialNumber],
    ['s', GIB, GIB - 4_096, volumeSerialNumber(1)],
  )
})

test('shares have serial numbers of 32 bits, each its own', () => {
  const numbers = Array.from({ length: 1_000 }, (_, id) => volumeSerialNumber(id + 1))
  assert.equal(new Set(numbers).size, numbers.length)
  assert.ok(numbers.every((number) => number > 0 && number <= 0xffff_ffff))
})
