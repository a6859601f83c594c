// The free space of the disk with the data folder.
import { statfs } from 'node:fs/promises'
import type { Gauge } from './metrics.ts'

export function diskFreeGauge(folder: string): Gauge {
  return {
    name: 'lazuli_disk_free_bytes',
    read: () => diskFreeBytes(folder),
  }
}

/** undefined: the disk can't tell. All other numbers are wanted all the more when it fails. */
export function diskFreeBytes(folder: string): Promise<number | undefined> {
  return statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => undefined,
  )
}
