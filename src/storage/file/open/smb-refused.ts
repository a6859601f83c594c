// Errors that only SMB has: statuses of the rules in [MS-FSA] without a counterpart in REST.

type SmbRefusal =
  | 'ACCESS_DENIED'
  | 'CANNOT_DELETE'
  | 'FILE_IS_A_DIRECTORY'
  | 'INVALID_OWNER'
  | 'INVALID_PARAMETER'
  | 'MEDIA_WRITE_PROTECTED'
  | 'NOT_A_DIRECTORY'
  | 'PRIVILEGE_NOT_HELD'
  | 'QUOTA_EXCEEDED'

export class SmbRefused extends Error {
  readonly status: SmbRefusal

  constructor(status: SmbRefusal) {
    super(status)
    this.name = 'SmbRefused'
    this.status = status
  }
}
