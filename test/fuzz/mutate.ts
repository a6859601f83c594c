// Changes inputs at random: single bytes, lengths and counts at their edges, words of the format, repetitions, and parts
// of other inputs.
import type { Random } from '../random.ts'
import { mutate as damage } from '../mutation.ts'

/** Typical wrong values of lengths, offsets and counts. */
const EDGES = [0, 1, 7, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff]

export type Material = {
  readonly words: readonly Buffer[]
  readonly others: readonly Buffer[]
  readonly lengthMax: number
}

/** One to four changes; one is most likely to leave the rest as it was. */
export function mutate(
  input: Buffer,
  { words, others, lengthMax }: Material,
  random: Random,
): Buffer {
  let changed = input
  for (let count = random.pick([1, 1, 1, 2, 3, 4]); count > 0; count -= 1) {
    changed = CHANGES[random.below(CHANGES.length)]?.(changed, random, words, others) ?? changed
  }
  return changed.subarray(0, lengthMax)
}

type Change = (
  input: Buffer,
  random: Random,
  words: readonly Buffer[],
  others: readonly Buffer[],
) => Buffer

const CHANGES: readonly Change[] = [
  (input, random) => damage(input, random),
  (input, random) => damage(input, random),
  (input, random) => withByte(input, random),
  (input, random) => withEdge(input, random),
  (input, random, words) => withWord(input, random, words),
  (input, random, words) => withWord(input, random, words),
  (input, random) => repeated(input, random),
  (input, random, _words, others) => spliced(input, random.pick(others), random),
]

function withByte(input: Buffer, random: Random): Buffer {
  const changed = Buffer.from(input)
  changed[random.below(input.length)] = random.below(256)
  return changed
}

/** A number of one, two, four or eight bytes, in either order of bytes. */
function withEdge(input: Buffer, random: Random): Buffer {
  const [edge, lengthBytes, isLittle] = [
    random.pick(EDGES),
    random.pick([1, 2, 4]),
    random.below(2),
  ]
  if (input.length < lengthBytes) return input
  const changed = Buffer.from(input)
  const value = edge % 2 ** (8 * lengthBytes)
  const at = random.below(input.length - lengthBytes + 1)
  if (isLittle === 1) changed.writeUIntLE(value, at, lengthBytes)
  else changed.writeUIntBE(value, at, lengthBytes)
  return changed
}

/** Inserts a word, or puts it over what is there. */
function withWord(input: Buffer, random: Random, words: readonly Buffer[]): Buffer {
  if (words.length === 0) return damage(input, random)
  const word = random.pick(words)
  const at = random.below(input.length + 1)
  const behind = at + (random.below(2) === 0 ? 0 : word.length)
  return Buffer.concat([input.subarray(0, at), word, input.subarray(behind)])
}

/** A part many times over: what takes more than linear time or memory shows itself. */
function repeated(input: Buffer, random: Random): Buffer {
  const at = random.below(input.length + 1)
  const end = Math.min(input.length, at + 1 + random.below(32))
  const part = input.subarray(at, end)
  const count = 2 ** random.below(10)
  const parts = Array.from({ length: count }, () => part)
  return Buffer.concat([input.subarray(0, at), ...parts, input.subarray(end)])
}

function spliced(input: Buffer, other: Buffer, random: Random): Buffer {
  const [end, from] = [random.below(input.length + 1), random.below(other.length + 1)]
  return Buffer.concat([input.subarray(0, end), other.subarray(from)])
}
