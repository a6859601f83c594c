// Share modes: which opens of a file are compatible.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isSharingViolation } from './share-mode.ts'

const ACCESS = { none: 0x0012_0180, R: 0x1, X: 0x20, W: 0x2, A: 0x4, D: 0x1_0000 } as const
const SHARE = { none: 0, R: 1, W: 2, D: 4, RW: 3, RD: 5, WD: 6, RWD: 7 } as const

describe('an open beside another', () => {
  // prettier-ignore
  const ROWS: readonly (readonly [access: keyof typeof ACCESS, share: keyof typeof SHARE, otherAccess: keyof typeof ACCESS, otherShare: keyof typeof SHARE, violates: boolean])[] = [
    ['R',    'RWD',  'R',    'RWD',  false],
    ['R',    'RWD',  'R',    'none', true],
    ['R',    'none', 'R',    'RWD',  true],
    ['W',    'R',    'R',    'RW',   false],
    ['W',    'W',    'R',    'RW',   true],
    ['W',    'RWD',  'R',    'RD',   true],
    ['A',    'RWD',  'R',    'RD',   true],
    ['X',    'RWD',  'R',    'WD',   true],
    ['D',    'RWD',  'R',    'RW',   true],
    ['D',    'R',    'R',    'D',    false],
    ['R',    'RW',   'D',    'RWD',  true],
    ['R',    'D',    'D',    'R',    false],
    ['none', 'none', 'W',    'none', false],
    ['W',    'none', 'none', 'none', false],
  ]
  for (const [access, share, otherAccess, otherShare, violates] of ROWS) {
    const name = `${access} sharing ${share} beside ${otherAccess} sharing ${otherShare}`
    test(`${name}: ${violates ? 'refused' : 'granted'}`, () => {
      const other = { access: ACCESS[otherAccess], shareAccess: SHARE[otherShare] }
      const mine = { access: ACCESS[access], shareAccess: SHARE[share] }
      assert.equal(isSharingViolation([other], mine), violates)
    })
  }

  test('is granted if there is no other', () => {
    assert.equal(isSharingViolation([], { access: ACCESS.W, shareAccess: SHARE.none }), false)
  })
})
