import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeFiletime, encodeFiletime } from './filetime.ts'
import { decodeSnapshotLabel, encodeSnapshotLabel } from './snapshot-label.ts'

for (const [filetime, ms, ticks] of [
  [0n, -11_644_473_600_000, 0],
  [116_444_736_000_000_000n, 0, 0],
  [116_444_735_999_999_999n, -1, 9999],
  [133_476_191_999_876_543n, Date.UTC(2023, 11, 21, 7, 59, 59, 987), 6543],
] as const) {
  test(`${filetime} ↔ ${ms} ms and ${ticks} ticks`, () => {
    assert.deepEqual(decodeFiletime(filetime), { ms, ticks })
    assert.equal(encodeFiletime(ms, ticks), filetime)
  })
}

test('a snapshot label has whole seconds in UTC', () => {
  const ms = Date.UTC(2024, 0, 31, 23, 59, 58)
  assert.equal(encodeSnapshotLabel(ms + 999), '@GMT-2024.01.31-23.59.58')
  assert.equal(decodeSnapshotLabel('@GMT-2024.01.31-23.59.58'), ms)
})

for (const label of ['', '@GMT-', '@GMT-2024.04.31-00.00.00', '@GMT-2024.01.31-24.00.00', 'x']) {
  test(`"${label}" is not a snapshot label`, () =>
    assert.equal(decodeSnapshotLabel(label), undefined))
}
