// Fills a store from a seed with the requests that clients would send. What is there already stays or is overwritten;
// messages are added.
import { ControlError } from '../../control/control-error.ts'
import { xmlEscape } from '../../http/protocol/xml.ts'
import { propertiesHeaders } from '../../rest/datalake/property.ts'
import type { Accounts } from '../../storage/shared/account.ts'
import type { OwnAnswer, OwnClient, OwnRequest, OwnStream } from './own-client.ts'
import {
  checkProperties,
  contentHeaders,
  isAccessField,
  metadataHeaders,
  type AccessField,
} from './seed-properties.ts'
import type {
  SeedBytes,
  SeedEntity,
  SeedItem,
  SeedMessage,
  SeedProperties,
  SeedQueue,
  SeedSource,
} from './seed-form.ts'
import { severalAtOnce } from './several-at-once.ts'
import { encodeSettings } from './service-settings.ts'

/** Bytes per request for contents that take several. */
const CHUNK_BYTES = 4 * 1024 * 1024

export async function writeSeed(
  client: OwnClient,
  accounts: Accounts,
  sources: ReadonlyMap<string, SeedSource>,
): Promise<void> {
  for (const [name, source] of sources) {
    const isHierarchical = accounts.get(name)?.isHierarchical === true
    await new SeedWriter(client, { name, isHierarchical }, source).write()
  }
}

type SeededAccount = { readonly name: string; readonly isHierarchical: boolean }

class SeedWriter {
  readonly #client: OwnClient
  readonly #account: SeededAccount
  readonly #source: SeedSource
  /** The keys of properties that have been used. */
  readonly #found = new Set<string>()

  constructor(client: OwnClient, account: SeededAccount, source: SeedSource) {
    this.#client = client
    this.#account = account
    this.#source = source
  }

  async write(): Promise<void> {
    const { blobs, shares, tables, queues, properties, place } = this.#source
    checkProperties('blobs', properties.blobs, place)
    checkProperties('shares', properties.shares, place)
    // Containers that are empty have properties only.
    const containers = [...blobs.keys(), ...rootsOf(properties.blobs)]
    for (const container of new Set(containers)) await this.#putContainer(container)
    for (const share of new Set([...shares.keys(), ...rootsOf(properties.shares)])) {
      await this.#putShare(share)
    }
    this.#checkFound('blobs')
    this.#checkFound('shares')
    for (const [name, queue] of Object.entries(queues)) await this.#putQueue(name, queue)
    for (const [name, entities] of tables) await this.#putTable(name, await entities())
    // Last: a retention policy would keep what is overwritten above.
    for (const [service, settings] of Object.entries(properties.services ?? {})) {
      await this.#putSettings(service, settings)
    }
  }

