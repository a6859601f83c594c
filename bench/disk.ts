// What the disk itself gives for synced writes: the ceiling of every server that answers only when it is durable.
// The file grows, as a store does: blocks that the disk of a virtual machine has had before may be several
// times as fast, and so are zeros.
import { randomBytes } from 'node:crypto'
import { closeSync, constants, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { number } from './report.ts'

const DURATION_MS = 2_000

/** One line: how many MiB a second in pieces of 1 MiB, and how long a small write takes. */
export function measureDisk(folder: string): string {
  const mibPerSecond = writesPerSecond(folder, 2 ** 20)
  const syncMs = 1_000 / writesPerSecond(folder, 4_096)
  return (
    `The disk takes ${number(mibPerSecond)} MiB a second in new synced pieces of 1 MiB, and ` +
    `${number(syncMs)} ms for a synced write of 4 KiB.`
  )
}

function writesPerSecond(folder: string, pieceBytes: number): number {
  const path = join(folder, 'disk')
  const piece = randomBytes(pieceBytes)
  const fd = openSync(path, constants.O_CREAT | constants.O_RDWR | constants.O_DSYNC)
  try {
    const startedMs = performance.now()
    let count = 0
    while (performance.now() - startedMs < DURATION_MS) {
      writeSync(fd, piece, 0, pieceBytes, count * pieceBytes)
      count += 1
    }
    return (count * 1_000) / (performance.now() - startedMs)
  } finally {
    closeSync(fd)
    rmSync(path)
  }
}
