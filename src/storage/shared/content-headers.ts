// The content headers of a blob or file, which are stored and returned.

/** A type that was cleared: answers have none. A type that was never set is the default. */
export const NO_CONTENT_TYPE = ''

export type ContentHeaders = {
  /** Defaults to application/octet-stream. */
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly contentLanguage?: string
  readonly contentDisposition?: string
  readonly cacheControl?: string
  /** Base64. */
  readonly contentMd5?: string
}
