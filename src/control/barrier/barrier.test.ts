// Barriers without a server: requests are plain objects, and the test decides when timers are due.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { BarrierRule } from '../api.ts'
import { Barriers } from './barrier.ts'
import { decodeBarrierRule } from './barrier-rule.ts'
import { Points, type Point } from '../point.ts'
import { manualTimers, passingRequest, type TestPassing } from '../rule/harness.ts'

function world(heldCountMax?: number) {
  const points = new Points()
  const timers = manualTimers()
  const limit = heldCountMax === undefined ? {} : { heldCountMax }
  const barriers = new Barriers({ points, after: timers.after, ...limit })
  const log: string[] = []
  /** Reaches the point, goes on, and ends at once unless the test ends it. */
  const send = (client: string, ends = true, at: Point = 'checked'): TestPassing => {
    const request = passingRequest({ client })
    void points.reach(at, request).then(() => {
      log.push(client)
      if (ends) request.end()
    })
    return request
  }
  return { points, timers, barriers, log, send }
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('release', () => {
  test('without names, in the order of arrival', async () => {
    const { barriers, log, send } = world()
    const barrier = barriers.hold({ at: 'checked' })
    for (const client of ['A', 'B', 'C']) send(client)
    await barrier.held(3)
    await barrier.release()
    assert.deepEqual(log, ['A', 'B', 'C'])
  })

  test('lets a request end before the next one goes on', async () => {
    const { barriers, log, send } = world()
    const barrier = barriers.hold({ at: 'checked' })
    send('A')
    const slow = send('B', false)
    await barrier.held(2)
    const released = barrier.release('B', 'A')
    await settled()
    assert.deepEqual(log, ['B'])
    assert.deepEqual(
      barrier.state().held.map(({ client }) => client),
      ['A'],
    )
    slow.end()
    await released
    assert.deepEqual(log, ['B', 'A'])
  })

  test('lets all requests of a named client go on, and no others', async () => {
    const { barriers, log, send } = world()
    const barrier = barriers.hold({ at: 'checked' })
    for (const client of ['A', 'B', 'A']) send(client)
    await barrier.held(3)
    await barrier.release('A')
    assert.deepEqual(log, ['A', 'A'])
    await assert.rejects(barrier.release('A'), { field: 'clients' })
  })

  test('does not take a request that another release has in line', async () => {
    const { barriers, log, send } = world()
    const barrier = barriers.hold({ at: 'checked' })
    send('A')
    const slow = send('B', false)
    await barrier.held(2)
    const released = barrier.release('B', 'A')
    await assert.rejects(barrier.release('A'), { field: 'clients' })
    await settled()
    assert.deepEqual(log, ['B'])
    slow.end()
    await released
  })

  test('fails if a request does not end, and keeps the rest', async () => {
    const { barriers, log, send, timers } = world()
    const barrier = barriers.hold({ at: 'checked', timeLimit: 50 })
    send('B', false)
    await barrier.held(1)
    timers.advance(25)
    send('A')
    const released = barrier.release('B', 'A')
    const refused = assert.rejects(released, /Put Blob \/c\/doc by "B" has not ended 50 ms after/)
    timers.advance(49)
    await settled()
    assert.deepEqual(log, ['B'])
    timers.advance(1)
    await refused
    assert.deepEqual(log, ['B', 'A'])
  })
})

describe('a request', () => {
  test('is held once by each barrier, at all of its transactions', async () => {
    const { barriers, points } = world()
    const [first, second] = [barriers.hold({ at: 'checked' }), barriers.hold({ at: 'checked' })]
    const request = passingRequest({})
    const going = points.reach('checked', request).then(() => points.reach('checked', request))
    await first.held()
    assert.deepEqual(second.state().held, [])
    const released = first.release()
    await second.held()
    assert.deepEqual(first.state().held, [])
    const both = second.release()
    await going
    request.end()
    await Promise.all([released, both])
  })

  test('waits with all transactions that it runs at the same time', async () => {
    const { barriers, points, log } = world()
    const barrier = barriers.hold({ at: 'checked' })
    const request = passingRequest({})
    for (const part of ['one', 'two']) {
      void points.reach('checked', request).then(() => log.push(part))
    }
    await settled()
    assert.deepEqual(log, [])
    assert.equal(barrier.state().held.length, 1)
    request.end()
    await barrier.release()
    await settled()
    assert.deepEqual(log, ['one', 'two'])
  })

  test('passes another point, another match, and a barrier that has had its count', async () => {
    const { barriers, send, log } = world()
    const barrier = barriers.hold({ at: 'checked', match: { client: 'A' }, count: 1 })
    send('A', true, 'committed')
    send('B')
    send('A')
    send('A')
    await settled()
    assert.deepEqual(log, ['A', 'B', 'A'])
    assert.equal(barrier.state().held.length, 1)
    barrier.remove()
  })

  test('passes when too many are held, and is counted', async () => {
    const { barriers, send, log } = world(2)
    const barrier = barriers.hold({ at: 'checked' })
    for (const client of ['A', 'B', 'C']) send(client)
    await settled()
    assert.deepEqual(log, ['C'])
    const { held, passedCount, releasedCount } = barrier.state()
    assert.deepEqual([held.length, passedCount, releasedCount], [2, 1, 0])
    await barrier.release('A')
    send('D')
    await barrier.held(2)
    barrier.remove()
  })

  test('goes on after the time limit, a minute by default', async () => {
    const { barriers, send, log, timers } = world()
    barriers.hold({ at: 'checked' })
    send('A')
    timers.advance(59_999)
    await settled()
    assert.deepEqual(log, [])
    timers.advance(1)
    await settled()
    assert.deepEqual(log, ['A'])
  })

  test('goes on when its client has gone, except after its answer', async () => {
    const { barriers, send, log } = world()
    barriers.hold({ at: 'checked' })
    barriers.hold({ at: 'answered' })
    const [held, answered] = [send('A'), send('B', true, 'answered')]
    held.leave()
    answered.leave()
    await settled()
    assert.deepEqual(log, ['A'])
    barriers.clear()
  })
})

describe('held', () => {
  test('says what it has waited for', async () => {
    const { barriers, send, timers } = world()
    const barrier = barriers.hold({ at: 'checked', match: { client: 'A' } })
    send('A')
    send('B')
    const waiting = assert.rejects(barrier.held(2, { timeLimit: 'PT1S' }), {
      message:
        '1000 ms have passed, and 1 of 2 requests are held at \'checked\' (Put Blob /c/doc by "A"); ' +
        'the last one that did not match was Put Blob /c/doc by "B"',
    })
    timers.advance(1_000)
    await waiting
    barrier.remove()
    await assert.rejects(barrier.held(), /the barrier was removed/)
    assert.equal(timers.count, 0)
  })

  for (const count of [0, -1, 1.5, 1_001]) {
    test(`of ${count} requests is refused`, async () => {
      await assert.rejects(world().barriers.hold({ at: 'read' }).held(count), { field: 'held' })
    })
  }
})

test('nothing listens at the points without a barrier', () => {
  const { barriers, points } = world()
  assert.equal(points.isArmed, false)
  const [one, two] = [barriers.hold({ at: 'read' }), barriers.hold({ at: 'read' })]
  one.remove()
  assert.equal(points.isArmed, true)
  assert.equal(barriers.remove(two.id), true)
  assert.equal(points.isArmed, false)
  assert.equal(barriers.remove(two.id), false)
  assert.equal(barriers.find(two.id), undefined)
})

test('there can be a hundred barriers', () => {
  const { barriers } = world()
  for (let count = 0; count < 100; count += 1) barriers.hold({ at: 'read' })
  assert.throws(
    () => barriers.hold({ at: 'read' }),
    /^FieldError: there are 100 barriers already; remove others first$/,
  )
  barriers.clear()
  assert.deepEqual(barriers.list(), [])
})

const RULES: readonly (readonly [unknown, string])[] = [
  [undefined, ''],
  [null, ''],
  [[], ''],
  ['checked', ''],
  [{}, 'at'],
  [{ at: 'before' }, 'at'],
  [{ at: 'checked', wait: 1 }, 'wait'],
  [{ at: 'answered', match: { service: 'smb' } }, 'at'],
  [{ at: 'checked', match: 'A' }, 'match'],
  [{ at: 'checked', match: { operatoin: 'Put Blob' } }, 'match.operatoin'],
  [{ at: 'checked', match: { service: 'blobs' } }, 'match.service'],
  [{ at: 'checked', match: { path: 'c/doc' } }, 'match.path'],
  [{ at: 'checked', match: { client: '' } }, 'match.client'],
  [{ at: 'checked', match: { client: 7 } }, 'match.client'],
  [{ at: 'checked', match: { account: null } }, 'match.account'],
  [{ at: 'checked', match: { clientRequestId: 'x'.repeat(4_097) } }, 'match.clientRequestId'],
  [{ at: 'checked', count: 0 }, 'count'],
  [{ at: 'checked', count: '1' }, 'count'],
  [{ at: 'checked', timeLimit: 'P1Y' }, 'timeLimit'],
  [{ at: 'checked', timeLimit: -1 }, 'timeLimit'],
  [{ at: 'checked', timeLimit: Number.NaN }, 'timeLimit'],
]

for (const [rule, field] of RULES) {
  test(`the rule ${JSON.stringify(rule)?.slice(0, 60)} is refused for its ${field || 'form'}`, () => {
    const { barriers } = world()
    assert.throws(() => barriers.hold(rule as BarrierRule), { name: 'FieldError', field })
    assert.deepEqual(barriers.list(), [])
  })
}

test('a rule is decoded as it is, without fields that are undefined', () => {
  const match = { service: 'table', path: '*/doc' } as const
  const rule = { at: 'checked', match, count: 2, timeLimit: 'PT0.5S' } as const
  assert.deepEqual(decodeBarrierRule({ ...rule, match: { ...match, client: undefined } }), rule)
})