  #propertiesOf(kind: 'blobs' | 'shares', path: readonly string[]): SeedProperties {
    const key = path.join('/')
    this.#found.add(`${kind}/${key}`)
    return this.#source.properties[kind]?.[key] ?? {}
  }

  #checkFound(kind: 'blobs' | 'shares'): void {
    const { properties, place } = this.#source
    const keys = Object.keys(properties[kind] ?? {})
    const unknown = keys.find((key) => !this.#found.has(`${kind}/${key}`))
    if (unknown === undefined) return
    throw new ControlError(`${place}: properties of ${unknown}: the seed has no such path`)
  }

  async #putContainer(container: string): Promise<void> {
    const { publicAccess, metadata } = this.#propertiesOf('blobs', [container])
    await this.#create(`blobs/${container}`, {
      service: 'blob',
      path: [container],
      query: { restype: 'container' },
      headers: { ...metadataHeaders(metadata), 'x-ms-blob-public-access': publicAccess },
    })
    const given = this.#source.blobs.get(container)?.() ?? []
    const items = directoriesFirst(given, (name) => this.#putPath([container, name]))
    await severalAtOnce(items, ({ name, bytes }) => this.#putBlob([container, name], bytes))
    await this.#putAccess(container)
  }

  /** A directory. In a flat namespace there are none. */
  async #putPath(path: readonly string[]): Promise<void> {
    if (!this.#account.isHierarchical) return
    const { metadata = {}, ...others } = this.#propertiesOf('blobs', path)
    const what = `blobs/${path.join('/')}`
    const wrong = Object.keys(others).find((field) => !isAccessField(field))
    if (wrong !== undefined) {
      throw new ControlError(`${this.#source.place}: ${what}: a directory has no "${wrong}"`)
    }
    const [name, value] = propertiesHeaders(Object.entries(metadata))
    const headers = name === undefined ? {} : { [name]: value }
    await this.#send(what, {
      service: 'blob',
      method: 'PUT',
      path,
      query: { resource: 'directory' },
      headers,
    })
  }

  /** After all paths are there: default entries of a directory are for what is created later. */
  async #putAccess(container: string): Promise<void> {
    const paths = Object.entries(this.#source.properties.blobs ?? {})
    for (const [key, properties] of paths) {
      if (key !== container && !key.startsWith(`${container}/`)) continue
      const { owner, group, permissions, acl } = properties
      // Two requests: a list replaces all permissions but the sticky bit.
      if ((owner ?? group ?? permissions) !== undefined) {
        await this.#setAccess(key, { owner, group, permissions })
      }
      if (acl !== undefined) await this.#setAccess(key, { acl })
    }
  }

  async #setAccess(key: string, access: SeedAccess): Promise<void> {
    const headers = Object.entries(access).map(([field, value]) => [`x-ms-${field}`, value])
    await this.#send(`blobs/${key}`, {
      service: 'blob',
      method: 'PATCH',
      path: [key.includes('/') ? key : `${key}/`],
      query: { action: 'setAccessControl' },
      headers: Object.fromEntries(headers),
    })
  }

  async #putBlob(path: readonly string[], bytes: SeedBytes): Promise<void> {
    const what = `blobs/${path.join('/')}`
    const properties = this.#propertiesOf('blobs', path)
    const { type = 'block' } = properties
    const headers = {
      ...contentHeaders('x-ms-blob-', properties),
      'x-ms-tags': properties.tags && String(new URLSearchParams(properties.tags)),
    }
    const blob = { service: 'blob', method: 'PUT', path } as const
    if (type === 'block') {
      await this.#send(what, {
        ...blob,
        headers: { ...headers, 'x-ms-blob-type': 'BlockBlob', 'x-ms-access-tier': properties.tier },
        body: bytes,
      })
      return
    }
    const length = type === 'page' ? String(lengthOf(bytes)) : undefined
    const blobType = type === 'page' ? 'PageBlob' : 'AppendBlob'
    await this.#send(what, {
      ...blob,
      headers: { ...headers, 'x-ms-blob-type': blobType, 'x-ms-blob-content-length': length },
    })
    for await (const { at, chunk } of chunksOf(bytes)) {
      if (type === 'append') {
        await this.#send(what, { ...blob, query: { comp: 'appendblock' }, body: chunk })
      } else if (chunk.some((byte) => byte !== 0)) {
        const range = { 'x-ms-range': rangeOf(at, chunk), 'x-ms-page-write': 'update' }
        await this.#send(what, { ...blob, query: { comp: 'page' }, headers: range, body: chunk })
      }
    }
  }

  async #putShare(share: string): Promise<void> {
    const { metadata, quota } = this.#propertiesOf('shares', [share])
    await this.#create(`shares/${share}`, {
      service: 'file',
      path: [share],
      query: { restype: 'share' },
      headers: {
        ...metadataHeaders(metadata),
        'x-ms-share-quota': quota === undefined ? undefined : String(quota),
      },
    })
    const given = this.#source.shares.get(share)?.() ?? []
    const items = directoriesFirst(given, (name) => this.#putDirectory([share, name]))
    await severalAtOnce(items, ({ name, bytes }) => this.#putFile([share, name], bytes))
  }

  async #putDirectory(path: readonly string[]): Promise<void> {
    const { metadata } = this.#propertiesOf('shares', path)
    await this.#create(`shares/${path.join('/')}`, {
      service: 'file',
      path,
      query: { restype: 'directory' },
      headers: { ...FILE_DEFAULTS, ...metadataHeaders(metadata) },
    })
  }

  async #putFile(path: readonly string[], bytes: SeedBytes): Promise<void> {
    const what = `shares/${path.join('/')}`
    const properties = this.#propertiesOf('shares', path)
    const file = { service: 'file', method: 'PUT', path } as const
    const headers = { ...FILE_DEFAULTS, ...contentHeaders('x-ms-', properties) }
    const length = String(lengthOf(bytes))
    await this.#send(what, {
      ...file,
      headers: { ...headers, 'x-ms-type': 'file', 'x-ms-content-length': length },
    })
    for await (const { at, chunk } of chunksOf(bytes)) {
      if (chunk.every((byte) => byte === 0)) continue
      const range = { 'x-ms-range': rangeOf(at, chunk), 'x-ms-write': 'update' }
      await this.#send(what, { ...file, query: { comp: 'range' }, headers: range, body: chunk })
    }
  }

  async #putQueue(name: string, { metadata, messages = [] }: SeedQueue): Promise<void> {
    const headers = metadataHeaders(metadata)
    await this.#create(`queues: ${name}`, { service: 'queue', path: [name], headers })
    for (const message of messages) await this.#putMessage(name, message)
  }

  async #putMessage(name: string, message: SeedMessage): Promise<void> {
    const { text, timeToLiveSeconds } = typeof message === 'string' ? { text: message } : message
    await this.#send(`queues: ${name}`, {
      service: 'queue',
      method: 'POST',
      path: [name, 'messages'],
      query: {
        messagettl: timeToLiveSeconds === undefined ? undefined : String(timeToLiveSeconds),
      },
      body: `<QueueMessage><MessageText>${xmlEscape(text)}</MessageText></QueueMessage>`,
    })
  }

  async #putTable(name: string, entities: readonly SeedEntity[]): Promise<void> {
    const what = `tables/${name}`
    await this.#create(what, {
      service: 'table',
      method: 'POST',
      path: ['Tables'],
      headers: JSON_HEADERS,
      body: JSON.stringify({ TableName: name }),
    })
    await severalAtOnce(entities, async (entity) => {
      const [partition, row] = [keyOf(entity, 'PartitionKey', what), keyOf(entity, 'RowKey', what)]
      await this.#send(`${what}(${partition},${row})`, {
        service: 'table',
        method: 'PUT',
        path: [`${name}(PartitionKey=${partition},RowKey=${row})`],
        headers: JSON_HEADERS,
        body: JSON.stringify(entity),
      })
    })
  }

  async #putSettings(service: string, settings: unknown): Promise<void> {
    const { place } = this.#source
    if (service !== 'blob' && service !== 'queue' && service !== 'table' && service !== 'file') {
      throw new ControlError(`${place}: properties.services has blob, queue, table and file only`)
    }
    await this.#send(`properties.services.${service}`, {
      service,
      method: 'PUT',
      query: { restype: 'service', comp: 'properties' },
      body: encodeSettings(settings, `${place}: properties.services.${service}`),
    })
  }

  /** A container, or the like, may exist already. */
  async #create(what: string, request: PartialRequest): Promise<void> {
    await this.#send(what, { method: 'PUT', ...request }, 409)
  }

  async #send(
    what: string,
    request: PartialRequest & { readonly method: string },
    alsoFine?: number,
  ): Promise<void> {
    const { status, headers, body } = await this.#client({
      account: this.#account.name,
      ...request,
    })
    if (status < 300 || status === alsoFine) return
    throw seedError(`${this.#source.place}: ${what}`, { status, headers, body })
  }
}

