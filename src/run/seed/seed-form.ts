// What a store can be filled with, as an object or as a folder:
//
//   blobs/<container>/<path>     shares/<share>/<path>
//   queues.json|yaml             { <queue>: { metadata?, messages } }
//   tables/<name>.json|csv|yaml  [ { PartitionKey, RowKey, … } ]
//   properties.json|yaml         { services?, blobs?, shares? }
//   accounts/<name>/…            the same for each of several accounts
import { createReadStream } from 'node:fs'
import { opendir, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ControlError } from '../../control/control-error.ts'
import { parseCsv } from './csv.ts'
import type { OwnStream } from './own-client.ts'
import { decodeSegment } from './seed-path.ts'

export type SeedBytes = string | Uint8Array | OwnStream

export type SeedMessage =
  | string
  /** -1: never expires. */
  | { readonly text: string; readonly timeToLiveSeconds?: number }

export type SeedQueue = {
  readonly metadata?: SeedMetadata
  readonly messages?: readonly SeedMessage[]
}

/** As in Insert Entity, with `Name@odata.type` where JSON has no such type. */
export type SeedEntity = Readonly<Record<string, unknown>>

export type SeedMetadata = Readonly<Record<string, string>>

export type SeedProperties = {
  readonly type?: 'block' | 'append' | 'page'
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly contentLanguage?: string
  readonly contentDisposition?: string
  readonly cacheControl?: string
  readonly metadata?: SeedMetadata
  readonly tags?: SeedMetadata
  readonly tier?: string
  /** Of a container. */
  readonly publicAccess?: 'container' | 'blob'
  /** Access control of a path, or of a container's root, in an account with a hierarchical namespace. */
  readonly owner?: string
  readonly group?: string
  /** As in `x-ms-permissions`: octal or symbolic. */
  readonly permissions?: string
  /** As in `x-ms-acl`. */
  readonly acl?: string
  /** Of a share, in GiB. */
  readonly quota?: number
}

export type SeedOfAccount = {
  /** By container, then by name; in a hierarchical namespace, a name that ends with a slash is a directory. */
  readonly blobs?: Readonly<Record<string, Readonly<Record<string, string | Uint8Array>>>>
  /** By share, then by path; a path that ends with a slash is a directory. */
  readonly shares?: Readonly<Record<string, Readonly<Record<string, string | Uint8Array>>>>
  readonly queues?: Readonly<Record<string, SeedQueue>>
  readonly tables?: Readonly<Record<string, readonly SeedEntity[]>>
  readonly properties?: {
    /** The elements of Set Service Properties by service; `Cors` is a list of rules. */
    readonly services?: Readonly<Record<string, unknown>>
    /** By `container` or `container/blob`. */
    readonly blobs?: Readonly<Record<string, SeedProperties>>
    /** By `share`, `share/directory` or `share/directory/file`. */
    readonly shares?: Readonly<Record<string, SeedProperties>>
  }
}

/** Without `accounts`, it is for the first account. */
export type Seed = SeedOfAccount & { readonly accounts?: Readonly<Record<string, SeedOfAccount>> }

export type SeedItem = { readonly name: string; readonly bytes: SeedBytes | undefined }

/** One account's part, wherever it comes from. */
export type SeedSource = {
  /** For messages. */
  readonly place: string
  readonly blobs: ReadonlyMap<string, () => AsyncIterable<SeedItem>>
  /** Directories come before what is in them, without bytes, here and above. */
  readonly shares: ReadonlyMap<string, () => AsyncIterable<SeedItem>>
  readonly tables: ReadonlyMap<string, () => Promise<readonly SeedEntity[]>>
  readonly queues: Readonly<Record<string, SeedQueue>>
  readonly properties: NonNullable<SeedOfAccount['properties']>
}

const PARTS: ReadonlySet<string> = new Set(['blobs', 'shares', 'queues', 'tables', 'properties'])

/** By account. Throws ControlError if something is not part of a seed. */
export async function openSeed(
  given: string | Seed,
  accounts: readonly string[],
): Promise<ReadonlyMap<string, SeedSource>> {
  const [first = ''] = accounts
  const sources = new Map<string, SeedSource>()
  const add = (account: string, source: SeedSource): void => {
    if (!accounts.includes(account)) {
      throw new ControlError(`${source.place}: there is no account "${account}"`)
    }
    sources.set(account, source)
  }
  if (typeof given === 'string') {
    await requireFolder(given)
    for (const account of await foldersIn(join(given, 'accounts'))) {
      add(account, await folderSource(join(given, 'accounts', account)))
    }
    if (sources.size === 0) add(first, await folderSource(given))
    return sources
  }
  const { accounts: named = {}, ...own } = given
  for (const [account, seed] of Object.entries(named)) {
    add(account, objectSource(seed, `accounts.${account}`))
  }
  if (Object.keys(own).length > 0) add(first, objectSource(own, 'seed'))
  return sources
}

