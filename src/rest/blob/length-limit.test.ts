import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkLength, lengthBytesMax, PUT_BLOB_LIMITS, PUT_BLOCK_LIMITS } from './length-limit.ts'

const MIB = 1024 * 1024

// prettier-ignore
const LIMITS: readonly (readonly [version: string, blobMib: number, blockMib: number])[] = [
  ['2009-09-19', 64, 4],
  ['2015-12-11', 64, 4],
  ['2016-05-31', 256, 100],
  ['2019-10-10', 256, 100],
  ['2019-12-12', 5_000, 4_000],
  ['2026-10-06', 5_000, 4_000],
]

for (const [version, blobMib, blockMib] of LIMITS) {
  test(`${version} allows a blob of ${blobMib} MiB and a block of ${blockMib} MiB`, () => {
    assert.equal(lengthBytesMax(PUT_BLOB_LIMITS, version), blobMib * MIB)
    assert.equal(lengthBytesMax(PUT_BLOCK_LIMITS, version), blockMib * MIB)
    checkLength(PUT_BLOCK_LIMITS, version, blockMib * MIB)
    assert.throws(() => checkLength(PUT_BLOCK_LIMITS, version, blockMib * MIB + 1), {
      code: 'RequestBodyTooLarge',
      details: { MaxLimit: String(blockMib * MIB) },
    })
  })
}
