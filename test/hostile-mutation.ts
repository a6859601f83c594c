// Mutates a part of a request: a parameter, a header, the body, the name, the method. This happens before it is signed,
// so that the request passes authentication and reaches the parsers.
import type { RawRequest } from './harness.ts'
import { mutate } from './mutation.ts'
import type { Random } from './random.ts'

export type Words = {
  readonly words: readonly string[]
  /** Values for headers that name a source. */
  source(random: Random): string
  /** A valid request whose parts may be inserted into another. */
  other(random: Random): RawRequest
}

type Mutation = (request: RawRequest, random: Random, words: Words) => RawRequest

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH', 'MERGE', 'TRACE']
const COUNTS = [1, 1, 1, 2, 3]
/** Headers with free text that the service stores and sends back. */
const FREE_HEADERS = [
  'x-ms-blob-content-type', 'x-ms-blob-content-disposition', 'x-ms-blob-content-language', 'x-ms-blob-content-encoding', 'x-ms-blob-cache-control',
  'x-ms-content-type', 'x-ms-content-disposition', 'x-ms-content-language', 'x-ms-content-encoding', 'x-ms-cache-control', 'x-ms-link-text',
  'content-type', 'content-encoding', 'content-language', 'cache-control', 'x-ms-meta-one', 'x-ms-meta-other', 'x-ms-client-request-id', 'x-ms-tags',
  'origin', 'referer', 'user-agent', 'x-ms-version', 'host', 'x-forwarded-for',
] // prettier-ignore
const ODD_TEXTS = ['日本', 'naïve "ü"', '😀', '\u0080\u00ff', '<&>"', 'a;b="c', '\u2028', '']
const VALUE_BYTES_MAX = 20_000

/** Makes one change, so that many requests still succeed, or up to three. */
export function mutateRequest(request: RawRequest, random: Random, words: Words): RawRequest {
  let mutated = request
  for (let count = random.pick(COUNTS); count > 0; count -= 1) {
    mutated = random.pick(MUTATIONS)(mutated, random, words)
  }
  return mutated
}

// The more often a mutation is listed, the more often it is used.
const MUTATIONS: readonly Mutation[] = [
  mutateHeader, mutateHeader, mutateHeader, setFreeHeader, setFreeHeader, setFreeHeader, setHeader, setHeader, dropHeader, repeatHeader, takeHeader, takeHeader,
  mutateParameter, mutateParameter, setParameter, setParameter, dropParameter, takeParameter, takeParameter,
  mutateBody, mutateBody, mutateBody, setInBody, setInBody, takeBody, cutBody,
  mutatePath, setName, takeMethod,
] // prettier-ignore

/** Replaces bytes that a header cannot contain: the client could neither send nor sign them. */
function headerText(text: string): string {
  const latin1 = Buffer.from(text).toString('latin1')
  return latin1
    .slice(0, VALUE_BYTES_MAX)
    .replaceAll(/[^\x20-\x7e\x80-\xff]/g, '~')
    .trim()
}

const valueOf = (value: string | readonly string[] | undefined): string =>
  typeof value === 'string' ? value : (value?.join(',') ?? '')

function withHeader(request: RawRequest, name: string, value: string | string[]): RawRequest {
  const clean = typeof value === 'string' ? headerText(value) : value.map(headerText)
  return { ...request, headers: { ...request.headers, [name]: clean } }
}

function anyHeader({ headers = {} }: RawRequest, random: Random): string {
  const names = Object.keys(headers).filter((name) => name !== 'authorization')
  return names.length === 0 ? 'x-ms-version' : random.pick(names)
}

function mutateHeader(request: RawRequest, random: Random): RawRequest {
  const name = anyHeader(request, random)
  const bytes = mutate(Buffer.from(valueOf(request.headers?.[name])), random)
  return withHeader(request, name, bytes.toString('latin1'))
}

function setHeader(request: RawRequest, random: Random, words: Words): RawRequest {
  const name = anyHeader(request, random)
  if (FREE_HEADERS.includes(name)) return withFreeText(request, name, random, words)
  const isSource = /copy-source|rename-source/.test(name) && random.below(4) > 0
  return withHeader(request, name, isSource ? words.source(random) : random.pick(words.words))
}

function setFreeHeader(request: RawRequest, random: Random, words: Words): RawRequest {
  return withFreeText(request, random.pick(FREE_HEADERS), random, words)
}

function withFreeText(
  request: RawRequest,
  name: string,
  random: Random,
  { words }: Words,
): RawRequest {
  const word = random.pick(random.below(2) === 0 ? words : ODD_TEXTS)
  const value = random.below(3) === 0 ? mutate(Buffer.from(word), random).toString('latin1') : word
  return withHeader(request, name, value)
}

function dropHeader(request: RawRequest, random: Random): RawRequest {
  const dropped = anyHeader(request, random)
  const kept = Object.entries(request.headers ?? {}).filter(([name]) => name !== dropped)
  return { ...request, headers: Object.fromEntries(kept) }
}

function repeatHeader(request: RawRequest, random: Random, { words }: Words): RawRequest {
  const name = anyHeader(request, random)
  const value = valueOf(request.headers?.[name])
  return withHeader(request, name, [value, random.below(2) === 0 ? value : random.pick(words)])
}

/** Adds a header of another request, with its value or a different one. */
function takeHeader(request: RawRequest, random: Random, words: Words): RawRequest {
  const other = words.other(random)
  const name = anyHeader(other, random)
  const value = random.below(3) === 0 ? random.pick(words.words) : valueOf(other.headers?.[name])
  return withHeader(request, name, value)
}

