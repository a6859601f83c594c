// The File service as the server sees it: served here, or by the home of a cluster (cluster/files.ts).
import type { RequestHandler } from '../http/protocol/exchange.ts'
import type { Listener, Route } from '../http/protocol/listener.ts'
import type { Analytics } from '../rest/blob/log/analytics.ts'
import type { SourceFiles } from '../rest/file/copy/source.ts'
import type { FileService } from '../rest/file/service.ts'
import type { CopySources } from '../rest/shared/copy/copy-sources.ts'
import type { SmbListener } from '../smb/listen.ts'
import type { FileKv } from '../storage/file/open/open.ts'
import { runFile } from './file.ts'
import type { RunContext } from './front.ts'

export type Files = {
  readonly handler: RequestHandler
  /** For connections to the file port; undefined: all are served here. */
  readonly route: Route | undefined
  /** The handler of the Blob service, whose copies may read files. */
  blobHandler(handler: RequestHandler): RequestHandler
  /** Of a node, only while it is the home. */
  service(): FileService
  /** For copies; throws ServerBusy if the files are not served here. */
  source(): SourceFiles
  /** For people; undefined if another node is the home. */
  kv(): FileKv | undefined
  openSmb(): Promise<SmbListener>
  /** Connections that are served by another node. */
  relayedCount(): number
  /** After something other than a request has changed the store. Not for nodes. */
  resumeCopies(): Promise<void>
  /** Called when all ports are open. */
  begin(listeners: ServiceListeners): Promise<void>
  /** Called before the ports close. */
  beginClose(): Promise<void>
  /** Called after the ports have closed. */
  close(): Promise<void>
}

/** The listeners of the services that this server offers. */
export type ServiceListeners = { readonly blob?: Listener; readonly file?: Listener }

/** The files of a server that is alone. */
export function ownFiles(
  context: RunContext,
  analytics: Analytics,
  copySources: CopySources,
  files: SourceFiles,
): Files {
  const { handler, service, resumeCopies, stopCopies } = runFile(
    context,
    analytics,
    copySources,
    files,
  )
  return {
    handler,
    route: undefined,
    blobHandler: (blob) => blob,
    service: () => service,
    source: () => files,
    kv: () => files.kv,
    openSmb: async () => (await import('./smb.ts')).runSmb(context, service),
    relayedCount: () => 0,
    resumeCopies,
    begin: async ({ file }) => {
      if (file !== undefined) await resumeCopies()
    },
    beginClose: () => stopCopies(),
    close: async () => {},
  }
}
