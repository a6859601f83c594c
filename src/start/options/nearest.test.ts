import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearestName } from './nearest.ts'

const NAMES = ['blobHost', 'blobPort', 'queuePort', 'location', 'clock', 'log']

for (const [given, meant] of [
  ['blobprot', 'blobPort'],
  ['blob-port', 'blobPort'],
  ['BLOB_PORT', 'blobPort'],
  ['bloPort', 'blobPort'],
  ['blobPosrt', 'blobPort'],
  ['locaton', 'location'],
  ['blobHort', 'blobHost'],
  ['clocks', 'clock'],
  ['lug', 'log'],
  ['pug', undefined],
  ['port', undefined],
  ['', undefined],
  ['x'.repeat(1_000_000), undefined],
] as const) {
  test(`${given.slice(0, 12)} is ${meant ?? 'near no name'}`, () => {
    assert.equal(nearestName(given, NAMES), meant)
  })
}
