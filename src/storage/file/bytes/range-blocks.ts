// Rounds ranges to whole blocks: the service reports the differences between a file and a snapshot in units of 512
// bytes, as a recorded answer shows. A block is cleared only if nothing in it was written.
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import type { MapRange } from '../../../extent/content/map-range.ts'
import { BLOCK_BYTES } from './range.ts'

export function blockStart(offset: number): number {
  return Math.floor(offset / BLOCK_BYTES) * BLOCK_BYTES
}

export function blockEnd(offset: number): number {
  return Math.ceil(offset / BLOCK_BYTES) * BLOCK_BYTES
}

/** The blocks that contain parts of the ranges, in order of their offsets, clipped to the file's length. */
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

/** Subtracts `excluded` from `ranges`; both are sorted. */
function without(ranges: readonly ByteRange[], excluded: readonly ByteRange[]): ByteRange[] {
  const left: ByteRange[] = []
  let next = 0
  for (const { from, to } of ranges) {
    let at = from
    while (at < to) {
      while ((excluded[next]?.to ?? Infinity) <= at) next += 1
      const { from: start, to: end } = excluded[next] ?? { from: to, to }
      if (start > at) left.push({ from: at, to: Math.min(start, to) })
      at = start < to ? end : to
    }
  }
  return left
}
