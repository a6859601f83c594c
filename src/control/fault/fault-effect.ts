// What each effect of a fault does to a request that it strikes, and at which point.
import { DiskFull } from '../../kv/engine/disk-space.ts'
import { StorageError } from '../../storage/shared/error.ts'
import type { FaultEffect } from '../api.ts'
import { durationMs } from '../rule/duration.ts'
import type { StatusEffect } from './fault-rule.ts'
import { Pace } from './pace.ts'
import { ConnectionReset, type Harm, type Passing, type Point } from '../point.ts'
import type { After } from '../rule/timer.ts'

export type StrikeSettings = {
  /** The server's clock. */
  readonly clock: () => number
  /** The machine's clock, as `after`. */
  readonly nowMs: () => number
  readonly after: After
}

export type Strike = {
  /** `authorized`: nothing has happened; `checked`: everything has, except that it is stored. */
  readonly at: Extract<Point, 'authorized' | 'checked'>
  /** False: it can do nothing to commands of SMB. */
  readonly isForSmb: boolean
  /** Whether it strikes a request that the rule has chosen. */
  isDue(): boolean
  run(request: Passing, chance: () => number): Promise<void> | undefined
  /** The fault is removed: what it delays goes on. */
  end(): void
}

const ALWAYS = {
  at: 'authorized',
  isForSmb: true,
  isDue: () => true,
  end: () => undefined,
} as const

export function strikeOf(effect: FaultEffect, settings: StrikeSettings): Strike {
  if ('status' in effect) return failing('authorized', () => statusError(effect))
  if ('delay' in effect) return delaying(effect, settings)
  if ('reset' in effect) {
    if (effect.reset === 'before') return failing('authorized', () => new ConnectionReset())
    return harming({ isAnswerLost: true })
  }
  if ('truncate' in effect) {
    return { ...harming({ truncateBytes: effect.truncate }), isForSmb: false }
  }
  if ('bytesPerSecond' in effect) {
    const pace = new Pace({ ...settings, bytesPerSecond: effect.bytesPerSecond })
    return { ...harming({ pace }), end: () => pace.end() }
  }
  if ('requestsPerSecond' in effect) return throttling(effect.requestsPerSecond, settings)
  return failing('checked', effect.disk === 'full' ? diskFull : syncFailure)
}

function failing(at: Strike['at'], error: () => Error): Strike {
  return { ...ALWAYS, at, run: () => Promise.reject(error()) }
}

function statusError({ status, code = 'InternalError', retryAfterSeconds }: StatusEffect): Error {
  const retry = retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) }
  return new StorageError(code, retry, undefined, status)
}

/** The same as a commit on a full disk; a write to an extent fails with the same code. */
function diskFull(): Error {
  return new DiskFull('the disk is full')
}

/** The same as Node's for a disk that fails. */
function syncFailure(): Error {
  const details = { code: 'EIO', syscall: 'fdatasync' }
  return Object.assign(new Error('EIO: i/o error, fdatasync'), details)
}

function harming(harm: Harm): Strike {
  return {
    ...ALWAYS,
    run: (request) => {
      Object.assign(request.harm, harm)
      return undefined
    },
  }
}

function delaying(
  { delay }: Extract<FaultEffect, { delay: unknown }>,
  { after }: StrikeSettings,
): Strike {
  const { from, to } = typeof delay === 'object' ? delay : { from: delay, to: delay }
  const [fromMs, toMs] = [durationMs(from, 'from'), durationMs(to, 'to')]
  const waiting = new Set<() => void>()
  return {
    ...ALWAYS,
    run: (request, chance) =>
      new Promise((resolve) => {
        const end = (): void => {
          cancel()
          waiting.delete(end)
          resolve()
        }
        const cancel = after(fromMs + chance() * (toMs - fromMs), end)
        waiting.add(end)
        request.whenGone(end)
      }),
    end: () => {
      for (const end of waiting) end()
    },
  }
}

const SECOND_MS = 1_000

/** Strikes those that exceed the count, in seconds of the server's clock. */
function throttling(countMax: number, { clock }: StrikeSettings): Strike {
  let startedMs = -Infinity
  let count = 0
  const busy: StatusEffect = { status: 503, code: 'ServerBusy', retryAfterSeconds: 1 }
  return {
    ...failing('authorized', () => statusError(busy)),
    isDue: () => {
      const now = clock()
      // A clock may be set back.
      if (now < startedMs || now >= startedMs + SECOND_MS) {
        startedMs = now
        count = 0
      }
      count += 1
      return count > countMax
    },
  }
}
