import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blockIdBytes, canonicalBlockId } from './block-id.ts'

// prettier-ignore
const IDS: readonly (readonly [text: string, id: string | undefined, lengthBytes?: number])[] = [
  ['AAAA', 'AAAA', 3],
  ['AAAAAA==', 'AAAAAA==', 4],
  ['AAAAAAA=', 'AAAAAAA=', 5],
  ['+/+/', '+/+/', 3],
  // The unused bits of the last character are ignored.
  ['QQ==', 'QQ==', 1],
  ['QR==', 'QQ==', 1],
  ['QUJ=', 'QUI=', 2],
  ['', undefined],
  ['A', undefined],
  ['AAA', undefined],
  ['AAAAA', undefined],
  ['AA=A', undefined],
  ['====', undefined],
  ['AAA-', undefined],
  ['AA A', undefined],
  ['AAAA\n', undefined],
]

for (const [text, id, lengthBytes] of IDS) {
  test(`${JSON.stringify(text)} → ${id ?? 'no block id'}`, () => {
    assert.equal(canonicalBlockId(text), id)
    if (id !== undefined) assert.equal(blockIdBytes(id), lengthBytes)
  })
}
