// The entity headers that a blob or a file keeps and gives back.

/** A content type that was cleared: none is answered. Where none was ever set, it is the default. */
export const NO_CONTENT_TYPE = ''

export type ContentHeaders = {
  /** Left out, it is application/octet-stream. */
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly contentLanguage?: string
  readonly contentDisposition?: string
  readonly cacheControl?: string
  /** Base64. */
  readonly contentMd5?: string
}

/** The type of a file whose type was cleared: its answers have none. */
export const NO_TYPE = ''
