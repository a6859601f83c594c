// Breaks and acknowledgements, state by state: R caches reads, W writes, H the handle.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { afterAcknowledgement, breakTo } from './cache-break.ts'
import { CACHE_HANDLE, CACHE_READ, CACHE_WRITE, type CacheHolder } from '../open/open.ts'

const LETTERS = { R: CACHE_READ, H: CACHE_HANDLE, W: CACHE_WRITE } as const

function stateOf(text: string): number {
  const letters = Object.entries(LETTERS)
  return letters.reduce((all, [letter, bit]) => all | (text.includes(letter) ? bit : 0), 0)
}

function textOf(state: number): string {
  const letters = Object.entries(LETTERS)
  return letters.map(([letter, bit]) => ((state & bit) === 0 ? '' : letter)).join('') || '-'
}

function holderOf(kind: CacheHolder['kind'], state: string, breaking?: readonly string[]) {
  const [to, required] = breaking ?? []
  return {
    holder: 'one',
    kind,
    state: stateOf(state),
    epoch: 4,
    ...(to !== undefined && { breakingTo: stateOf(to) }),
    ...(required !== undefined && { breakingToRequired: stateOf(required) }),
  }
}

function textOfChange({ holder, notification }: NonNullable<ReturnType<typeof breakTo>>): string {
  const { state, breakingTo, breakingToRequired, epoch } = holder
  const notified =
    notification && `notified ${textOf(notification.from)}→${textOf(notification.to)}`
  const breaking = breakingTo !== undefined && `breaking to ${textOf(breakingTo)}`
  const later = breakingToRequired !== undefined && `then ${textOf(breakingToRequired)}`
  return [textOf(state), notified, breaking, later, `#${epoch}`].filter(Boolean).join(', ')
}

describe('a holder is broken to', () => {
  // prettier-ignore
  const TABLE: readonly (readonly [CacheHolder['kind'], held: string, breaking: readonly string[] | undefined, wanted: string, becomes: string])[] = [
    ['lease',  'RWH', undefined,     'RH', 'RHW, notified RHW→RH, breaking to RH, #5'],
    ['lease',  'RWH', undefined,     'R',  'RHW, notified RHW→R, breaking to R, #5'],
    ['lease',  'RH',  undefined,     '',   'RH, notified RH→-, breaking to -, #5'],
    // Losing read caching needs no acknowledgement.
    ['lease',  'R',   undefined,     '',   '-, notified R→-, #5'],
    ['oplock', 'R',   undefined,     '',   '-, notified R→-, #5'],
    // An oplock can't keep handle caching.
    ['oplock', 'RWH', undefined,     'RH', 'RHW, notified RHW→R, breaking to R, #5'],
    ['oplock', 'RW',  undefined,     '',   'RW, notified RW→-, breaking to -, #5'],
    // It already has no more than that.
    ['lease',  'RH',  undefined,     'RH', 'nothing'],
    ['lease',  '',    undefined,     '',   'nothing'],
    // One notification at a time.
    ['lease',  'RWH', ['RH'],        'RH', 'nothing'],
    ['lease',  'RWH', ['RH'],        '',   'RHW, breaking to RH, then -, #4'],
    ['lease',  'RWH', ['RH', 'R'],   'RH', 'nothing'],
    ['oplock', 'RWH', ['R'],         '',   'nothing'],
  ]
  for (const [kind, held, breaking, wanted, becomes] of TABLE) {
    const name = `${wanted || '-'}: ${kind} ${held || '-'} ${breaking ? `breaking to ${breaking.join(', ')}` : ''}`
    test(`${name} → ${becomes}`, () => {
      const change = breakTo(holderOf(kind, held, breaking), stateOf(wanted))
      assert.equal(change === undefined ? 'nothing' : textOfChange(change), becomes)
    })
  }
})

describe('a holder acknowledges', () => {
  // prettier-ignore
  const TABLE: readonly (readonly [held: string, breaking: readonly string[], keeps: string, becomes: string])[] = [
    ['RWH', ['RH'],      'RH', 'RH, #4'],
    ['RWH', ['RH'],      'R',  'R, #4'],
    ['RWH', ['RH'],      '',   '-, #4'],
    // A further break was requested in the meantime: it is sent in steps, the last one without an acknowledgement.
    ['RWH', ['RH', ''],  'RH', 'RH, notified RH→R, breaking to R, then -, #4'],
    ['RH',  ['R', ''],   'R',  '-, notified R→-, #4'],
    ['RWH', ['RH', 'R'], 'RH', 'RH, notified RH→R, breaking to R, then R, #4'],
    ['RWH', ['RH', ''],  '',   '-, #4'],
  ]
  for (const [held, breaking, keeps, becomes] of TABLE) {
    test(`${held} breaking to ${breaking.map((each) => each || '-').join(', then ')}: ${keeps || '-'} → ${becomes}`, () => {
      assert.equal(
        textOfChange(afterAcknowledgement(holderOf('lease', held, breaking), stateOf(keeps))),
        becomes,
      )
    })
  }
})
