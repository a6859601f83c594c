// What copies from a URL need of the server around them.
import type { AuthWorld } from '../auth/world.ts'
import type { CopyPattern } from '../http/copy-source.ts'
import type { FileKv } from '../storage/file/open.ts'

export type CopySources = {
  /** `--allowCopyFrom` */
  readonly patterns: readonly CopyPattern[]
  /** `--disableProductStyleUrl` */
  readonly pathStyleOnly: boolean
  /** Ends reading from elsewhere, when the server closes. */
  readonly signal: AbortSignal
  /** Where the services listen. */
  listens(): readonly ListenAddress[]
  /** What a request for a source is authenticated in. */
  world(service: SourceServiceName): AuthWorld
  readonly files: SourceFiles
}

/** The services that have something to copy. */
export type SourceServiceName = 'blob' | 'file'

/** How files are read: with what SMB clients hold open, and after waiting for what they cache. */
type SourceFiles = {
  readonly kv: FileKv
  after(delayMs: number, then: () => void): () => void
}

type ListenAddress = {
  readonly service: string
  readonly host: string
  readonly port: number
}
