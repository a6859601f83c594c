// Ranges in whole blocks: the service tells what differs between a file and a snapshot in units of 512 bytes, as a
// recorded answer shows. A block is cleared only if nothing in it was written.
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import type { MapRange } from '../../../extent/content/map-range.ts'
import { BLOCK_BYTES } from './range.ts'

export function blockStart(offset: number): number {
  return Math.floor(offset / BLOCK_BYTES) * BLOCK_BYTES
}

export function blockEnd(offset: number): number {
  return Math.ceil(offset / BLOCK_BYTES) * BLOCK_BYTES
}

/** The blocks that hold some of the ranges, in the order of their offsets, and never behind the file's end. */
export function inBlocks(ranges: readonly MapRange[], lengthBytes: number): MapRange[] {
  const written = blocksOf(ranges, lengthBytes, false)
  const cleared = without(blocksOf(ranges, lengthBytes, true), written)
  return [
    ...written.map((range) => ({ ...range, isCleared: false })),
    ...cleared.map((range) => ({ ...range, isCleared: true })),
  ].sort((a, b) => a.from - b.from)
}

function blocksOf(
  ranges: readonly MapRange[],
  lengthBytes: number,
  isCleared: boolean,
): readonly ByteRange[] {
  const blocks: ByteRange[] = []
  for (const range of ranges) {
    if (range.isCleared !== isCleared) continue
    const [from, to] = [blockStart(range.from), Math.min(blockEnd(range.to), lengthBytes)]
    const last = blocks.at(-1)
    if (last === undefined || last.to < from) blocks.push({ from, to })
    else blocks[blocks.length - 1] = { from: last.from, to: Math.max(last.to, to) }
  }
  return blocks
}

/** Both sorted. */
function without(ranges: readonly ByteRange[], taken: readonly ByteRange[]): ByteRange[] {
  const left: ByteRange[] = []
  let next = 0
  for (const { from, to } of ranges) {
    let at = from
    while (at < to) {
      while ((taken[next]?.to ?? Infinity) <= at) next += 1
      const { from: start, to: end } = taken[next] ?? { from: to, to }
      if (start > at) left.push({ from: at, to: Math.min(start, to) })
      at = start < to ? end : to
    }
  }
  return left
}
