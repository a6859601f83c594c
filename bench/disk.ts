// Measures synced writes of the disk itself: the upper limit for every server that answers only after a sync. The file
// grows, as a store does: on the disk of a virtual machine, overwriting blocks and writing zeros may be several times
// faster.
import { randomBytes } from 'node:crypto'
import { closeSync, constants, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { number } from './report.ts'

const DURATION_MS = 2_000

export type Disk = { readonly mibPerSecond: number; readonly syncMs: number }

/** Throughput of writes of 1 MiB and duration of a small write. */
export function measureDisk(folder: string): Disk {
  const mibPerSecond = writesPerSecond(folder, 2 ** 20)
  return { mibPerSecond, syncMs: 1_000 / writesPerSecond(folder, 4_096) }
}

export function diskLine({ mibPerSecond, syncMs }: Disk): string {
  return (
    `Disk: ${number(mibPerSecond)} MiB/s in synced writes of 1 MiB, ` +
    `${number(syncMs)} ms per synced write of 4 KiB.`
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
