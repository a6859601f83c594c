// FSCTL_DFS_GET_REFERRALS ([MS-SMB2] 3.3.5.15.2). There is no DFS here, and clients that ask first go on without.
import { SmbError } from '../smb-error.ts'
import type { FsctlReply } from './fsctl.ts'

export function runDfsGetReferrals(): FsctlReply {
  throw new SmbError('NOT_FOUND')
}
