// A long text as UTF-8, written piece by piece into one buffer. As a string, a list of thousands of items is
// a tree of a hundred thousand additions, which takes as long to put together as all the rest of the list.

export type TextWriter = {
  add(text: string): void
  bytes(): Uint8Array
}

export function createTextWriter(lengthBytesLikely: number): TextWriter {
  let buffer = Buffer.allocUnsafe(lengthBytesLikely)
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
