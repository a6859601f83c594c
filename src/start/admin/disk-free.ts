// The free space of the disk with the data folder.
import { statfs } from 'node:fs/promises'
import type { Gauge } from './metrics.ts'

export function diskFreeGauge(folder: string): Gauge {
  return {
    name: 'lazuli_disk_free_bytes',
    help: 'Free space of the disk with the content; without any, writes are refused',
    // The other metrics are wanted all the more when the disk fails.
    read: () =>
      statfs(folder).then(
        ({ bavail, bsize }) => bavail * bsize,
        () => undefined,
      ),
  }
}
