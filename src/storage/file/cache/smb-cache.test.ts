// Oplocks and leases of several opens of a file: which ones an open breaks, and what it is granted.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CACHE_HANDLE, CACHE_READ, CACHE_WRITE, type CacheHolder } from '../open/open.ts'
import { breaksForOpen, grantedState, grantLease, type OpenForCache } from './smb-cache.ts'

const LETTERS = { R: CACHE_READ, H: CACHE_HANDLE, W: CACHE_WRITE } as const

function stateOf(text: string): number {
  const letters = Object.entries(LETTERS)
  return letters.reduce((all, [letter, bit]) => all | (text.includes(letter) ? bit : 0), 0)
}

function textOf(state: number): string {
  const letters = Object.entries(LETTERS)
  return letters.map(([letter, bit]) => ((state & bit) === 0 ? '' : letter)).join('') || '-'
}

/** "lease RH", "oplock RWH" */
function holderOf(text: string, holder = 'other'): CacheHolder {
  const [kind, state = ''] = text.split(' ')
  return { holder, kind: kind === 'lease' ? 'lease' : 'oplock', state: stateOf(state) }
}

const READ_DATA = 0x1
const READ_ATTRIBUTES = 0x80
const READ_CONTROL = 0x2_0000
const OPEN: OpenForCache = {
  access: READ_DATA,
  hasSharingViolation: false,
  willOverwrite: false,
  deletesOnClose: false,
  holder: 'own',
  isFirst: true,
}

describe('an open breaks', () => {
  // prettier-ignore
  const TABLE: readonly (readonly [held: string, how: string, change: Partial<OpenForCache>, becomes: string])[] = [
    ['oplock RWH', 'to read',              {},                                          'to RH, waits'],
    ['lease RWH',  'to read',              {},                                          'to RH, waits'],
    ['lease RH',   'to read',              {},                                          'nothing'],
    ['oplock R',   'to read',              {},                                          'nothing'],
    ['lease RWH',  'a sharing violation',  { hasSharingViolation: true },               'to RW, waits'],
    ['lease RH',   'a sharing violation',  { hasSharingViolation: true },               'to R, waits'],
    ['oplock RW',  'a sharing violation',  { hasSharingViolation: true },               'nothing'],
    ['lease RWH',  'to overwrite',         { willOverwrite: true },                     'to -, waits'],
    ['lease RH',   'to overwrite',         { willOverwrite: true },                     'to -'],
    ['oplock R',   'to overwrite',         { willOverwrite: true },                     'to -'],
    ['lease RH',   'to delete it',         { deletesOnClose: true },                    'to R, waits'],
    ['oplock RWH', 'for its attributes',   { access: READ_ATTRIBUTES },                 'nothing'],
    ['oplock RWH', 'for its descriptor',   { access: READ_CONTROL },                    'to RH, waits'],
    ['lease RWH',  'for its descriptor',   { access: READ_CONTROL },                    'nothing'],
    ['lease RWH',  'under the same lease', { holder: 'other' },                         'nothing'],
  ]
  for (const [held, how, change, becomes] of TABLE) {
    test(`${held}, ${how}: ${becomes}`, () => {
      const { breaks, mustWait } = breaksForOpen([holderOf(held)], { ...OPEN, ...change })
      const broken = breaks.map(({ to }) => `to ${textOf(to)}`).join() || 'nothing'
      assert.equal(`${broken}${mustWait ? ', waits' : ''}`, becomes)
    })
  }

  test('nothing more of a lease that is breaking, but waits for it', () => {
    const lease = { ...holderOf('lease RH'), breakingTo: 0 }
    assert.deepEqual(breaksForOpen([lease], OPEN), { breaks: [], mustWait: true })
  })
})

describe('an open is granted', () => {
  // prettier-ignore
  const TABLE: readonly (readonly [requested: string, beside: string, granted: string])[] = [
    ['oplock RWH', 'nobody',                 'RHW'],
    ['oplock RW',  'nobody',                 'RW'],
    ['oplock R',   'nobody',                 'R'],
    ['oplock RWH', 'an open without caches', 'R'],
    ['oplock RWH', 'a stat open',            'RHW'],
    ['oplock RWH', 'oplock R',               'R'],
    ['oplock RWH', 'lease R',                'R'],
    ['oplock RWH', 'lease RH',               '-'],
    ['oplock RW',  'oplock RW',              '-'],
    ['lease RWH',  'nobody',                 'RHW'],
    ['lease RWH',  'lease RH',               'RH'],
    ['lease RWH',  'oplock R',               'R'],
    ['lease RWH',  'an open without caches', 'R'],
    ['lease RWH',  'a stat open',            'RHW'],
    ['lease RWH',  'locks',                  '-'],
    ['lease WH',   'nobody',                 '-'],
    ['lease H',    'nobody',                 '-'],
  ]
  for (const [requested, beside, granted] of TABLE) {
    test(`${granted} of ${requested} beside ${beside}`, () => {
      const isHeld = beside.startsWith('lease') || beside.startsWith('oplock')
      const access = beside === 'a stat open' ? READ_ATTRIBUTES : READ_DATA
      const isAlone = beside === 'nobody' || beside === 'locks'
      const state = grantedState(holderOf(requested, 'own'), {
        opens: isAlone ? [] : [{ access, ...(isHeld && { holder: 'other' }) }],
        holders: isHeld ? [holderOf(beside)] : [],
        hasLocks: beside === 'locks',
      })
      assert.equal(textOf(state), granted)
    })
  }
})

describe('an existing lease', () => {
  // prettier-ignore
  const TABLE: readonly (readonly [held: string, requested: string, granted: string, becomes: string])[] = [
    ['R',  'RH',  'RH',  'RH #8'],
    ['RH', 'RWH', 'RWH', 'RHW #8'],
    // Only part of the request could be granted.
    ['R',  'RWH', 'RH',  'R #7'],
    // The request is for less, or for something else.
    ['RH', 'R',   'R',   'RH #7'],
    ['RH', 'RW',  'RW',  'RH #7'],
    ['RH', 'RH',  'RH',  'RH #7'],
    ['',   'R',   'R',   'R #8'],
  ]
  for (const [held, requested, granted, becomes] of TABLE) {
    test(`of ${held || '-'}, requested ${requested} with ${granted} available: ${becomes}`, () => {
      const current = { ...holderOf(`lease ${held}`), epoch: 7 }
      const lease = grantLease(current, holderOf(`lease ${requested}`), stateOf(granted))
      assert.equal(`${textOf(lease.state)} #${lease.epoch}`, becomes)
    })
  }

  test('is not upgraded while it is breaking', () => {
    const current = { ...holderOf('lease RH'), breakingTo: CACHE_READ, epoch: 7 }
    assert.equal(grantLease(current, holderOf('lease RWH'), stateOf('RWH')), current)
  })
})
