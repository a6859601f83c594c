// Starts the File service on a node that has become the home: a kv of its own, REST, SMB and the copies that were pending.
import { StoreUnavailable } from '../../kv/engine/unavailable.ts'
import type { Analytics } from '../../rest/blob/log/analytics.ts'
import type { FileService } from '../../rest/file/service.ts'
import type { CopySources } from '../../rest/shared/copy/copy-sources.ts'
import { startSmb } from '../../smb/listen.ts'
import { viewOfSmb } from '../../smb/view.ts'
import type { LoginReport } from '../../smb/session/login-report.ts'
import { errorReason } from '../../start/start-error.ts'
import { runFile } from '../file.ts'
import type { RunContext } from '../front.ts'
import type { StartedFiles } from './hosted-files.ts'
import type { Membership } from './membership.ts'
import type { Report } from './rarely.ts'
import { smbWorld } from '../smb.ts'

export type StartSettings = {
  readonly membership: Membership
  readonly analytics: Analytics
  readonly copySources: CopySources
  readonly after: FileService['after']
  /** undefined: the shares are not offered over SMB. */
  readonly reportLogin: ((report: LoginReport) => void) | undefined
  readonly warn: Report
}

export async function startFiles(
  context: RunContext,
  { membership, analytics, copySources, after, reportLogin, warn }: StartSettings,
): Promise<StartedFiles> {
  const { kv, close } = await membership.openFilesKv()
  const source = { kv, after }
  const file = runFile(context, analytics, copySources, source)
  const { handler, service, stopCopies } = file
  let isStopped = false
  const logFault = (error: unknown): void => {
    // What still runs after the role is lost fails, as it should.
    if (isStopped) return
    if (!(error instanceof StoreUnavailable)) return context.log.error(SMB_FAILED, { error })
    warn(SMB_FAILED, { reason: errorReason(error) })
  }
  const world = reportLogin && { ...smbWorld(context, service, reportLogin), logFault }
  const smb = world && startSmb(world)
  const smbView = world && viewOfSmb(world)
  const dropSmb = async (): Promise<void> => smb?.drop()
  const stop = async (): Promise<void> => {
    isStopped = true
    await dropSmb()
    await stopCopies()
    await smb?.stop()
    await close()
  }
  try {
    await smb?.prepared
    await file.resumeCopies()
  } catch (error) {
    await stop()
    throw error
  }
  const acceptSmb: StartedFiles['acceptSmb'] = (socket, client) =>
    smb === undefined ? void socket.destroy() : smb.accept(socket, client)
  return { handler, service, source, smbView, acceptSmb, dropSmb, stopCopies, stop }
}

const SMB_FAILED = 'an SMB request failed'
