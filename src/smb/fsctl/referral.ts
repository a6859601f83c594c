// FSCTL_DFS_GET_REFERRALS ([MS-SMB2] 3.3.5.15.2). There is no DFS; clients that ask continue without it.
import { SmbError } from '../smb-error.ts'
import type { FsctlReply } from './fsctl.ts'

export function runDfsGetReferrals(): FsctlReply {
  throw new SmbError('NOT_FOUND')
}