async function requireFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined)
  if (found?.isDirectory() !== true) throw new ControlError(`${folder} is not a folder`)
}

function objectSource(seed: SeedOfAccount, place: string): SeedSource {
  for (const part of Object.keys(seed)) checkPart(part, place)
  const { blobs = {}, shares = {}, tables = {}, queues = {}, properties = {} } = seed
  const map = <T, U>(record: Readonly<Record<string, T>>, to: (value: T) => U) =>
    new Map(Object.entries(record).map(([name, value]) => [name, to(value)]))
  return {
    place,
    blobs: map(blobs, (items) => () => itemsOf(items)),
    shares: map(shares, (items) => () => itemsOf(withDirectories(items))),
    tables: map(tables, (entities) => async () => entities),
    queues,
    properties,
  }
}

async function* itemsOf(items: Readonly<Record<string, SeedBytes>>): AsyncGenerator<SeedItem> {
  for (const [name, bytes] of Object.entries(items)) {
    const isDirectory = name.endsWith('/') && bytes === ''
    yield isDirectory ? { name: name.slice(0, -1), bytes: undefined } : { name, bytes }
  }
}

/** The directories of all paths, in front. */
function withDirectories(items: Readonly<Record<string, SeedBytes>>) {
  const directories = Object.keys(items).flatMap((path) => {
    const parts = path.split('/').slice(0, -1)
    return parts.map((_, at) => `${parts.slice(0, at + 1).join('/')}/`)
  })
  return { ...Object.fromEntries(directories.toSorted().map((each) => [each, ''])), ...items }
}

async function folderSource(folder: string): Promise<SeedSource> {
  const parts = (await readdir(folder)).filter((name) => !name.startsWith('.'))
  for (const part of parts) checkPart(part.replace(/\.(json|ya?ml)$/, ''), folder)
  const tables = new Map<string, () => Promise<readonly SeedEntity[]>>()
  for (const file of await filesIn(join(folder, 'tables'))) {
    const name = file.replace(/\.(json|csv|ya?ml)$/, '')
    tables.set(name, () => readEntities(join(folder, 'tables', file)))
  }
  return {
    place: folder,
    blobs: await trees(join(folder, 'blobs')),
    shares: await trees(join(folder, 'shares')),
    tables,
    queues: await readAny(folder, 'queues', parts),
    properties: await readAny(folder, 'properties', parts),
  }
}

function checkPart(part: string, place: string): void {
  if (PARTS.has(part)) return
  throw new ControlError(`${place}: "${part}" is not part of a seed: ${[...PARTS].join(', ')}`)
}

async function trees(folder: string) {
  const names = await foldersIn(folder)
  return new Map(names.map((name) => [name, () => walk(join(folder, name), '')]))
}

async function* walk(folder: string, prefix: string): AsyncGenerator<SeedItem> {
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name)
    const name = `${prefix}${decodeSegment(entry.name)}`
    if (entry.isDirectory()) {
      yield { name, bytes: undefined }
      yield* walk(path, `${name}/`)
    } else if (entry.isFile()) {
      const { size } = await stat(path)
      yield { name, bytes: { lengthBytes: size, stream: () => createReadStream(path) } }
    } else {
      throw new ControlError(`${path} is neither a file nor a folder`)
    }
  }
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}

async function readAny(
  folder: string,
  part: string,
  names: readonly string[],
): Promise<Record<string, never>> {
  const files = names.filter((name) => name.replace(/\.(json|ya?ml)$/, '') === part)
  if (files.length > 1) throw new ControlError(`${folder} has both ${files.join(' and ')}`)
  const [file] = files
  if (file === undefined) return {}
  const path = join(folder, file)
  const value = await readValue(path)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, never>
  }
  throw new ControlError(`${path} must be an object`)
}

async function readEntities(path: string): Promise<readonly SeedEntity[]> {
  if (path.endsWith('.csv')) {
    return parseCsv(await readFile(path, 'utf8'), path).map((row) => typed(row))
  }
  const value = await readValue(path)
  if (Array.isArray(value)) return value
  throw new ControlError(`${path} must be a list of entities`)
}

/** A field is a string, unless a column `Name@odata.type` says what it is. */
function typed(row: Record<string, string>): SeedEntity {
  const fields = Object.entries(row).map(([name, value]) => {
    const type = row[`${name}@odata.type`]
    if (type === 'Edm.Int32' || type === 'Edm.Double') return [name, Number(value)]
    return [name, type === 'Edm.Boolean' ? value === 'true' : value]
  })
  return Object.fromEntries(fields) as SeedEntity
}

async function readValue(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8')
  try {
    if (path.endsWith('.json')) return JSON.parse(text)
    return (await import('./yaml.ts')).parseYaml(text)
  } catch (error) {
    throw new ControlError(`${path}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
