// Compares bodies. `assert.deepEqual` writes a byte-by-byte diff of two buffers, which takes minutes and gigabytes for
// 20 KB: a failing test could bring the machine down.
import assert from 'node:assert/strict'

type Bytes = Uint8Array | undefined

export function assertBytes(actual: Bytes, expected: Bytes, message = 'the bytes differ'): void {
  if (actual === undefined || expected === undefined) {
    assert.equal(lengthOf(actual), lengthOf(expected), message)
    return
  }
  if (Buffer.compare(actual, expected) === 0) return
  const at = expected.findIndex((byte, index) => byte !== actual[index])
  const where = at < 0 ? expected.length : at
  const near = (bytes: Uint8Array) => Buffer.from(bytes.subarray(where, where + 16)).toString('hex')
  assert.fail(
    `${message}: ${actual.length} bytes instead of ${expected.length}, ` +
      `from byte ${where} on ${near(actual)} instead of ${near(expected)}`,
  )
}

function lengthOf(bytes: Bytes): string {
  return bytes === undefined ? 'nothing' : `${bytes.length} bytes`
}
