// Counts the referenced bytes of an extent. References are sorted by place, so owners that share a slice are adjacent
// and the slice is counted once.
import type { Kv } from '../../kv/kv.ts'
import { referencesOf } from '../keys.ts'
import { decodeReference } from '../content/reference.ts'
import { scanSteps } from '../scan.ts'

/** Stops counting at `enoughBytes`. The count is 0 with `isReferenced` if the only slices are empty. */
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
