import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBytes } from '../../../test/assert-bytes.ts'
import fc from 'fast-check'
import {
  alignedMemory,
  alignUp,
  DIRECT_ALIGNMENT,
  DIRECT_BLOCK_BYTES,
  DirectRegion,
} from './direct.ts'
import { patternBytes } from '../harness.ts'

const newBlock = () => new Uint8Array(alignedMemory(DIRECT_BLOCK_BYTES))

test('chunks of any length are written as whole blocks, padded with zeros', async () => {
  const lengths = fc.array(fc.integer({ min: 0, max: 3 * DIRECT_ALIGNMENT }), { maxLength: 20 })
  const gathered = fc.integer({ min: 1, max: 4 })
  await fc.assert(
    fc.asyncProperty(lengths, gathered, async (chunkBytes, gatherCount) => {
      const chunks = chunkBytes.map((length, seed) => patternBytes(seed, length))
      const body = Buffer.concat(chunks)
      const file = Buffer.alloc(alignUp(body.length) + DIRECT_ALIGNMENT, 0xff)
      const block = newBlock()
      const region = new DirectRegion(DIRECT_ALIGNMENT, body.length, async (fill, position) => {
        block.fill(0xee)
        const length = fill(block)
        assert.deepEqual([length % DIRECT_ALIGNMENT, position % DIRECT_ALIGNMENT], [0, 0])
        file.set(block.subarray(0, length), position)
      })
      for (let at = 0; at < chunks.length; at += gatherCount) {
        await region.write(chunks.slice(at, at + gatherCount))
      }
      await region.finish()
      const padding = Buffer.alloc(alignUp(body.length) - body.length)
      assertBytes(file.subarray(DIRECT_ALIGNMENT), Buffer.concat([body, padding]))
    }),
  )
})

test('a write of more than a block is split into blocks', async () => {
  const body = patternBytes(1, 2_500_000)
  const file = Buffer.alloc(alignUp(body.length))
  const block = newBlock()
  const region = new DirectRegion(0, body.length, async (fill, position) => {
    file.set(block.subarray(0, fill(block)), position)
  })
  await region.write([body])
  await region.finish()
  assert.ok(file.subarray(0, body.length).equals(body))
})
