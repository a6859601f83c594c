// Runs a decoder on one input and says what is wrong, if anything is.
import { isDeepStrictEqual } from 'node:util'
import type { Target } from './target.ts'

/** What an input of no bytes may cost, and each byte. The unit is a block of code that runs. */
const WORK_COUNT_BASE = 200_000
const WORK_COUNT_PER_BYTE = 2_000
/** What a decoder may return for an input of no bytes, and for each byte. The unit is a value, a character or a byte. */
const SIZE_BASE = 64 * 1_024
const SIZE_PER_BYTE = 64

export async function problemOf(target: Target, input: Buffer): Promise<string | undefined> {
  const copy = Buffer.from(input)
  let decoded: unknown
  try {
    decoded = await target.decode(copy)
  } catch (error) {
    return isRefusal(target, error) ? undefined : `throws ${textOfError(error)}`
  }
  const sizeMax = SIZE_BASE + SIZE_PER_BYTE * input.length
  const size = sizeOf(decoded, sizeMax)
  if (size > sizeMax) return `returns more than ${sizeMax} values for ${input.length} bytes`
  return target.again === undefined ? undefined : roundTripProblem(target.again, decoded)
}

export function isTooMuchWork(workCount: number, lengthBytes: number): boolean {
  return workCount > WORK_COUNT_BASE + WORK_COUNT_PER_BYTE * lengthBytes
}

async function roundTripProblem(
  again: (decoded: never) => unknown,
  decoded: unknown,
): Promise<string | undefined> {
  try {
    const second = await again(decoded as never)
    if (second === undefined || isDeepStrictEqual(second, decoded)) return undefined
    return `encoded and decoded again, ${shown(decoded)} is ${shown(second)}`
  } catch (error) {
    return `encoded and decoded again, ${shown(decoded)} throws ${textOfError(error)}`
  }
}

function isRefusal({ refuses }: Target, error: unknown): boolean {
  return refuses.some((each) => error instanceof each)
}

function textOfError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? String(error)) : String(error)
}

function shown(value: unknown): string {
  const text = JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'bigint' ? `${each}n` : each,
  )
  return String(text).slice(0, 1_000)
}

/** Values, characters and bytes; stops counting above the limit. */
function sizeOf(value: unknown, limit: number): number {
  const waiting: unknown[] = [value]
  const seen = new Set<object>()
  let size = 0
  for (let each = waiting.pop(); size <= limit; each = waiting.pop()) {
    size += 1
    if (typeof each === 'string') size += each.length
    else if (each instanceof Uint8Array) size += each.length
    else if (typeof each === 'object' && each !== null && !seen.has(each)) {
      seen.add(each)
      if (each instanceof Map || each instanceof Set) waiting.push(...each)
      else waiting.push(...Object.values(each))
    }
    if (waiting.length === 0) return size
  }
  return size
}
