// QUERY_DIRECTORY ([MS-SMB2] 3.3.5.18): the entries of a directory that match a pattern, as many as fit.
import { RIGHT, requireRights } from '../handle/access.ts'
import { requireDisk, requireHandle, type SmbCall, type SmbReply } from '../call.ts'
import {
  restartScan,
  scanPage,
  startScan,
  type DirectoryScan,
  type Position,
  type Scanned,
} from '../handle/directory-scan.ts'
import type { FileHandle } from '../world.ts'
import { SmbError } from '../smb-error.ts'
import { checkTransfer } from '../handle/transfer.ts'
import { encodeDirectoryEntries, isDirectoryClass } from '../wire/information/directory-entry.ts'
import {
  decodeQueryDirectoryRequest,
  encodeQueryDirectoryResponse,
  QUERY_DIRECTORY_FLAG,
  type QueryDirectoryRequest,
} from '../wire/information/query-directory.ts'

export async function runQueryDirectory(call: SmbCall): Promise<SmbReply> {
  const request = decodeQueryDirectoryRequest(call.message)
  const handle = requireHandle(call, request.fileId)
  checkTransfer(call, request.outputMaxBytes)
  if (!isDirectoryClass(request.informationClass)) throw new SmbError('INVALID_INFO_CLASS')
  if (handle.kind !== 'file' || !handle.open.isDirectory) throw new SmbError('INVALID_PARAMETER')
  requireRights(handle, RIGHT.readData)
  const entries = await inTurn(handle, () => query(call, handle, request))
  return { body: [encodeQueryDirectoryResponse(entries)] }
}

type KeptScan = { scan: DirectoryScan | undefined; last: Promise<unknown> }

const KEPT = 'directory-scan'

function keptScan({ kept }: FileHandle): KeptScan {
  const found = kept.get(KEPT) as KeptScan | undefined
  if (found !== undefined) return found
  const fresh: KeptScan = { scan: undefined, last: Promise.resolve() }
  kept.set(KEPT, fresh)
  return fresh
}

/** Requests that were sent together go on with one scan, one after the other. */
async function inTurn<T>(handle: FileHandle, run: () => Promise<T>): Promise<T> {
  const kept = keptScan(handle)
  const turn = kept.last.then(run)
  kept.last = turn.catch(() => undefined)
  return await turn
}

async function query(
  call: SmbCall,
  handle: FileHandle,
  request: QueryDirectoryRequest,
): Promise<Buffer> {
  const scan = scanFor(handle, request)
  const isSingle = (request.flags & QUERY_DIRECTORY_FLAG.returnSingleEntry) !== 0
  const found = await fill(call, handle, scan, isSingle ? 1 : estimate(request.outputMaxBytes))
  if (found.length === 0) throw new SmbError(scan.hasFound ? 'NO_MORE_FILES' : 'NO_SUCH_FILE')
  const entries = (isSingle ? found.slice(0, 1) : found).map(({ entry }) => entry)
  const { informationClass, outputMaxBytes } = request
  const listing = encodeDirectoryEntries(informationClass, entries, outputMaxBytes)
  if (listing.status !== 'SUCCESS') throw new SmbError(listing.status)
  scan.position = found[listing.count - 1]?.position ?? scan.position
  scan.hasFound = true
  return listing.bytes
}

/** The pattern is the first call's until the client reopens the scan. */
function scanFor(handle: FileHandle, { flags, pattern }: QueryDirectoryRequest): DirectoryScan {
  const kept = keptScan(handle)
  const isReopened = (flags & QUERY_DIRECTORY_FLAG.reopen) !== 0
  if (kept.scan === undefined || (isReopened && pattern !== '')) {
    if (pattern === '' || /[\\/]/.test(pattern)) throw new SmbError('OBJECT_NAME_INVALID')
    kept.scan = startScan(pattern)
  } else if (isReopened || (flags & QUERY_DIRECTORY_FLAG.restartScans) !== 0) {
    restartScan(kept.scan)
  }
  return kept.scan
}

/** Entries with a short name take about as much; more are read where that was too few. */
const ENTRY_BYTES = 128
const COUNT_MAX = 4_096

function estimate(outputMaxBytes: number): number {
  return Math.min(Math.ceil(outputMaxBytes / ENTRY_BYTES), COUNT_MAX)
}

/** At least one, if there is any. */
async function fill(
  call: SmbCall,
  handle: FileHandle,
  scan: DirectoryScan,
  countMax: number,
): Promise<readonly Scanned[]> {
  let from: Position | undefined = scan.position
  while (from !== undefined) {
    const page = await scanPage(call.world, requireDisk(call), handle, scan, from, countMax)
    if (page.found.length > 0) return page.found
    from = page.next
    // What was passed over once is not looked at again.
    if (from !== undefined) scan.position = from
  }
  return []
}
