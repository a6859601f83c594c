// Faults without a server: which requests they strike, and at which point.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../../storage/shared/error.ts'
import type { FaultRule } from '../api.ts'
import { Faults } from './fault.ts'
import { decodeFaultRule } from './fault-rule.ts'
import { FieldError } from '../field-error.ts'
import { manualTimers, passingRequest } from '../rule/harness.ts'
import { ConnectionReset, Points, POINTS, type Passing, type Point } from '../point.ts'

function world() {
  const points = new Points()
  const timers = manualTimers()
  let nowMs = 0
  const faults = new Faults({ ...timers, points, clock: () => nowMs })
  return { points, timers, faults, setClock: (ms: number) => void (nowMs = ms) }
}

/** The error that a request gets on its way through the points; undefined: none. */
async function errorOf(
  points: Points,
  request: Passing = passingRequest({}),
  at: readonly Point[] = ['authorized'],
): Promise<unknown> {
  try {
    for (const point of at) await points.reach(point, request)
    return undefined
  } catch (error) {
    return error
  }
}

const BUSY = { effect: { status: 503 } } as const

describe('an effect strikes', () => {
  const AT = [
    [{ status: 500 }, 'authorized', StorageError],
    [{ reset: 'before' }, 'authorized', ConnectionReset],
    [{ requestsPerSecond: 1 }, undefined, undefined],
    [{ reset: 'after' }, undefined, undefined],
    [{ disk: 'full' }, 'checked', Error],
    [{ disk: 'sync failure' }, 'checked', Error],
  ] as const
  for (const [effect, at, type] of AT) {
    test(`${JSON.stringify(effect)} at ${at ?? 'no point'}`, async () => {
      for (const point of POINTS) {
        const { points, faults } = world()
        faults.add({ effect })
        const error = await errorOf(points, passingRequest({ stores: true }), [point])
        if (point === at) assert(error instanceof type)
        else assert.equal(error, undefined)
      }
    })
  }

  test('with the code and status that the rule names', async () => {
    const { points, faults } = world()
    faults.add({ effect: { status: 408, code: 'ServerBusy', retryAfterSeconds: 3 } })
    const error = await errorOf(points)
    assert(error instanceof StorageError)
    assert.deepEqual([error.status, error.code], [408, 'ServerBusy'])
    assert.deepEqual(error.details, { 'Retry-After': '3' })
  })

  test('all at once, if several rules match', async () => {
    const { points, faults } = world()
    faults.add({ effect: { truncate: 3 } })
    faults.add({ effect: { reset: 'after' } })
    faults.add({ effect: { bytesPerSecond: 1_000 } })
    const request = passingRequest({})
    assert.equal(await errorOf(points, request), undefined)
    const { truncateBytes, isAnswerLost, pace } = request.harm
    assert.deepEqual([truncateBytes, isAnswerLost, pace?.sliceBytes], [3, true, 100])
  })

  test('in all transactions of a request alike, if it is the disk', async () => {
    const { points, faults } = world()
    const fault = faults.add({ effect: { disk: 'full' }, nth: 1 })
    const first = passingRequest({ stores: true })
    assert.match(String(await errorOf(points, first, ['checked'])), /the disk is full/)
    assert.match(String(await errorOf(points, first, ['checked'])), /the disk is full/)
    const second = passingRequest({ stores: true })
    assert.equal(await errorOf(points, second, ['checked', 'checked']), undefined)
    const { matchedCount, struckCount } = fault.state()
    assert.deepEqual([matchedCount, struckCount], [2, 1])
  })

  test('commands of SMB, except that there is no body to cut off', async () => {
    const { points, faults } = world()
    const [cut, slow] = [
      faults.add({ effect: { truncate: 5 } }),
      faults.add({ effect: { bytesPerSecond: 5 } }),
    ]
    await errorOf(points, passingRequest({ service: 'smb', operation: 'READ' }))
    assert.deepEqual([cut.state().matchedCount, slow.state().matchedCount], [0, 1])
  })

  test('not at the disk, if nothing is to be stored', async () => {
    const { points, faults } = world()
    const fault = faults.add({ effect: { disk: 'full' } })
    assert.equal(await errorOf(points, passingRequest({}), ['checked']), undefined)
    assert.equal(fault.state().matchedCount, 0)
  })
})

