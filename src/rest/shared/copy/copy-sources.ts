// Types of copies from a URL: what they need from the server, and what a source is.
import type { AuthWorld } from '../../../auth/world.ts'
import type { RequestWatch } from '../../../control/watch.ts'
import type { CopyPattern } from '../../../http/client/copy-source.ts'
import type { Request } from '../../../http/door/operation.ts'
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import type { Attempted, Kv } from '../../../kv/kv.ts'
import type { ContentHeaders } from '../../../storage/shared/content-headers.ts'
import type { OtherSource } from '../../../storage/shared/copy/copy-source.ts'
import type { Metadata } from '../../../storage/shared/metadata.ts'
import type { ByteSource } from '../byte-source.ts'

export type CopySources = {
  /** `--allowCopyFrom` */
  readonly patterns: readonly CopyPattern[]
  /** `--disableProductStyleUrl` */
  readonly pathStyleOnly: boolean
  /** Aborts reads from other servers when this one closes. */
  readonly signal: AbortSignal
  /** Where the services listen. */
  listens(): readonly ListenAddress[]
  readonly services: Readonly<Record<SourceServiceName, SourceService>>
  /** Opens a source in this store, of either service. */
  openLocal(request: Request, source: LocalSource, wants: LocalWants): Promise<OpenSource>
}

/** The services that copies can read from. */
export type SourceServiceName = 'blob' | 'file'

type SourceService = {
  /** Authenticates a request for a source. */
  world(): AuthWorld
  /** The blob or file that a request names. What its transactions do counts as done by the watched request. */
  locate(readRequest: Request, watch: RequestWatch | undefined): SourceObject
}

/** A blob or file, in the form that both services can read. */
export type SourceObject = OtherSource & {
  /** Runs a read of it; reading a file may have to wait for SMB clients. */
  attempt<T>(
    request: Request,
    attempt: (kv: Pick<Kv, 'attempt' | 'attemptRead'>) => Promise<Attempted<T>>,
  ): Promise<Attempted<T>>
}

export type CopySource = LocalSource | RemoteSource

export type LocalSource = {
  readonly kind: 'local'
  /** The URL that the client sent, without the signature of a SAS; returned as the copy's source. */
  readonly text: string
  readonly service: SourceServiceName
  /** The request that a client would send to read it. */
  readonly readRequest: Request
  readonly object: SourceObject
}

export type RemoteSource = {
  readonly kind: 'remote'
  readonly text: string
  readonly url: URL
  /** With the signature. A copy that outlives its request needs it; it is never shown. */
  readonly wholeText: string
}

/** A source that is being read, with its properties. */
export type OpenSource = ByteSource & {
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly etag?: string
  /** Whether it supports ranges. */
  readonly isRanged: boolean
  /** Whether it accepts If-Match; files don't. */
  readonly takesConditions: boolean
  /** The stamp of a blob in this store. */
  readonly stamp?: number
  /** Releases it. May be called at any time and more than once. */
  close(): void
}

export type SourceWants = {
  readonly tags: boolean
  /** Default: all bytes. */
  readonly range?: ByteRange
  /** A longer source is refused. */
  readonly bytesMax: number
}

/**
 * Operations that write bytes from a URL report an unmet source condition with the status of the source (304 or 412);
 * copies of whole blobs report SourceConditionNotMet.
 */
export type FetchWants = { readonly isFetched?: boolean }

export type LocalWants = Pick<SourceWants, 'range'> & FetchWants

type ListenAddress = {
  readonly service: string
  readonly host: string
  readonly port: number
}
