// How much of an extent is still shown, by its references: they are sorted by place, so owners that
// share a slice follow each other and it is counted once.
import type { Kv } from '../../kv/kv.ts'
import { referencesOf } from '../keys.ts'
import { decodeReference } from '../content/reference.ts'
import { scanSteps } from '../scan.ts'

/** Stops counting at `enoughBytes`. A count of 0 with `isReferenced` is a slice without bytes. */
export async function liveBytes(
  kv: Kv,
  extent: number,
  enoughBytes: number,
): Promise<{ readonly lengthBytes: number; readonly isReferenced: boolean }> {
  let lengthBytes = 0
  let lastOffset = -1
  for await (const entry of scanSteps(kv, referencesOf(extent))) {
    const { slice } = decodeReference(entry)
    if (slice.offset !== lastOffset) lengthBytes += slice.lengthBytes
    lastOffset = slice.offset
    if (lengthBytes >= enoughBytes) break
  }
  return { lengthBytes, isReferenced: lastOffset >= 0 }
}
