// Random damage to bytes, for tests of parsers.
import type { Random } from './random.ts'

/** Texts that parsers often treat specially. */
const WORDS = [
  '\r\n', '\0', '%', '%00', '%2F', '%ff', '..', '//', '?', '&', '=', ',', ';', '"', '<', '>', '&#0;', '*', '-1', '0',
  '99999999999999999999', '1e9', 'NaN', '__proto__', 'x-ms-', 'bytes=', 'chunked', '\u00ff', '+', ' ', '\t',
] // prettier-ignore

/** Makes one change: sets, removes, doubles or inserts a byte, inserts a word, or cuts off the end. */
export function mutate(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1)
  const end = Math.min(bytes.length, at + 1 + random.below(8))
  const [before, middle, behind] = [
    bytes.subarray(0, at),
    bytes.subarray(at, end),
    bytes.subarray(end),
  ]
  const word = Buffer.from(random.pick(WORDS), 'latin1')
  switch (random.below(6)) {
    case 0:
      return Buffer.concat([before, behind])
    case 1:
      return Buffer.concat([before, middle, middle, behind])
    case 2:
      return Buffer.concat([before, random.bytes(1), bytes.subarray(at + 1)])
    case 3:
      return Buffer.concat([before, random.bytes(1 + random.below(4)), middle, behind])
    case 4:
      return Buffer.concat([before, word, behind])
    default:
      return Buffer.concat([before, word, middle, behind])
  }
}
