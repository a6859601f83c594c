import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { HeldBytes } from './held-bytes.ts'

test('bytes are added and skipped in any pieces, and views of them stay valid', () => {
  const piece = fc.uint8Array({ maxLength: 40 })
  const step = fc.tuple(piece, fc.nat(60))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const held = new HeldBytes()
      const views: [Buffer, Buffer][] = []
      let model = Buffer.alloc(0)
      for (const [bytes, skipped] of steps) {
        held.add(Buffer.from(bytes))
        model = Buffer.concat([model, bytes])
        assert.deepEqual(held.bytes, model)
        const count = Math.min(skipped, model.length)
        views.push([held.bytes.subarray(0, count), Buffer.from(model.subarray(0, count))])
        held.consume(count)
        model = model.subarray(count)
        assert.equal(held.length, model.length)
      }
      for (const [view, before] of views) assert.deepEqual(view, before)
    }),
  )
})

test('the end of a head is found however it is split', () => {
  const text = 'GET / HTTP/1.1\r\nHost: x\r\n\r\nrest\r\n\r\n'
  const end = text.indexOf('\r\n\r\n')
  for (let size = 1; size <= text.length; size++) {
    const held = new HeldBytes()
    let found = -1
    for (let at = 0; at < text.length && found < 0; at += size) {
      held.add(Buffer.from(text.slice(at, at + size)))
      found = held.headEnd(0)
    }
    assert.equal(found, end, `in pieces of ${size}`)
  }
})

test('the search for the next head starts after the last one', () => {
  const held = new HeldBytes()
  held.add(Buffer.from('a\r\n\r\nbc'))
  assert.equal(held.headEnd(0), 1)
  held.consume(5)
  assert.equal(held.headEnd(0), -1)
  held.add(Buffer.from('\r\n\r'))
  assert.equal(held.headEnd(0), -1)
  held.add(Buffer.from('\n'))
  assert.equal(held.headEnd(0), 2)
})

test('memory is proportional to the bytes held, even if they arrive one by one', () => {
  const held = new HeldBytes()
  for (let at = 0; at < 60_000; at++) held.add(Buffer.from('x'))
  assert.equal(held.length, 60_000)
  assert(held.memoryBytes <= 4 * 60_000)
})
