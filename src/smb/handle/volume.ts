// A share as a volume: its quota is the size, and its files are the used space.
import type { ReadTx, Step } from '../../kv/kv.ts'
import { getNode, ROOT_ID } from '../../storage/file/tree/node.ts'
import { requireShare, shareUsageBytes, type ShareAddress } from '../../storage/file/share/share.ts'
import type { VolumeFacts } from '../wire/information/volume-information.ts'

const GIB = 2 ** 30

/** 32 bits, the size in FileFsVolumeInformation. Different for each share of a server. */
export function volumeSerialNumber(shareId: number): number {
  // Knuth's multiplicative hash, because ids are small consecutive numbers.
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
