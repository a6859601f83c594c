// The entity headers that a blob or a file keeps and gives back.
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
