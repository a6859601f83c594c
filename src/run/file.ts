// Assembles the File service: REST, and the parts that the SMB server shares with it.
import type { RequestHandler } from '../http/protocol/exchange.ts'
import { handlerOf } from '../http/door/serve.ts'
import type { Analytics } from '../rest/blob/log/analytics.ts'
import { CopyJobs } from '../rest/shared/copy/copy-jobs.ts'
import type { CopySources } from '../rest/shared/copy/copy-sources.ts'
import { fileCopies } from '../rest/file/copy/copy-job.ts'
import type { SourceFiles } from '../rest/file/copy/source.ts'
import { FILE_SERVER_HEADER } from '../rest/file/front.ts'
import { FILE_TABLE } from '../rest/file/operations.ts'
import type { FileService } from '../rest/file/service.ts'
import { frontOf, nameReuseMs, type RunContext } from './front.ts'

export type RunningFile = {
  readonly handler: RequestHandler
  readonly service: FileService
  /** Resumes the copies that a shutdown or a crash interrupted. */
  resumeCopies(): Promise<void>
  /** Interrupts the running copies; the next start resumes them. */
  stopCopies(): Promise<void>
}

export function runFile(
  context: RunContext,
  analytics: Analytics,
  copySources: CopySources,
  { kv, after }: SourceFiles,
): RunningFile {
  const { store, accounts, log } = context
  const report = (error: unknown) => log.error('a copy failed', { error })
  const copyJobs = new CopyJobs({ ...store, copySources, report }, fileCopies({ ...store, kv }))
  const { world } = copySources.services.file
  const service: FileService = {
    ...store,
    kv,
    accounts,
    nameReuseMs: nameReuseMs(context),
    recycle: (chunk) => store.extents.recycle(chunk),
    world,
    copySources,
    copyJobs,
    after,
  }
  const own = {
    name: 'file',
    serverHeader: FILE_SERVER_HEADER,
    table: FILE_TABLE,
    service,
  } as const
  return {
    handler: handlerOf(frontOf(context, own, world, analytics)),
    service,
    resumeCopies: () => copyJobs.resume(),
    stopCopies: () => copyJobs.close(),
  }
}
