// Random spoiling of bytes from a seed: a failure comes again with the same one.

export type Random = {
  /** 0 to count - 1. */
  below(count: number): number
  bytes(lengthBytes: number): Buffer
}

/** mulberry32: small, fast, and good enough to spoil requests with. */
export function randomFrom(seed: number): Random {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number): number => Math.floor(next() * count)
  const bytes = (lengthBytes: number): Buffer =>
    Buffer.from(Array.from({ length: lengthBytes }, () => below(256)))
  return { below, bytes }
}

/** What tends to matter to parsers. */
const WORDS = [
  '\r\n', '\0', '%', '%00', '%2F', '%ff', '..', '//', '?', '&', '=', ',', ';', '"', '<', '>', '&#0;', '*', '-1', '0',
  '99999999999999999999', '1e9', 'NaN', '__proto__', 'x-ms-', 'bytes=', 'chunked', '\u00ff', '+', ' ', '\t',
] // prettier-ignore

/** One change: a byte set, cut, doubled, inserted, a word put in, the end cut off. */
export function mutate(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1)
  const end = Math.min(bytes.length, at + 1 + random.below(8))
  const [before, middle, behind] = [
    bytes.subarray(0, at),
    bytes.subarray(at, end),
    bytes.subarray(end),
  ]
  const word = Buffer.from(WORDS[random.below(WORDS.length)] ?? '', 'latin1')
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

/** One of them; `otherwise` of none. */
export function pick<T>(items: readonly T[], random: Random, otherwise?: T): T {
  const item = items[random.below(items.length)] ?? otherwise
  if (item === undefined) throw new Error('there is nothing to pick')
  return item
}
