// The usage of a share is the total length of its files.
import { decodeKey, encodeKey } from '../../kv/key.ts'
import { prefixRange, type Key, type Kv, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { problem, repairBy, type Problem, type Report } from '../../extent/sweep/problem.ts'
import { scanSteps } from '../../extent/scan.ts'
import { shareUsageKey } from '../file/keys.ts'
import { shareUsageBytes } from '../file/share/share.ts'

export async function checkUsage(kv: Kv, report: Report): Promise<void> {
  const usedBytes = new Map<number, number>()
  for await (const { key, value } of scanSteps(kv, prefixRange(encodeKey('file-node')))) {
    const shareId = Number(decodeKey(key)[1])
    const { lengthBytes } = decodeRecord<{ lengthBytes: number }>(value)
    usedBytes.set(shareId, (usedBytes.get(shareId) ?? 0) + lengthBytes)
  }
  // Shares that are deleted for good are not checked: a sweep removes their files one by one.
  for (const kind of ['share', 'share-past']) {
    for await (const { key, value } of scanSteps(kv, prefixRange(encodeKey(kind)))) {
      const { id } = decodeRecord<{ id: number }>(value)
      const found = await kv.read((tx) => lookAt(tx, key, id, usedBytes.get(id) ?? 0))
      if (found !== undefined) await report(found)
    }
  }
}

function* lookAt(
  tx: ReadTx,
  share: Key,
  shareId: number,
  usedBytes: number,
): Step<Problem | undefined> {
  const bytes = yield* shareUsageBytes(tx, shareId)
  if (bytes === usedBytes) return undefined
  const repair = repairBy('corrected it', (into) => correct(into, shareId, usedBytes))
  return { ...problem('totalWrong', share, `its usage is ${bytes} of ${usedBytes} bytes`), repair }
}

function* correct(tx: Tx, shareId: number, bytes: number): Step<void> {
  tx.put(shareUsageKey(shareId), encodeRecord({ bytes }))
}
