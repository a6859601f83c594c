// A share as SMB shows it as a volume: its quota is the size, and what its files take is used.
import type { ReadTx, Step } from '../../kv/kv.ts'
import { getNode, ROOT_ID } from '../../storage/file/tree/node.ts'
import { requireShare, shareUsageBytes, type ShareAddress } from '../../storage/file/share/share.ts'
import type { VolumeFacts } from '../wire/information/volume-information.ts'

const GIB = 2 ** 30

/** Of 32 bits, since FileFsVolumeInformation has no more; shares of one server differ. */
export function volumeSerialNumber(shareId: number): number {
  // Knuth's multiplicative hash: ids are small numbers in a row, serial numbers don't look so.
  return Math.imul(shareId, 0x9e37_79b1) >>> 0
}

export function* volumeFactsOf(
  tx: ReadTx,
  { account, share: name }: Pick<ShareAddress, 'account' | 'share'>,
): Step<VolumeFacts> {
  const { id, quotaGib, lastSnapshot } = yield* requireShare(tx, { account, share: name })
  const root = yield* getNode(tx, { shareId: id, lastSnapshot }, ROOT_ID)
  const totalBytes = quotaGib * GIB
  return {
    creationTime: BigInt(root?.creationTime ?? 0),
    serialNumber: volumeSerialNumber(id),
    label: name,
    objectId: objectIdOf(id),
    totalBytes,
    availableBytes: Math.max(0, totalBytes - (yield* shareUsageBytes(tx, id))),
  }
}

function objectIdOf(shareId: number): Buffer {
  const objectId = Buffer.alloc(16)
  objectId.writeBigUInt64LE(BigInt(shareId), 0)
  objectId.writeUInt32LE(volumeSerialNumber(shareId), 8)
  return objectId
}
