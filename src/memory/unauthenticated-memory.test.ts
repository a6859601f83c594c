import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnauthenticatedMemory } from './unauthenticated-memory.ts'

function setUp(bytesMax: number) {
  const memory = new UnauthenticatedMemory(bytesMax)
  const dropped: string[] = []
  const holder = (name: string) => ({ drop: () => dropped.push(name) })
  return { memory, dropped, holder }
}

test('memory is counted until its holder is released', () => {
  const { memory, dropped, holder } = setUp(100)
  const [a, b] = [holder('a'), holder('b')]
  memory.hold(a, 40)
  memory.hold(b, 40)
  memory.hold(a, 60)
  assert.equal(memory.bytes, 100)
  memory.hold(a, 10)
  assert.equal(memory.bytes, 50)
  memory.release(a)
  memory.release(a)
  assert.equal(memory.bytes, 40)
  assert.deepEqual(dropped, [])
})

test('over the limit, the oldest holders are dropped, and no more than necessary', () => {
  const { memory, dropped, holder } = setUp(100)
  const [a, b, c, d] = [holder('a'), holder('b'), holder('c'), holder('d')]
  for (const each of [a, b, c]) memory.hold(each, 30)
  memory.hold(a, 35)
  memory.hold(d, 60)
  assert.deepEqual(dropped, ['a', 'b'])
  assert.equal(memory.bytes, 90)
})

test('a holder that exceeds the limit alone is dropped too, after all older ones', () => {
  const { memory, dropped, holder } = setUp(100)
  const [a, b] = [holder('a'), holder('b')]
  memory.hold(a, 10)
  memory.hold(b, 101)
  assert.deepEqual(dropped, ['a', 'b'])
  assert.equal(memory.bytes, 0)
})
