// What only SMB refuses, in its own words: the rules of [MS-FSA] name these statuses, and REST has no error for
// them.

export type Refusal =
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
  readonly status: Refusal

  constructor(status: Refusal) {
    super(status)
    this.name = 'SmbRefused'
    this.status = status
  }
}
