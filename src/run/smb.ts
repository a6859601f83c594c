// Assembles the SMB server, which serves the shares of the File service.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { FileService } from '../rest/file/service.ts'
import type { RunContext } from './front.ts'
import type { SmbWorld } from '../smb/world.ts'
import { createSmbListener, type SmbListener } from '../smb/listen.ts'
import {
  LOGIN_OUTCOMES,
  printable,
  REFUSALS,
  type LoginReport,
} from '../smb/session/login-report.ts'

export function runSmb(context: RunContext, file: FileService): SmbListener {
  return createSmbListener(smbWorld(context, file, loginReporter(context)))
}

/** The state of an SMB server that starts now. */
export function smbWorld(
  { options, log, smbUsers, unauthenticated, afterRealTime, control }: RunContext,
  file: FileService,
  reportLogin: SmbWorld['reportLogin'],
): SmbWorld {
  const name = hostname().split('.', 1)[0] || 'lazuli'
  return {
    ...file,
    control,
    users: smbUsers,
    settings: { signing: options.smbSigning, encryption: options.smbEncryption },
    names: { nbName: name.slice(0, 15).toUpperCase(), dnsName: name.toLowerCase(), dnsDomain: '' },
    serverGuid: randomBytes(16),
    startedMs: file.moment().nowMs,
    random: randomBytes,
    logFault: (error) => log.error('an SMB request failed', { error }),
    reportLogin,
    sessions: new Map(),
    handles: new Map(),
    creates: new Map(),
    connections: new Set(),
    unauthenticated,
    afterRealTime,
  }
}

/** Registers a metric, so it is called once per server. */
export function loginReporter({
  log,
  metrics,
}: Pick<RunContext, 'log' | 'metrics'>): (report: LoginReport) => void {
  const count = metrics.counter({
    name: 'lazuli_smb_logins_total',
    label: 'outcome',
    values: LOGIN_OUTCOMES,
  })
  return ({ outcome, name, clientIp }) => {
    count(outcome)
    const fields = { ...(name !== undefined && { user: printable(name) }), client: clientIp }
    if (outcome === 'accepted') log.info('SMB login', fields)
    else log.warn('SMB login refused', { ...fields, reason: REFUSALS[outcome] })
  }
}
