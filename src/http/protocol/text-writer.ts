// Writes a long text as UTF-8 into one growing buffer. As a string, a list of thousands of items is a rope of a
// hundred thousand concatenations, and flattening it takes as long as the rest of the list.

export type TextWriter = {
  add(text: string): void
  bytes(): Uint8Array
}

export function createTextWriter(expectedBytes: number): TextWriter {
  let buffer = Buffer.allocUnsafe(expectedBytes)
  let end = 0
  return {
    add(text) {
      // A UTF-16 code unit takes at most three bytes.
      const needed = end + text.length * 3
      if (needed > buffer.length) {
        const larger = Buffer.allocUnsafe(Math.max(needed, buffer.length * 2))
        buffer.copy(larger, 0, 0, end)
        buffer = larger
      }
      end += buffer.write(text, end, 'utf8')
    },
    bytes: () => buffer.subarray(0, end),
  }
}
