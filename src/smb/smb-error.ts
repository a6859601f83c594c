// The NTSTATUS with which a command fails. It is thrown anywhere below and encoded once, in dispatch.ts. Errors of
// storage/ are mapped to NTSTATUS here.
import { ExtentLimitReached, ExtentRetired } from '../extent/error.ts'
import { StorageError, type ErrorCode } from '../storage/shared/error.ts'
import { SmbRefused } from '../storage/file/open/smb-refused.ts'
import { WireError } from './wire/error.ts'
import type { NtStatusName } from './wire/status.ts'

export class SmbError extends Error {
  readonly status: NtStatusName
  /** ErrorData of the response, where the status has any. */
  readonly errorData: Buffer | undefined

  constructor(status: NtStatusName, errorData?: Buffer) {
    super(status)
    this.name = 'SmbError'
    this.status = status
    this.errorData = errorData
  }
}

/** The bytes are not SMB or violate the protocol: the connection is closed without a response. */
export class DropConnection extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'DropConnection'
  }
}

const STATUS_OF: Partial<Readonly<Record<ErrorCode, NtStatusName>>> = {
  CannotDeleteFileOrDirectory: 'CANNOT_DELETE',
  DirectoryNotEmpty: 'DIRECTORY_NOT_EMPTY',
  FileInvalidPermission: 'INVALID_SECURITY_DESCR',
  FileLockConflict: 'FILE_LOCK_CONFLICT',
  InternalError: 'INTERNAL_ERROR',
  InvalidFileOrDirectoryPathName: 'OBJECT_NAME_INVALID',
  InvalidInput: 'INVALID_PARAMETER',
  InvalidResourceName: 'OBJECT_NAME_INVALID',
  LeaseIdMissing: 'SHARING_VIOLATION',
  OperationTimedOut: 'IO_TIMEOUT',
  ParentNotFound: 'OBJECT_PATH_NOT_FOUND',
  PendingCopyOperation: 'SHARING_VIOLATION',
  ReadOnlyAttribute: 'ACCESS_DENIED',
  ResourceAlreadyExists: 'OBJECT_NAME_COLLISION',
  ResourceNotFound: 'OBJECT_NAME_NOT_FOUND',
  ResourceTypeMismatch: 'OBJECT_TYPE_MISMATCH',
  ServerBusy: 'INSUFFICIENT_RESOURCES',
  ShareNotFound: 'NETWORK_NAME_DELETED',
  ShareSizeLimitReached: 'DISK_FULL',
  ShareSnapshotNotFound: 'OBJECT_NAME_NOT_FOUND',
  SharingViolation: 'SHARING_VIOLATION',
  SMBDeletePending: 'DELETE_PENDING',
  TooManyRequests: 'INSUFFICIENT_RESOURCES',
}

/** undefined: a bug, to be logged and answered with INTERNAL_ERROR. */
export function smbErrorOf(error: unknown): SmbError | undefined {
  if (error instanceof SmbError) return error
  if (error instanceof WireError || error instanceof SmbRefused) return new SmbError(error.status)
  if (isDiskFull(error)) return new SmbError('DISK_FULL')
  // The write took so long that its extent was retired. The client may retry.
  if (error instanceof ExtentRetired) return new SmbError('INSUFFICIENT_RESOURCES')
  if (!(error instanceof StorageError)) return undefined
  const status = STATUS_OF[error.code]
  return status === undefined ? undefined : new SmbError(status)
}

function isDiskFull(error: unknown): boolean {
  if (error instanceof ExtentLimitReached) return true
  return error instanceof Error && 'code' in error && error.code === 'ENOSPC'
}
