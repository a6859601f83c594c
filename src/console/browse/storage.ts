// Requests of the page for data: below /api/storage/, which passes them on to the service in the name of the account.
import { authorization } from '../page/api/call.ts'
import { isTokenNeeded } from '../page/api/token.ts'

export type ServiceName = 'blob' | 'queue' | 'table' | 'file'

/** A service of an account. */
export type Area = { readonly service: ServiceName; readonly account: string }

/** The service, or the admin port, has refused a request. */
export class ServiceFailure extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(code === '' ? message : `${code}: ${message}`)
    this.name = 'ServiceFailure'
    this.status = status
    this.code = code
  }
}

export type Ask = {
  readonly method?: string
  /** Names, not encoded; the name of a blob or file may have slashes. */
  readonly path?: readonly string[]
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: Blob | string | undefined
  readonly signal?: AbortSignal | undefined
}

export function pathOf(path: readonly string[]): string {
  return path.map((name) => name.split('/').map(encodeURIComponent).join('/')).join('/')
}

export function urlOf({ service, account }: Area, { path = [], query = {} }: Ask): string {
  const fields = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = fields.map(([name, value]) => `${name}=${encodeURIComponent(value ?? '')}`).join('&')
  return `/api/storage/${service}/${account}/${pathOf(path)}${text === '' ? '' : `?${text}`}`
}

export function headersOf({ headers = {} }: Ask): Record<string, string> {
  const given = Object.entries(headers).filter(
    (field): field is [string, string] => field[1] !== undefined,
  )
  return { ...Object.fromEntries(given), ...authorization() }
}

/** The answer of a request that the service has granted. */
export async function ask(area: Area, request: Ask = {}): Promise<Response> {
  const { method = 'GET', body, signal } = request
  const answer = await fetch(urlOf(area, request), {
    method,
    cache: 'no-store',
    headers: headersOf(request),
    ...(body !== undefined && { body }),
    ...(signal !== undefined && { signal }),
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ServiceFailure(0, '', 'The server does not answer.')
  })
  if (answer.ok) return answer
  throw failureOf(answer.status, answer.headers.get('x-ms-error-code') ?? '', await answer.text())
}

/** `text` is the body: XML, OData, or what the admin port itself says. A HEAD has none. */
export function failureOf(status: number, code: string, text: string): ServiceFailure {
  const said = text.startsWith('{') ? saidByJson(text) : saidByXml(text)
  const message = said.message?.split('\n', 1)[0] || `The service answered ${status}.`
  const own = code || said.code || ''
  if (status === 401 && own === '') isTokenNeeded.value = true
  return new ServiceFailure(status, own, message)
}

type Said = { readonly code?: string | undefined; readonly message?: string | undefined }

function saidByXml(text: string): Said {
  return { message: /<Message>([^<]*)/.exec(text)?.[1] }
}

/** Tables name the code only here. */
function saidByJson(text: string): Said {
  try {
    const { 'odata.error': refused, error } = JSON.parse(text)
    return { code: refused?.code, message: refused?.message?.value ?? error?.message }
  } catch {
    return {}
  }
}

export function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof ServiceFailure && codes.includes(error.code)
}

/** The metadata of a resource, from the headers of an answer. */
export function metadataOf(headers: Headers): Readonly<Record<string, string>> {
  const found = [...headers].filter(([name]) => name.startsWith('x-ms-meta-'))
  return Object.fromEntries(found.map(([name, value]) => [name.slice('x-ms-meta-'.length), value]))
}

export function metadataHeaders(
  metadata: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [`x-ms-meta-${name}`, value]),
  )
}
