// What copies read from, for the Blob and the File service alike: both take sources of either, and of others as
// far as they are permitted.
import type { AuthWorld } from './auth/world.ts'
import { blobAccessPolicy, blobPublicAccess } from './rest/blob/front.ts'
import type { CopySources, SourceServiceName } from './rest/copy-sources.ts'
import { fileAccessPolicy } from './rest/file/front.ts'
import { NO_PUBLIC_ACCESS, worldOf, type RunContext } from './run-front.ts'

export type RunningCopySources = {
  readonly copySources: CopySources
  /** Lets go of sources that requests still read. */
  end(): void
}

export function runCopySources(
  context: RunContext,
  files: CopySources['files'],
  listens: CopySources['listens'],
): RunningCopySources {
  const { options, store } = context
  const ending = new AbortController()
  const worlds: Readonly<Record<SourceServiceName, () => AuthWorld>> = {
    blob: worldOf(context, {
      accessPolicy: (request, id) => blobAccessPolicy(store, request, id),
      publicAccess: (request) => blobPublicAccess(store, request),
    }),
    file: worldOf(context, {
      accessPolicy: (request, id) => fileAccessPolicy(files, request, id),
      publicAccess: NO_PUBLIC_ACCESS,
    }),
  }
  const copySources: CopySources = {
    patterns: options.allowCopyFrom,
    pathStyleOnly: options.disableProductStyleUrl,
    signal: ending.signal,
    listens,
    world: (service) => worlds[service](),
    files,
  }
  return { copySources, end: () => ending.abort() }
}
