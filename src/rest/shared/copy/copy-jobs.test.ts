import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partsOf } from './copy-jobs.ts'

const text = 'abcdefghij'

async function* chunksOf(lengthBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < text.length; at += lengthBytes) {
    yield Buffer.from(text.slice(at, at + lengthBytes))
  }
}

async function textOf(part: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of part) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

for (const chunkBytes of [1, 3, 4, 10]) {
  for (const partBytes of [1, 3, 4, 10, 12]) {
    test(`chunks of ${chunkBytes} bytes are cut into parts of ${partBytes}`, async () => {
      const take = partsOf(chunksOf(chunkBytes))
      const parts: string[] = []
      for (let at = 0; at < text.length; at += partBytes) parts.push(await textOf(take(partBytes)))
      const expected = text.match(new RegExp(`.{1,${partBytes}}`, 'g'))
      assert.deepEqual(parts, expected)
      assert.equal(await textOf(take(1)), '', 'nothing follows the last part')
    })
  }
}
