// A part of a batch as a request of its own: the caller, the account and the version are the batch's.
import type { Body } from '../../http/protocol/body.ts'
import { optionalHeader } from '../../http/protocol/header.ts'
import { parseHttpRequestPart, type MultipartPart } from '../../http/protocol/multipart.ts'
import type { Request } from '../../http/door/operation.ts'
import { parseQuery } from '../../http/protocol/query.ts'
import { resolvePath } from '../../http/door/resource-path.ts'
import { once } from '../shared/upload.ts'

export type BatchPart = {
  /** Of the request in the part. One among the part's own headers is not answered, as recorded batches show. */
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

/** Absolute, as the service asks for, or a path, with or without its first slash. */
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
 * Behind the account, where the path has it: clients leave it out in path style or, for a host that names
 * the account, do not know it. A table of the account's own name is told by what follows.
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
