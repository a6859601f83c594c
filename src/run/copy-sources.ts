// The sources of copies, for both the Blob and the File service: blobs and files of this server, and other servers as
// far as they are allowed.
import { blobSource, openLocal } from '../rest/blob/copy/local-source.ts'
import { blobAccessPolicy, blobPublicAccess } from '../rest/blob/front.ts'
import type { CopySources } from '../rest/shared/copy/copy-sources.ts'
import { fileAccessPolicy } from '../rest/file/front.ts'
import { NO_PUBLIC_ACCESS, worldOf, type RunContext } from './front.ts'

export type RunningCopySources = {
  readonly copySources: CopySources
  /** Aborts reads from sources. */
  end(): void
}

export function runCopySources(
  context: RunContext,
  locateFile: CopySources['services']['file']['locate'],
  listens: CopySources['listens'],
): RunningCopySources {
  const { options, store } = context
  const ending = new AbortController()
  const blobWorld = worldOf(context, {
    accessPolicy: (request, id) => blobAccessPolicy(store, request, id),
    publicAccess: (request) => blobPublicAccess(store, request),
  })
  const fileWorld = worldOf(context, {
    accessPolicy: (request, id) => fileAccessPolicy(store, request, id),
    publicAccess: NO_PUBLIC_ACCESS,
  })
  const copySources: CopySources = {
    patterns: options.allowCopyFrom,
    pathStyleOnly: options.disableProductStyleUrl,
    signal: ending.signal,
    listens,
    services: {
      blob: { world: blobWorld, locate: (asked, watch) => blobSource(store, asked, watch) },
      file: { world: fileWorld, locate: locateFile },
    },
    openLocal: (request, source, wants) => openLocal(store, request, source, wants),
  }
  return { copySources, end: () => ending.abort() }
}
