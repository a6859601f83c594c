import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  EXAMPLE_ADDRESS,
  EXAMPLE_MOMENT,
  requireExampleNode,
  createExampleNode,
  openExampleShare,
  resizeFile,
} from '../../storage/file/example.ts'
import { volumeFactsOf, volumeSerialNumber } from './volume.ts'

const GIB = 2 ** 30

test('a volume has the quota of its share as its size, and what its files leave as free space', async () => {
  const kv = await openExampleShare()
  await kv.write(function* (tx) {
    yield* createExampleNode(tx, 'f', 'file', 5)
    const resize = { lengthBytes: 4_096, newId: 6 }
    yield* resizeFile(tx, yield* requireExampleNode(tx, 'f'), resize, EXAMPLE_MOMENT)
  })
  const facts = await kv.read((tx) => volumeFactsOf(tx, EXAMPLE_ADDRESS))
  assert.deepEqual(
    [facts.label, facts.totalBytes, facts.availableBytes, facts.serialNumber],
    ['s', GIB, GIB - 4_096, volumeSerialNumber(1)],
  )
})

test('every share has its own serial number of 32 bits', () => {
  const numbers = Array.from({ length: 1_000 }, (_, id) => volumeSerialNumber(id + 1))
  assert.equal(new Set(numbers).size, numbers.length)
  assert.ok(numbers.every((number) => number > 0 && number <= 0xffff_ffff))
})
