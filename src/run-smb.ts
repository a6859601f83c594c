// The SMB server put together: the second door to the File service's shares.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { FileService } from './rest/file/service.ts'
import type { RunContext } from './run-front.ts'
import type { SmbWorld } from './smb/call.ts'
import { createSmbListener, type SmbListener } from './smb/listen.ts'

export function runSmb({ options, log, smbUsers }: RunContext, file: FileService): SmbListener {
  const name = hostname().split('.', 1)[0] || 'lazuli'
  const world: SmbWorld = {
    ...file,
    users: smbUsers,
    settings: { signing: options.smbSigning, encryption: options.smbEncryption },
    names: { nbName: name.slice(0, 15).toUpperCase(), dnsName: name.toLowerCase(), dnsDomain: '' },
    serverGuid: randomBytes(16),
    startedMs: file.moment().nowMs,
    random: randomBytes,
    logFault: (error) => log.error('an SMB request failed', { error }),
    sessions: new Map(),
    handles: new Map(),
    creates: new Map(),
    connections: new Set(),
  }
  return createSmbListener(world)
}
