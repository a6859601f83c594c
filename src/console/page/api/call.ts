// Calls of the JSON API of the admin port. A failed call throws an ApiFailure with a sentence for people.
import { isTokenNeeded, token } from './token.ts'

export class ApiFailure extends Error {
  /** 0: there was no answer. */
  readonly status: number
  readonly field: string | undefined

  constructor(status: number, message: string, field?: string) {
    super(message)
    this.name = 'ApiFailure'
    this.status = status
    this.field = field
  }
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** `path` is below /api/. */
export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await sent('GET', path + textOf(query), undefined, signal)).json() as Promise<T>
}

export async function post<T>(path: string, body: object = {}): Promise<T> {
  return (await sent('POST', path, body)).json() as Promise<T>
}

export async function remove(path: string): Promise<void> {
  await sent('DELETE', path)
}

/** The answer of a request that has succeeded. `body`: bytes go as they are, anything else as JSON. */
export async function sent(
  method: string,
  path: string,
  body?: object,
  signal?: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const isRaw = body instanceof Blob
  const answer = await fetch(`/api/${path}`, {
    method,
    cache: 'no-store',
    headers: { ...authorization(), ...typeOf(body, isRaw), ...headers },
    ...(body !== undefined && { body: isRaw ? body : JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiFailure(0, 'The server does not answer.')
  })
  if (answer.ok) return answer
  throw await failureOf(answer)
}

export function authorization(): Readonly<Record<string, string>> {
  return token.value === undefined ? {} : { Authorization: `Bearer ${token.value}` }
}

function typeOf(body: object | undefined, isRaw: boolean): Readonly<Record<string, string>> {
  return body === undefined || isRaw ? {} : { 'Content-Type': 'application/json' }
}

async function failureOf(answer: Response): Promise<ApiFailure> {
  if (answer.status === 401) isTokenNeeded.value = true
  const { error } = (await answer.json().catch(() => ({}))) as {
    readonly error?: { readonly message?: string; readonly field?: string }
  }
  const text = error?.message ?? `The server answered ${answer.status}.`
  const sentence = error?.field === undefined ? text : `${error.field} ${text}`
  return new ApiFailure(answer.status, capital(sentence), error?.field)
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function textOf(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

/** A segment of a path. */
export function segment(text: string): string {
  return encodeURIComponent(text)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
