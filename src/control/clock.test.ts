import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockApi, ControlledClock, databaseClockApi } from './clock.ts'

const START_MS = Date.UTC(2027, 0, 1)

function setUp(isHeld: boolean) {
  let machineMs = START_MS
  const clock = new ControlledClock(() => machineMs, { isHeld })
  const settledAt: number[] = []
  const api = clockApi(clock, async () => void settledAt.push(clock.now()))
  const pass = (ms: number): void => {
    machineMs += ms
  }
  return { clock, api, settledAt, pass }
}

test('a held clock stands still, and goes on from the time that it shows', async () => {
  const { clock, api, pass } = setUp(false)
  pass(10)
  await api.hold()
  pass(1_000)
  assert.equal(clock.now(), START_MS + 10)
  assert.deepEqual(api.state(), {
    now: new Date(START_MS + 10).toISOString(),
    isHeld: true,
    offsetMs: -1_000,
  })
  await api.run()
  pass(5)
  assert.equal(clock.now(), START_MS + 15)
  assert.equal(api.state().isHeld, false)
})

test('a copy shows the same time, is held if the clock is, and moves by itself', async () => {
  const { clock, api, pass } = setUp(false)
  await api.advance('PT1M')
  const running = clock.copy()
  await api.hold()
  const held = clock.copy()
  pass(7)
  assert.equal(running.now(), START_MS + 60_007)
  assert.equal(held.now(), START_MS + 60_000)
  await held.moveTo(START_MS + 70_000)
  assert.equal(clock.now(), START_MS + 60_000)
  held.run()
  pass(3)
  assert.equal(held.now(), START_MS + 70_003)
})

test('advance and set move a clock that is held, and one that runs', async () => {
  for (const isHeld of [true, false]) {
    const { clock, api, settledAt } = setUp(isHeld)
    await Promise.all([api.advance(1_000), api.advance('PT1S')])
    assert.equal(clock.now(), START_MS + 2_000)
    await api.set(START_MS - 1)
    assert.equal(clock.now(), START_MS - 1)
    assert.deepEqual(settledAt, [START_MS + 1_000, START_MS + 2_000, START_MS - 1])
  }
})

test('timers that are due fire in order at their times, with those that they start, before advance resolves', async () => {
  const { clock, api, settledAt } = setUp(true)
  const fired: string[] = []
  const note = (name: string): void =>
    void fired.push(`${name} at ${clock.now() - START_MS}, swept ${settledAt.length}`)
  clock.after(300, () => note('c'))
  clock.after(100, () => {
    note('a')
    clock.after(50, async () => {
      await Promise.resolve()
      note('b')
    })
  })
  clock.after(1_001, () => note('never'))
  clock.after(10, () => note('cancelled'))()
  await api.advance(1_000)
  assert.deepEqual(fired, ['a at 100, swept 0', 'b at 150, swept 0', 'c at 300, swept 0'])
  assert.deepEqual(settledAt, [START_MS + 1_000])
})

test('while the clock runs, its timers need nobody', async () => {
  const clock = new ControlledClock(Date.now, { isHeld: true })
  const fired = new Promise<void>((resolve) => clock.after(1, resolve))
  clock.run()
  await fired
})

test('a wrong argument changes nothing', async () => {
  const { clock, api, settledAt } = setUp(true)
  await assert.rejects(api.advance('P1M'), /years or months/)
  await assert.rejects(api.advance(300 * 365 * 86_400_000), /from the year 2000 to 2200/)
  await assert.rejects(api.set('now'), /2027-01-01T00:00:00Z/)
  assert.equal(clock.now(), START_MS)
  assert.deepEqual(settledAt, [])
})

test("the database's clock can't be controlled", async () => {
  const api = databaseClockApi(() => START_MS)
  assert.equal(api.state().now, new Date(START_MS).toISOString())
  await assert.rejects(api.advance(1), /time is that of the database/)
})
