// FSCTL_LMR_REQUEST_RESILIENCY ([MS-SMB2] 3.3.5.15.9): makes an open outlive its connection, whatever it caches. The
// client reconnects it like a durable handle of version 1.
import { requireDisk, requireSession } from '../call.ts'
import { SmbError } from '../smb-error.ts'
import { decodeResiliencyTimeoutMs } from '../wire/file/fsctl.ts'
import { NO_OUTPUT, requireFile, type FsctlCall, type FsctlReply } from './fsctl.ts'

const TIMEOUT_MS = 120_000
const TIMEOUT_MS_MAX = 300_000

export function runRequestResiliency(call: FsctlCall): FsctlReply {
  const handle = requireFile(call)
  const requestedMs = decodeResiliencyTimeoutMs(call.input)
  if (requestedMs > TIMEOUT_MS_MAX) throw new SmbError('INVALID_PARAMETER')
  if (handle.durable?.kind === 'persistent') return { output: NO_OUTPUT }
  const { account, sid, share } = requireDisk(call)
  handle.durable = {
    kind: 'resilient',
    timeoutMs: requestedMs === 0 ? TIMEOUT_MS : requestedMs,
    account,
    sid,
    share,
    clientGuid: requireSession(call).clientGuid.toString('hex'),
    createGuid: handle.durable?.createGuid,
  }
  return { output: NO_OUTPUT }
}