type PartialRequest = Omit<OwnRequest, 'account' | 'method'> & { readonly method?: string }

const JSON_HEADERS = {
  'Content-Type': 'application/json',
  Accept: 'application/json;odata=nometadata',
}

const FILE_DEFAULTS = {
  'x-ms-file-permission': 'inherit',
  'x-ms-file-attributes': 'None',
  'x-ms-file-creation-time': 'now',
  'x-ms-file-last-write-time': 'now',
}

function seedError(what: string, { status, headers, body }: OwnAnswer): ControlError {
  const reason = /(?:<Message>|"value":"|"message":")([^<"\\\n]*)/.exec(body.toString('utf8'))
  const text = reason?.[1] ?? ''
  const parts = [status, headers.get('x-ms-error-code'), text].filter(Boolean)
  return new ControlError(`${what}: ${parts.join(' ')}`)
}

/** Makes the directories on the way: what is in them comes after them. */
async function* directoriesFirst(
  items: AsyncIterable<SeedItem> | readonly SeedItem[],
  make: (name: string) => Promise<void>,
) {
  for await (const { name, bytes } of items) {
    if (bytes === undefined) await make(name)
    else yield { name, bytes }
  }
}

type SeedAccess = { readonly [Field in AccessField]?: string | undefined }

/** The containers or shares among the keys. */
function rootsOf(properties: Readonly<Record<string, unknown>> = {}): readonly string[] {
  return Object.keys(properties).filter((name) => !name.includes('/'))
}

function keyOf(entity: SeedEntity, name: 'PartitionKey' | 'RowKey', what: string): string {
  const value = entity[name] ?? ''
  if (typeof value !== 'string') throw new ControlError(`${what}: ${name} must be a string`)
  return `'${value.replaceAll("'", "''")}'`
}

function lengthOf(bytes: SeedBytes): number {
  if (typeof bytes === 'string') return Buffer.byteLength(bytes)
  return bytes instanceof Uint8Array ? bytes.length : bytes.lengthBytes
}

type Chunk = { readonly at: number; readonly chunk: Buffer }

async function* chunksOf(bytes: SeedBytes): AsyncGenerator<Chunk> {
  let at = 0
  let held: Buffer[] = []
  let heldBytes = 0
  for await (const part of partsOf(bytes)) {
    for (let from = 0; from < part.length;) {
      const taken = part.subarray(from, from + CHUNK_BYTES - heldBytes)
      held.push(Buffer.from(taken))
      heldBytes += taken.length
      from += taken.length
      if (heldBytes < CHUNK_BYTES) continue
      yield { at, chunk: Buffer.concat(held) }
      at += heldBytes
      held = []
      heldBytes = 0
    }
  }
  if (heldBytes > 0) yield { at, chunk: Buffer.concat(held) }
}

function partsOf(bytes: SeedBytes): AsyncIterable<Uint8Array> | readonly Uint8Array[] {
  if (typeof bytes === 'string') return [Buffer.from(bytes)]
  return isStream(bytes) ? bytes.stream() : [bytes]
}

function isStream(bytes: Uint8Array | OwnStream): bytes is OwnStream {
  return 'stream' in bytes
}

function rangeOf(at: number, { length }: Buffer): string {
  return `bytes=${at}-${at + length - 1}`
}
