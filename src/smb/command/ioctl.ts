// IOCTL ([MS-SMB2] 3.3.5.15): the FSCTLs as a table. An FSCTL that is not in it is not supported.
import { requireHandle, type SmbCall, type SmbReply } from '../call.ts'
import { runGetCompression, runSetCompression } from '../fsctl/compression.ts'
import { runCopyChunk, runCopyChunkWrite, runRequestResumeKey } from '../fsctl/copy-chunk.ts'
import type { Fsctl } from '../fsctl/fsctl.ts'
import { runQueryNetworkInterface } from '../fsctl/network-interface.ts'
import { runCreateOrGetObjectId } from '../fsctl/object-id.ts'
import { runPipePeek, runPipeTransceive, runPipeWait } from '../fsctl/pipe.ts'
import { runDfsGetReferrals } from '../fsctl/referral.ts'
import { runRequestResiliency } from '../fsctl/resiliency.ts'
import { runEnumerateSnapshots } from '../fsctl/snapshots.ts'
import { runValidateNegotiate } from '../fsctl/validate-negotiate.ts'
import { runQueryAllocatedRanges, runSetZero } from '../fsctl/zero.ts'
import type { Handle } from '../world.ts'
import { SmbError } from '../smb-error.ts'
import { checkTransfer, onChannel } from '../handle/transfer.ts'
import { isFileIdAllOnes } from '../wire/file-id.ts'
import { FSCTL } from '../wire/file/fsctl.ts'
import { decodeIoctlRequest, encodeIoctlResponse, type IoctlRequest } from '../wire/file/ioctl.ts'

// prettier-ignore
const ROWS: readonly Fsctl[] = [
  { name: 'dfsGetReferrals', on: 'server', run: runDfsGetReferrals },
  { name: 'validateNegotiate', on: 'server', run: runValidateNegotiate },
  { name: 'pipeWait', on: 'server', run: runPipeWait },
  { name: 'pipePeek', on: 'handle', run: runPipePeek },
  { name: 'pipeTransceive', on: 'handle', run: runPipeTransceive },
  { name: 'queryNetworkInterface', on: 'server', run: runQueryNetworkInterface },
  { name: 'srvEnumerateSnapshots', on: 'handle', run: runEnumerateSnapshots },
  { name: 'srvRequestResumeKey', on: 'handle', run: runRequestResumeKey },
  { name: 'srvCopyChunk', on: 'handle', run: runCopyChunk },
  { name: 'srvCopyChunkWrite', on: 'handle', run: runCopyChunkWrite },
  { name: 'getCompression', on: 'handle', run: runGetCompression },
  { name: 'setCompression', on: 'handle', run: runSetCompression },
  { name: 'queryAllocatedRanges', on: 'handle', run: runQueryAllocatedRanges },
  { name: 'setZero', on: 'handle', run: runSetZero },
  { name: 'createOrGetObjectId', on: 'handle', run: runCreateOrGetObjectId },
  { name: 'lmrRequestResiliency', on: 'handle', run: runRequestResiliency },
]

export const FSCTLS: ReadonlyMap<number, Fsctl> = new Map(ROWS.map((row) => [FSCTL[row.name], row]))

export async function runIoctl(call: SmbCall): Promise<SmbReply> {
  const request = decodeIoctlRequest(call.message)
  const { ctlCode, input, outputMaxBytes, fileId } = request
  checkTransfer(call, Math.max(input.length, outputMaxBytes))
  if (!request.isFsctl) throw new SmbError('NOT_SUPPORTED')
  const fsctl = FSCTLS.get(ctlCode)
  const handle = handleOf(call, fsctl, request)
  if (fsctl === undefined) throw new SmbError('INVALID_DEVICE_REQUEST')
  const run = () => fsctl.run({ ...call, input, outputMaxBytes, handle })
  const { status = 'SUCCESS', output } = await (handle ? onChannel(call, handle, run) : run())
  return { status, body: [encodeIoctlResponse({ ctlCode, fileId, output })] }
}

/** An FSCTL on the server names no file. */
function handleOf(
  call: SmbCall,
  fsctl: Fsctl | undefined,
  { fileId }: IoctlRequest,
): Handle | undefined {
  if (fsctl?.on !== 'server') return requireHandle(call, fileId)
  if (!isFileIdAllOnes(fileId)) throw new SmbError('INVALID_PARAMETER')
  return undefined
}
