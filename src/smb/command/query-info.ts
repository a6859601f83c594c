// QUERY_INFO ([MS-SMB2] 3.3.5.20): information on a file, on the share as a volume, and security descriptors.
import { requireOpenedState, type OpenedNode } from '../../storage/file/open/opened-node.ts'
import { RIGHT, requireRights } from '../handle/access.ts'
import { allocatedBytesOf } from '../handle/allocation.ts'
import { requireDisk, requireHandle, type SmbCall, type SmbReply } from '../call.ts'
import type { FileHandle, Handle } from '../world.ts'
import { fileFactsOf, fileIdOf } from '../handle/file-facts.ts'
import { querySecurity } from '../handle/security.ts'
import { SmbError } from '../smb-error.ts'
import { checkTransfer } from '../handle/transfer.ts'
import { volumeFactsOf, volumeSerialNumber } from '../handle/volume.ts'
import { visibleWriteTime } from '../handle/write-time.ts'
import { encodeFileInformation, type FileFacts } from '../wire/information/file-information.ts'
import type { Information } from '../wire/information/information.ts'
import {
  decodeQueryInfoRequest,
  encodeQueryInfoResponse,
  INFORMATION_TYPE,
  type QueryInfoRequest,
} from '../wire/information/query-info.ts'
import { encodeVolumeInformation } from '../wire/information/volume-information.ts'

export async function runQueryInfo(call: SmbCall): Promise<SmbReply> {
  const request = decodeQueryInfoRequest(call.message)
  checkTransfer(call, request.outputMaxBytes)
  const handle = requireHandle(call, request.fileId)
  const { status, bytes } = await query(call, handle, request)
  if (status !== 'SUCCESS' && status !== 'BUFFER_OVERFLOW') throw new SmbError(status)
  return { status, body: [encodeQueryInfoResponse(bytes)] }
}

async function query(
  call: SmbCall,
  handle: Handle,
  request: QueryInfoRequest,
): Promise<Information> {
  const { type, informationClass, outputMaxBytes } = request
  if (handle.kind === 'pipe') return queryPipe(request)
  switch (type) {
    case INFORMATION_TYPE.file:
      requireRights(handle, FILE_RIGHTS[informationClass] ?? 0)
      return encodeFileInformation(informationClass, await readFacts(call, handle), outputMaxBytes)
    case INFORMATION_TYPE.fileSystem: {
      const tree = requireDisk(call)
      const facts = await call.world.kv.read((tx) => volumeFactsOf(tx, tree))
      return encodeVolumeInformation(informationClass, facts, outputMaxBytes)
    }
    case INFORMATION_TYPE.security:
      return await querySecurity(call, handle, request)
    case INFORMATION_TYPE.quota:
      // Shares have quotas, users don't.
      throw new SmbError('NOT_SUPPORTED')
    default:
      throw new SmbError('INVALID_PARAMETER')
  }
}

/** The right that a class needs ([MS-FSA] 2.1.5.12); the others need none. */
const FILE_RIGHTS: Readonly<Record<number, number | undefined>> = {
  4: RIGHT.readAttributes,
  15: RIGHT.readEa,
  18: RIGHT.readAttributes,
  34: RIGHT.readAttributes,
  35: RIGHT.readAttributes,
}

type Opened = OpenedNode & { readonly deletePending: boolean }

async function readFacts(call: SmbCall, handle: FileHandle): Promise<FileFacts> {
  const tree = requireDisk(call)
  const { nowMs } = call.world.moment()
  const opened = await call.world.kv.read((tx) => requireOpenedState(tx, tree, handle.open))
  return factsOf(handle, opened, nowMs)
}

function factsOf(
  handle: FileHandle,
  { node, open, view: { shareId }, deletePending }: Opened,
  nowMs: number,
): FileFacts {
  const { position, mode } = handle
  const { linkCount = 1 } = node
  return {
    ...fileFactsOf(node, allocatedBytesOf(handle)),
    lastWriteTime: BigInt(visibleWriteTime(handle, node.lastWriteTime, nowMs)),
    path: open.path.replaceAll('/', '\\'),
    isDirectory: node.kind === 'directory',
    fileId: fileIdOf(shareId, node),
    volumeSerialNumber: BigInt(volumeSerialNumber(shareId)),
    // A name that is about to be deleted does not count.
    numberOfLinks: deletePending ? linkCount - 1 : linkCount,
    deletePending,
    accessMask: open.access,
    mode,
    position,
  }
}

const FILE_STANDARD_INFORMATION = 5

/** A pipe has a meaningless size and disappears with its last handle. */
function queryPipe({ type, informationClass, outputMaxBytes }: QueryInfoRequest): Information {
  if (type !== INFORMATION_TYPE.file || informationClass !== FILE_STANDARD_INFORMATION) {
    throw new SmbError('INVALID_PARAMETER')
  }
  return encodeFileInformation(informationClass, PIPE_FACTS, outputMaxBytes)
}

const PIPE_FACTS: FileFacts = {
  creationTime: 0n,
  lastAccessTime: 0n,
  lastWriteTime: 0n,
  changeTime: 0n,
  allocationSize: 4_096,
  endOfFile: 0,
  fileAttributes: 0x80,
  path: '',
  isDirectory: false,
  fileId: 0n,
  volumeSerialNumber: 0n,
  numberOfLinks: 1,
  deletePending: true,
  accessMask: 0,
  mode: 0,
  position: 0,
}
