// The entity headers that a blob or a file keeps and gives back.
export type ContentHeaders = {
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly contentLanguage?: string
  readonly contentDisposition?: string
  readonly cacheControl?: string
  /** Base64. */
  readonly contentMd5?: string
}
