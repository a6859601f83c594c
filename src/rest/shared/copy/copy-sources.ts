// What copies from a URL need of the server around them, and what a source is to them.
import type { AuthWorld } from '../../../auth/world.ts'
import type { CopyPattern } from '../../../http/client/copy-source.ts'
import type { Request } from '../../../http/door/operation.ts'
import type { ByteRange } from '../../../http/protocol/range.ts'
import type { Kv } from '../../../kv/kv.ts'
import type { ContentHeaders } from '../../../storage/shared/content-headers.ts'
import type { OtherSource } from '../../../storage/shared/copy-source.ts'
import type { Metadata } from '../../../storage/shared/metadata.ts'
import type { Source } from '../byte-source.ts'

export type CopySources = {
  /** `--allowCopyFrom` */
  readonly patterns: readonly CopyPattern[]
  /** `--disableProductStyleUrl` */
  readonly pathStyleOnly: boolean
  /** Ends reading from elsewhere, when the server closes. */
  readonly signal: AbortSignal
  /** Where the services listen. */
  listens(): readonly ListenAddress[]
  readonly services: Readonly<Record<SourceServiceName, SourceService>>
  /** The bytes of a source of this store, of either service. */
  openLocal(request: Request, source: LocalSource, wants: LocalWants): Promise<OpenSource>
}

/** The services that have something to copy. */
export type SourceServiceName = 'blob' | 'file'

export type SourceService = {
  /** What a request for a source is authenticated in. */
  world(): AuthWorld
  /** The blob or file that a request names. */
  locate(asked: Request): SourceObject
}

/** A blob or file, as both services read it. */
export type SourceObject = OtherSource & {
  /** Runs what reads it: a file may have to wait for SMB clients. */
  attempt<T>(request: Request, attempt: (kv: Pick<Kv, 'read' | 'write'>) => Promise<T>): Promise<T>
}

export type CopySource = LocalSource | RemoteSource

export type LocalSource = {
  readonly kind: 'local'
  /** As the client wrote it, but for the signature of a SAS: what is shown as the copy's source. */
  readonly text: string
  readonly service: SourceServiceName
  /** The request that a client would have sent to read it. */
  readonly asked: Request
  readonly object: SourceObject
}

export type RemoteSource = {
  readonly kind: 'remote'
  readonly text: string
  readonly url: URL
  /** With the signature: what a copy that outlives its request is read by, and nobody is shown. */
  readonly wholeText: string
}

/** A source that is being read, with what it says of itself. */
export type OpenSource = Source & {
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly etag?: string
  /** Whether a part of it can be asked for. */
  readonly isRanged: boolean
  /** Whether it may be asked with If-Match: files may not. */
  readonly takesConditions: boolean
  /** Of a blob of this store: which state it is. */
  readonly stamp?: number
  /** Lets go of it; may be called at any time and again. */
  close(): void
}

export type SourceWants = {
  readonly tags: boolean
  /** Which bytes; all of them if left out. */
  readonly range?: ByteRange
  /** A longer source is refused; the unit in the message is the service's. */
  readonly bytesMax: number
}

/**
 * Operations that write bytes from a URL tell an unmet condition of the source as the source's own answer (304
 * or 412); copies of whole blobs have SourceConditionNotMet.
 */
export type FetchWants = { readonly isFetched?: boolean }

export type LocalWants = Pick<SourceWants, 'range'> & FetchWants

type ListenAddress = {
  readonly service: string
  readonly host: string
  readonly port: number
}
