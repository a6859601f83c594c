// FSCTL_SET_ZERO_DATA and FSCTL_QUERY_ALLOCATED_RANGES ([MS-FSCC] 2.3.48, 2.3.71).
import { allocatedRanges, zeroOpened } from '../../storage/file/bytes/smb-zero.ts'
import { RIGHT, requireRights } from '../handle/access.ts'
import { frozenTimesOf } from '../handle/frozen-times.ts'
import { SmbError } from '../smb-error.ts'
import { openedAt } from '../handle/transfer.ts'
import { clampToNumber } from '../wire/body.ts'
import {
  decodeAllocatedRangeQuery,
  decodeSetZero,
  encodeAllocatedRanges,
} from '../wire/file/fsctl.ts'
import { NO_OUTPUT, requireFile, type FsctlCall, type FsctlReply } from './fsctl.ts'

const RANGE_BYTES = 16

export async function runSetZero(call: FsctlCall): Promise<FsctlReply> {
  const handle = requireFile(call)
  const { offset, beyondFinalZero } = decodeSetZero(call.input)
  if (handle.open.isDirectory) throw new SmbError('INVALID_PARAMETER')
  requireRights(handle, RIGHT.writeData)
  const at = openedAt(handle)
  const range = { from: clampToNumber(offset), to: clampToNumber(beyondFinalZero) }
  const { world } = call
  const by = { moment: world.moment(), newId: world.newId(), zerosId: world.newId() }
  const frozen = frozenTimesOf(handle)
  await world.kv.write((tx) => zeroOpened(tx, at, { range, frozen }, by))
  return { output: NO_OUTPUT }
}

export async function runQueryAllocatedRanges(call: FsctlCall): Promise<FsctlReply> {
  const handle = requireFile(call)
  const { offset, length } = decodeAllocatedRangeQuery(call.input)
  if (handle.open.isDirectory) throw new SmbError('INVALID_PARAMETER')
  requireRights(handle, RIGHT.readData)
  const at = openedAt(handle)
  const range = { from: clampToNumber(offset), to: clampToNumber(offset + length) }
  // One more than fits, to find out whether there are more.
  const countMax = Math.floor(call.outputMaxBytes / RANGE_BYTES) + 1
  const found = await call.world.kv.read((tx) => allocatedRanges(tx, at, range, countMax))
  const ranges = found.map(({ from, to }) => ({ offset: BigInt(from), length: BigInt(to - from) }))
  const { status, bytes } = encodeAllocatedRanges(ranges, call.outputMaxBytes)
  if (status === 'BUFFER_TOO_SMALL') throw new SmbError(status)
  return { status, output: bytes }
}
