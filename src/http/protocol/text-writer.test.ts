import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createTextWriter } from './text-writer.ts'

test('added texts are written as UTF-8, in order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme' })),
      fc.integer({ min: 0, max: 64 }),
      (texts, expectedBytes) => {
        const writer = createTextWriter(expectedBytes)
        for (const text of texts) writer.add(text)
        assert.deepEqual(Buffer.from(writer.bytes()), Buffer.from(texts.join('')))
      },
    ),
  )
})
