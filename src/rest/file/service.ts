// The dependencies of the File service's operations, and the addresses of shares, directories and files in a request.
import type { Call, Level, Request } from '../../http/door/operation.ts'
import { invalidQuery } from '../../storage/shared/error.ts'
import { parseFilePath } from '../../storage/file/tree/file-name.ts'
import type { FileAddress } from '../../storage/file/tree/node.ts'
import type { FileKv } from '../../storage/file/open/open.ts'
import type { FileCopyPlace } from '../../storage/file/copy/pending-copy.ts'
import type { ShareAddress } from '../../storage/file/share/share.ts'
import { checkShareName } from '../../storage/shared/name.ts'
import type { CopyJobQueue } from '../shared/copy/copy-jobs.ts'
import type { ContentService } from '../shared/service.ts'
import { decodeSnapshotTime } from '../shared/snapshot-time.ts'

export type FileService = Omit<ContentService, 'kv'> & {
  readonly kv: FileKv
  readonly copyJobs: CopyJobQueue<FileCopyPlace>
  /** A timer on the clock of `moment`; returns a function that cancels it. Tests replace it. */
  readonly after: (delayMs: number, then: () => unknown) => () => void
}

export type FileCall = Call<FileService>

/** The root directory is a path of one segment; `restype` distinguishes it from the share. */
export function fileLevel({ path: [share, path] }: Request): Level {
  if (share === undefined) return 'service'
  return path === undefined ? 'container' : 'object'
}

/** The share itself; refuses snapshots, which can't be changed. */
export function shareAddress(request: Request): ShareAddress {
  refuseSnapshot(request)
  return shareOf(request)
}

/** The share, or the snapshot that the query names. */
export function shareAddressAt(request: Request): ShareAddress {
  return { ...shareOf(request), ...snapshotOf(request) }
}

/** A directory or file of the share itself; refuses snapshots. */
export function fileAddress(request: Request): FileAddress {
  refuseSnapshot(request)
  return { ...shareOf(request), path: pathOf(request) }
}

/** A directory or file of the share, or of the snapshot that the query names. */
export function fileAddressAt(request: Request): FileAddress {
  const { account, share } = shareOf(request)
  return { account, share, path: pathOf(request), ...snapshotOf(request) }
}

function shareOf(request: Request): ShareAddress {
  const share = request.path[0] ?? ''
  checkShareName(share)
  return { account: request.account, share }
}

/** The names of a resolved path, from which trailing dots have already been removed. */
export function pathOf({ path }: Pick<Request, 'path'>): readonly string[] {
  return parseFilePath(path[1] ?? '', { allowTrailingDot: true })
}

function refuseSnapshot({ query }: Request): void {
  const snapshot = query.get('sharesnapshot')
  if (snapshot) throw invalidQuery('sharesnapshot', snapshot)
}

function snapshotOf({ query }: Request): { readonly snapshot?: number } {
  const text = query.get('sharesnapshot')
  return text ? { snapshot: decodeSnapshot('sharesnapshot', text) } : {}
}

export function decodeSnapshot(name: string, text: string): number {
  return decodeSnapshotTime(name, text, 'ShareSnapshotNotFound')
}
