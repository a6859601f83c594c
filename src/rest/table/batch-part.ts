// Decodes a part of a batch to a request of its own, with the caller, account and version of the batch.
import type { Body } from '../../http/protocol/body.ts'
import { optionalHeader } from '../../http/protocol/header.ts'
import { parseHttpRequestPart, type MultipartPart } from '../../http/protocol/multipart.ts'
import type { Request } from '../../http/door/operation.ts'
import { parseQuery } from '../../http/protocol/query.ts'
import { resolvePath } from '../../http/door/resource-path.ts'
import { once } from '../shared/upload.ts'

export type BatchPart = {
  /** From the request within the part. Recorded: a Content-ID among the part's own headers is not returned. */
  readonly contentId: string | undefined
  readonly request: Request
  readonly body: Buffer
}

export function decodePart(outer: Request, { body }: MultipartPart): BatchPart {
  const part = parseHttpRequestPart(body)
  const { rawPath, rawQuery } = splitUrl(part.url)
  const contentId = optionalHeader(part.headers, 'content-id')
  const partHeaders = part.headers as Request['headers']
  const query = parseQuery(rawQuery)
  const context = { query, headers: partHeaders, version: outer.version }
  const request: Request = {
    ...outer,
    method: part.method,
    headers: partHeaders,
    rawHeaders: part.rawHeaders,
    rawPath,
    path: resolvePath('table', resourceOf(outer, rawPath), context),
    query,
    body: bodyOf(part.body),
  }
  return { contentId, request, body: part.body }
}

/** Accepts an absolute URL, as the service requires, or a path with or without its first slash. */
function splitUrl(url: string): { readonly rawPath: string; readonly rawQuery: string } {
  const local = url.replace(/^https?:\/\/[^/?]*/i, '')
  const question = local.indexOf('?')
  const path = question < 0 ? local : local.slice(0, question)
  return {
    rawPath: path.startsWith('/') ? path : `/${path}`,
    rawQuery: question < 0 ? '' : local.slice(question + 1),
  }
}

/**
 * The path after the account, if it has one: some clients omit the account in path style, and in host style there is
 * none. Only a slash after it makes the first segment the account: a table may have the same name.
 */
function resourceOf(outer: Request, rawPath: string): string {
  for (const account of [`/${outer.account}/`, `/${outer.account}-secondary/`]) {
    if (outer.pathStyle && rawPath.startsWith(account)) return rawPath.slice(account.length)
  }
  return rawPath.slice(1)
}

function bodyOf(bytes: Buffer): Body {
  return {
    lengthBytes: bytes.length,
    read: () => Promise.resolve(bytes),
    stream: () => once(bytes),
  }
}