describe('a delay', () => {
  test('is drawn from its range, the same for the same seed', async () => {
    const delays = async (seed: number) => {
      const { points, faults, timers } = world()
      faults.add({ effect: { delay: { from: 10, to: 'PT0.02S' } }, seed })
      const found: number[] = []
      for (let count = 0; count < 10; count += 1) {
        const startedMs = timers.nowMs()
        const going = errorOf(points)
        await new Promise((resolve) => setImmediate(resolve))
        while (timers.count > 0) timers.advance(1)
        await going
        found.push(timers.nowMs() - startedMs)
      }
      return found
    }
    const first = await delays(1)
    assert(first.every((ms) => ms >= 10 && ms <= 20))
    assert(new Set(first).size > 1)
    assert.deepEqual(await delays(1), first)
    assert.notDeepEqual(await delays(2), first)
  })

  test('ends when the client has gone', async () => {
    const { points, faults, timers } = world()
    faults.add({ effect: { delay: 'PT1H' } })
    const request = passingRequest({})
    const going = errorOf(points, request)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(timers.count, 1)
    request.leave()
    assert.equal(await going, undefined)
    assert.equal(timers.count, 0)
  })
})

describe('bytes a second', () => {
  test('are shared by all requests that match', async () => {
    const { points, faults, timers } = world()
    const fault = faults.add({ effect: { bytesPerSecond: 1_000 } })
    const [one, other] = [passingRequest({}), passingRequest({})]
    await errorOf(points, one)
    await errorOf(points, other)
    const passed: string[] = []
    void one.harm.pace?.take(100).then(() => passed.push('one'))
    void other.harm.pace?.take(100).then(() => passed.push('other'))
    const stepMs = async (ms: number) => {
      timers.advance(ms)
      await new Promise((resolve) => setImmediate(resolve))
      return passed.join()
    }
    assert.equal(await stepMs(99), '')
    assert.equal(await stepMs(1), 'one')
    assert.equal(await stepMs(99), 'one')
    assert.equal(await stepMs(1), 'one,other')
    void one.harm.pace?.take(1_000_000).then(() => passed.push('rest'))
    fault.remove()
    assert.equal(await stepMs(0), 'one,other,rest')
    assert.equal(timers.count, 0)
  })
})

describe('requests a second', () => {
  test('are counted by the server’s clock, also when it is set back', async () => {
    const { points, faults, setClock } = world()
    const fault = faults.add({ effect: { requestsPerSecond: 1 } })
    const outcome = async () => ((await errorOf(points)) === undefined ? 'ok' : 'busy')
    assert.deepEqual([await outcome(), await outcome()], ['ok', 'busy'])
    setClock(1_000)
    assert.deepEqual([await outcome(), await outcome()], ['ok', 'busy'])
    setClock(500)
    assert.deepEqual([await outcome(), await outcome()], ['ok', 'busy'])
    assert.equal(fault.state().struckCount, 3)
  })
})

describe('which requests are struck', () => {
  const strikes = async (rule: Partial<FaultRule>, count = 200): Promise<readonly boolean[]> => {
    const { points, faults } = world()
    faults.add({ ...BUSY, ...rule })
    const found: boolean[] = []
    for (let at = 0; at < count; at += 1) found.push((await errorOf(points)) !== undefined)
    return found
  }

  test('with a probability, about so many', async () => {
    const found = await strikes({ probability: 0.25, seed: 42 })
    const struck = found.filter(Boolean).length
    assert(struck > 30 && struck < 70, `${struck} of 200`)
    assert.deepEqual(await strikes({ probability: 0.25, seed: 42 }), found)
  })

  test('never with probability 0, always with 1', async () => {
    assert(!(await strikes({ probability: 0 })).includes(true))
    assert(!(await strikes({ probability: 1 })).includes(false))
  })

  test('the same ones, whatever other requests come between', async () => {
    const { points, faults } = world()
    faults.add({ ...BUSY, match: { client: 'A' }, probability: 0.5, seed: 42 })
    const found: boolean[] = []
    for (let at = 0; at < 20; at += 1) {
      if (at % 3 === 0)
        assert.equal(await errorOf(points, passingRequest({ client: 'B' })), undefined)
      found.push((await errorOf(points)) !== undefined)
    }
    assert.deepEqual(found, await strikes({ probability: 0.5, seed: 42 }, 20))
  })

  test('a seed that was left out can be read and used again', async () => {
    const { points, faults } = world()
    const { seed } = faults.add({ ...BUSY, probability: 0.5 }).state()
    const found: boolean[] = []
    for (let at = 0; at < 20; at += 1) found.push((await errorOf(points)) !== undefined)
    assert.deepEqual(found, await strikes({ probability: 0.5, seed }, 20))
  })

  test('the n-th, and at most so many', async () => {
    assert.deepEqual(await strikes({ nth: 2 }, 4), [false, true, false, false])
    assert.deepEqual(await strikes({ times: 2 }, 4), [true, true, false, false])
    assert.deepEqual(await strikes({ nth: 3, times: 1 }, 4), [false, false, true, false])
  })
})

