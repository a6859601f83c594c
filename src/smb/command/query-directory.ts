// QUERY_DIRECTORY ([MS-SMB2] 3.3.5.18): the entries of a directory that match a pattern, as many as fit.
import { RIGHT, requireRights } from '../handle/access.ts'
import { requireDisk, requireHandle, type SmbCall, type SmbReply } from '../call.ts'
import {
  restartScan,
  scanPage,
  startScan,
  type DirectoryScan,
  type Scanned,
  type ScanPosition,
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

type ScanState = { scan: DirectoryScan | undefined; last: Promise<unknown> }

const STATE_KEY = 'directory-scan'

function scanState({ commandState }: FileHandle): ScanState {
  const found = commandState.get(STATE_KEY) as ScanState | undefined
  if (found !== undefined) return found
  const fresh: ScanState = { scan: undefined, last: Promise.resolve() }
  commandState.set(STATE_KEY, fresh)
  return fresh
}

/** Concurrent requests continue the same scan, one after the other. */
async function inTurn<T>(handle: FileHandle, run: () => Promise<T>): Promise<T> {
  const state = scanState(handle)
  const turn = state.last.then(run)
  state.last = turn.catch(() => undefined)
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

/** The pattern of the first request stays in effect until the client reopens the scan. */
function scanFor(handle: FileHandle, { flags, pattern }: QueryDirectoryRequest): DirectoryScan {
  const state = scanState(handle)
  const isReopened = (flags & QUERY_DIRECTORY_FLAG.reopen) !== 0
  if (state.scan === undefined || (isReopened && pattern !== '')) {
    if (pattern === '' || /[\\/]/.test(pattern)) throw new SmbError('OBJECT_NAME_INVALID')
    state.scan = startScan(pattern)
  } else if (isReopened || (flags & QUERY_DIRECTORY_FLAG.restartScans) !== 0) {
    restartScan(state.scan)
  }
  return state.scan
}

/** About the size of an entry with a short name. */
const ENTRY_BYTES = 128
const COUNT_MAX = 4_096

function estimate(outputMaxBytes: number): number {
  return Math.min(Math.ceil(outputMaxBytes / ENTRY_BYTES), COUNT_MAX)
}

/** At least one entry, if there is any. */
async function fill(
  call: SmbCall,
  handle: FileHandle,
  scan: DirectoryScan,
  countMax: number,
): Promise<readonly Scanned[]> {
  let from: ScanPosition | undefined = scan.position
  while (from !== undefined) {
    const page = await scanPage(call.world, requireDisk(call), handle, scan, from, countMax)
    if (page.found.length > 0) return page.found
    from = page.next
    // The next request does not scan the skipped entries again.
    if (from !== undefined) scan.position = from
  }
  return []
}
