// Fills a store from a seed with the requests that clients would send. What is there already stays or is overwritten;
// messages are added.
import { ControlError } from '../../control/control-error.ts'
import { xmlEscape } from '../../http/protocol/xml.ts'
import type { OwnAnswer, OwnClient, OwnRequest, OwnStream } from './own-client.ts'
import { checkProperties, contentHeaders, metadataHeaders } from './seed-properties.ts'
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
  sources: ReadonlyMap<string, SeedSource>,
): Promise<void> {
  for (const [account, source] of sources) await new SeedWriter(client, account, source).write()
}

class SeedWriter {
  readonly #client: OwnClient
  readonly #account: string
  readonly #source: SeedSource

  constructor(client: OwnClient, account: string, source: SeedSource) {
    this.#client = client
    this.#account = account
    this.#source = source
  }

  async write(): Promise<void> {
    const { blobs, shares, tables, queues, properties, place } = this.#source
    for (const each of [properties.blobs, properties.shares]) checkProperties(each, place)
    // Containers that are empty have properties only.
    const containers = [...blobs.keys(), ...rootsOf(properties.blobs)]
    for (const container of new Set(containers)) await this.#putContainer(container)
    for (const share of new Set([...shares.keys(), ...rootsOf(properties.shares)])) {
      await this.#putShare(share)
    }
    for (const [name, queue] of Object.entries(queues)) await this.#putQueue(name, queue)
    for (const [name, entities] of tables) await this.#putTable(name, await entities())
    // Last: a retention policy would keep what is overwritten above.
    for (const [service, settings] of Object.entries(properties.services ?? {})) {
      await this.#putSettings(service, settings)
    }
  }

  async #putContainer(container: string): Promise<void> {
    const { properties, blobs } = this.#source
    const of = properties.blobs ?? {}
    const { publicAccess, metadata } = of[container] ?? {}
    await this.#create(`blobs/${container}`, {
      service: 'blob',
      path: [container],
      query: { restype: 'container' },
      headers: { ...metadataHeaders(metadata), 'x-ms-blob-public-access': publicAccess },
    })
    await severalAtOnce(blobs.get(container)?.() ?? [], async ({ name, bytes }) => {
      const path = [container, name]
      if (bytes !== undefined) await this.#putBlob(path, bytes, of[path.join('/')])
    })
  }

  async #putBlob(
    path: readonly string[],
    bytes: SeedBytes,
    properties: SeedProperties = {},
  ): Promise<void> {
    const what = `blobs/${path.join('/')}`
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
    const of = this.#source.properties.shares ?? {}
    const { metadata, quota } = of[share] ?? {}
    await this.#create(`shares/${share}`, {
      service: 'file',
      path: [share],
      query: { restype: 'share' },
      headers: {
        ...metadataHeaders(metadata),
        'x-ms-share-quota': quota === undefined ? undefined : String(quota),
      },
    })
    const items = this.#source.shares.get(share)?.() ?? []
    await severalAtOnce(this.#directoriesFirst(share, items), async ({ name, bytes }) => {
      await this.#putFile([share, name], bytes, of[`${share}/${name}`] ?? {})
    })
  }

  /** Creates the directories on the way: what is in them comes after them. */
  async *#directoriesFirst(share: string, items: AsyncIterable<SeedItem> | readonly SeedItem[]) {
    for await (const { name, bytes } of items) {
      if (bytes !== undefined) yield { name, bytes }
      else await this.#putDirectory([share, name])
    }
  }

  async #putDirectory(path: readonly string[]): Promise<void> {
    const { metadata } = this.#source.properties.shares?.[path.join('/')] ?? {}
    await this.#create(`shares/${path.join('/')}`, {
      service: 'file',
      path,
      query: { restype: 'directory' },
      headers: { ...FILE_DEFAULTS, ...metadataHeaders(metadata) },
    })
  }

  async #putFile(
    path: readonly string[],
    bytes: SeedBytes,
    properties: SeedProperties,
  ): Promise<void> {
    const what = `shares/${path.join('/')}`
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
    const { status, headers, body } = await this.#client({ account: this.#account, ...request })
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
  const reason = /<Message>([^<\n]*)|"value":"([^"\\]*)/.exec(body.toString('utf8'))
  const text = reason?.[1] ?? reason?.[2] ?? ''
  const parts = [status, headers.get('x-ms-error-code'), text].filter(Boolean)
  return new ControlError(`${what}: ${parts.join(' ')}`)
}

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