test('nothing listens at the points without a fault', () => {
  const { faults, points } = world()
  const [one, two] = [faults.add(BUSY), faults.add(BUSY)]
  assert.deepEqual(
    faults.list().map(({ id }) => id),
    [one.id, two.id],
  )
  assert.equal(faults.remove(one.id), true)
  assert.equal(faults.remove(one.id), false)
  assert.equal(points.isArmed, true)
  faults.clear()
  assert.equal(points.isArmed, false)
})

test('there can be a hundred faults', () => {
  const { faults } = world()
  for (let count = 0; count < 100; count += 1) faults.add(BUSY)
  assert.throws(
    () => faults.add(BUSY),
    /^FieldError: there are 100 faults already; remove others first$/,
  )
})

const RULES: readonly (readonly [unknown, string])[] = [
  [undefined, ''],
  ['503', ''],
  [{}, 'effect'],
  [{ effect: 503 }, 'effect'],
  [{ effect: {} }, 'effect'],
  [{ effect: { code: 'ServerBusy' } }, 'effect'],
  [{ effect: { status: 200 } }, 'effect.status'],
  [{ effect: { status: 600 } }, 'effect.status'],
  [{ effect: { status: '503' } }, 'effect.status'],
  [{ effect: { status: null } }, 'effect.status'],
  [{ effect: { status: 404 } }, 'effect.code'],
  [{ effect: { status: 404, code: 'NoSuchCode' } }, 'effect.code'],
  [{ effect: { status: 404, code: 'toString' } }, 'effect.code'],
  [{ effect: { status: 503, retryAfterSeconds: -1 } }, 'effect.retryAfterSeconds'],
  [{ effect: { status: 503, delay: 1 } }, 'effect.delay'],
  [{ effect: { delay: 1, code: 'ServerBusy' } }, 'effect.code'],
  [{ effect: { delay: 'soon' } }, 'effect.delay'],
  [{ effect: { delay: null } }, 'effect.delay'],
  [{ effect: { delay: { from: 1 } } }, 'effect.delay.to'],
  [{ effect: { delay: { from: 2, to: 1 } } }, 'effect.delay.to'],
  [{ effect: { delay: { from: 1, to: 2, mean: 1 } } }, 'effect.delay.mean'],
  [{ effect: { reset: true } }, 'effect.reset'],
  [{ effect: { truncate: -1 } }, 'effect.truncate'],
  [{ effect: { bytesPerSecond: 0 } }, 'effect.bytesPerSecond'],
  [{ effect: { requestsPerSecond: 1.5 } }, 'effect.requestsPerSecond'],
  [{ effect: { disk: 'empty' } }, 'effect.disk'],
  [{ effect: { latency: 5 } }, 'effect.latency'],
  [{ effect: { truncate: 5 }, match: { service: 'smb' } }, 'effect.truncate'],
  [{ ...BUSY, match: { method: 'PUT' } }, 'match.method'],
  [{ ...BUSY, probability: 1.1 }, 'probability'],
  [{ ...BUSY, probability: Number.NaN }, 'probability'],
  [{ ...BUSY, nth: 0 }, 'nth'],
  [{ ...BUSY, times: 1.5 }, 'times'],
  [{ ...BUSY, seed: -1 }, 'seed'],
  [{ ...BUSY, seed: 2 ** 32 }, 'seed'],
  [{ ...BUSY, probablity: 1 }, 'probablity'],
]

for (const [rule, field] of RULES) {
  test(`the rule ${JSON.stringify(rule)?.slice(0, 70)} is refused for its ${field || 'form'}`, () => {
    const { faults } = world()
    assert.throws(() => faults.add(rule as FaultRule), { name: 'FieldError', field })
    assert.deepEqual(faults.list(), [])
  })
}

test('any value is decoded or refused with a field', () => {
  const keys = fc.constantFrom(
    'match',
    'effect',
    'status',
    'delay',
    'from',
    'to',
    'path',
    'nth',
    'disk',
  )
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue(),
      fc.constantFrom('full', 'PT1S', 503, 1),
      fc.dictionary(keys, tie('tree'), { maxKeys: 3 }),
    ),
  }))
  fc.assert(
    fc.property(tree, (value) => {
      try {
        decodeFaultRule(value)
      } catch (error) {
        assert(error instanceof FieldError)
      }
    }),
  )
})
