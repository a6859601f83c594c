import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnauthenticatedMemory } from './unauthenticated-memory.ts'

function setUp(bytesMax: number) {
  const memory = new UnauthenticatedMemory(bytesMax)
  const dropped: string[] = []
  const holder = (name: string) => ({ drop: () => dropped.push(name) })
  return { memory, dropped, holder }
}

test('what is held is counted until it is released', () => {
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

test('when it is too much, the oldest go first, and no more than need be', () => {
  const { memory, dropped, holder } = setUp(100)
  const [a, b, c, d] = [holder('a'), holder('b'), holder('c'), holder('d')]
  for (const each of [a, b, c]) memory.hold(each, 30)
  memory.hold(a, 35)
  memory.hold(d, 60)
  assert.deepEqual(dropped, ['a', 'b'])
  assert.equal(memory.bytes, 90)
})

test('one that holds too much by itself goes, after those that are older', () => {
  const { memory, dropped, holder } = setUp(100)
  const [a, b] = [holder('a'), holder('b')]
  memory.hold(a, 10)
  memory.hold(b, 101)
  assert.deepEqual(dropped, ['a', 'b'])
  assert.equal(memory.bytes, 0)
})