type Split = { readonly path: string; readonly fields: string[] }

function splitPath({ path }: Pick<RawRequest, 'path'>): Split {
  const question = path.indexOf('?')
  if (question < 0) return { path, fields: [] }
  return { path: path.slice(0, question), fields: path.slice(question + 1).split('&') }
}

function withFields(request: RawRequest, { path, fields }: Split): RawRequest {
  return { ...request, path: pathText(fields.length === 0 ? path : `${path}?${fields.join('&')}`) }
}

/** Escapes characters that are not ASCII or would end the request line. */
function pathText(text: string): string {
  return text
    .slice(0, VALUE_BYTES_MAX)
    .replaceAll(/[^\x21-\x7e]/gu, (character) => escape(character))
    .replaceAll('#', '%23')
}

/** Replaces unpaired surrogates. */
function escape(text: string): string {
  return encodeURIComponent(text.replaceAll(/\p{Cs}/gu, '\ufffd'))
}

function changeField(
  request: RawRequest,
  random: Random,
  change: (field: string) => string | undefined,
): RawRequest {
  const { path, fields } = splitPath(request)
  const at = random.below(fields.length || 1)
  const changed = change(fields[at] ?? 'timeout=5')
  const put = changed === undefined ? [] : [changed]
  return withFields(request, { path, fields: fields.toSpliced(at, 1, ...put) })
}

function mutateParameter(request: RawRequest, random: Random): RawRequest {
  return changeField(request, random, (field) => {
    const [name = '', value = ''] = field.split(/=(.*)/s)
    const bytes = random.below(4) === 0 ? undefined : mutate(Buffer.from(decoded(value)), random)
    if (bytes === undefined) return mutate(Buffer.from(field), random).toString('latin1')
    return `${name}=${escape(bytes.toString())}`
  })
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

function setParameter(request: RawRequest, random: Random, { words }: Words): RawRequest {
  return changeField(request, random, (field) => {
    const word = random.pick(words)
    const isRaw = random.below(5) === 0
    return `${field.split('=')[0] ?? ''}=${isRaw ? word : encodeURIComponent(word)}`
  })
}

function dropParameter(request: RawRequest, random: Random): RawRequest {
  return changeField(request, random, () => undefined)
}

function takeParameter(request: RawRequest, random: Random, words: Words): RawRequest {
  const { path, fields } = splitPath(request)
  const taken = random.pick(['snapshot=', ...splitPath(words.other(random)).fields])
  const word = encodeURIComponent(random.pick(words.words))
  const field = random.below(3) === 0 ? `${taken.split('=')[0] ?? ''}=${word}` : taken
  return withFields(request, { path, fields: [...fields, field] })
}

function withBody(request: RawRequest, bytes: Uint8Array): RawRequest {
  return { ...request, body: bytes.subarray(0, 200_000) }
}

function mutateBody(request: RawRequest, random: Random): RawRequest {
  let bytes: Buffer = Buffer.from(request.body ?? '')
  for (let count = 1 + random.below(4); count > 0; count -= 1) bytes = mutate(bytes, random)
  return withBody(request, bytes)
}

/** Replaces a text between tags with a word, or inserts the word anywhere. */
function setInBody(request: RawRequest, random: Random, { words }: Words): RawRequest {
  const text = Buffer.from(request.body ?? '').toString('latin1')
  const word = Buffer.from(random.pick(words)).toString('latin1')
  const places = [...text.matchAll(/>[^<>]*<|: ?[^\r\n]*\r\n|'[^']*'/g)]
  const place = places[random.below(places.length || 1)]
  if (place === undefined) return withBody(request, Buffer.from(word, 'latin1'))
  const [start, end] = [place.index + 1, place.index + place[0].length - 1]
  const isMarkup = place[0].startsWith('>') && random.below(4) > 0
  const safe = isMarkup ? word.replaceAll('&', '&amp;').replaceAll('<', '&lt;') : word
  return withBody(request, Buffer.from(text.slice(0, start) + safe + text.slice(end), 'latin1'))
}

function takeBody(request: RawRequest, random: Random, words: Words): RawRequest {
  const bytes = Buffer.from(words.other(random).body ?? '')
  const times = random.below(6) === 0 ? 1 + random.below(50) : 1
  return withBody(request, Buffer.concat(Array.from({ length: times }, () => bytes)))
}

function cutBody(request: RawRequest, random: Random): RawRequest {
  const bytes = Buffer.from(request.body ?? '')
  return withBody(request, bytes.subarray(0, random.below(bytes.length + 1)))
}

function mutatePath(request: RawRequest, random: Random): RawRequest {
  const mutated = mutate(Buffer.from(request.path.slice(1)), random)
  return { ...request, path: pathText(`/${mutated.toString('latin1')}`) }
}

/** Changes the name of the container, blob or queue. */
function setName(request: RawRequest, random: Random, { words }: Words): RawRequest {
  const { path, fields } = splitPath(request)
  const segments = path.split('/')
  const at = 2 + random.below(Math.max(1, segments.length - 2))
  segments[at] = encodeURIComponent(random.pick(words))
  return withFields(request, { path: segments.join('/'), fields })
}

function takeMethod(request: RawRequest, random: Random): RawRequest {
  return { ...request, method: random.pick(METHODS) }
}
