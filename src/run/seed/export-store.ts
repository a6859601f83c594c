// Writes what a store has into a folder, in the form from which a store is seeded: current blobs and files, messages,
// entities and properties. Snapshots, versions, deleted things, leases, stored access policies and uncommitted blocks are
// not part of it.
import { mkdir, open, readdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ControlError } from '../../control/control-error.ts'
import { parseXml, xmlChild, type XmlNode } from '../../http/protocol/xml.ts'
import { messagesOf } from '../../storage/queue/export.ts'
import { FOLDER_MARK } from '../../storage/blob/path/path-state.ts'
import type { Accounts } from '../../storage/shared/account.ts'
import type { Kv } from '../../kv/kv.ts'
import type { OwnAnswer, OwnClient, OwnRequest } from './own-client.ts'
import { exportedEntities } from './entity-json.ts'
import { JsonFile } from './json-file.ts'
import type { SeedProperties } from './seed-form.ts'
import { accessOf, propertiesOf } from './seed-properties.ts'
import { besideFolder, encodeSegments } from './seed-path.ts'
import { decodeSettings } from './service-settings.ts'

/** Bytes per request. */
const CHUNK_BYTES = 4 * 1024 * 1024

export type ExportWorld = {
  readonly client: OwnClient
  readonly accounts: Accounts
  readonly kv: Kv
}

export async function exportStore(world: ExportWorld, folder: string): Promise<void> {
  const found = await readdir(folder).catch(() => [])
  if (found.length > 0) throw new ControlError(`${folder} is not empty; export to a new folder`)
  await mkdir(folder, { recursive: true })
  const [only, ...others] = world.accounts.names()
  if (only !== undefined && others.length === 0) return new Exporter(world, only, folder).write()
  for (const account of world.accounts.names()) {
    const own = join(folder, 'accounts', account)
    await mkdir(own, { recursive: true })
    await new Exporter(world, account, own).write()
  }
}

class Exporter {
  readonly #world: ExportWorld
  readonly #account: string
  readonly #folder: string

  constructor(world: ExportWorld, account: string, folder: string) {
    this.#world = world
    this.#account = account
    this.#folder = folder
  }

  async write(): Promise<void> {
    await JsonFile.write(join(this.#folder, 'properties.json'), async (file) => {
      await file.section('services', () => this.#writeSettings(file))
      await file.section('blobs', () => this.#writeContainers(file))
      await file.section('shares', () => this.#writeShares(file))
    })
    await JsonFile.write(join(this.#folder, 'queues.json'), (file) => this.#writeQueues(file))
    await this.#writeTables()
  }

  async #writeSettings(file: JsonFile): Promise<void> {
    for (const service of ['blob', 'queue', 'table', 'file'] as const) {
      const query = { restype: 'service', comp: 'properties' }
      await file.entry(service, decodeSettings(await this.#xml({ service, query })))
    }
  }

  async #writeContainers(file: JsonFile): Promise<void> {
    for await (const item of this.#items('blob', { comp: 'list' }, 'Containers')) {
      const container = nameOf(item)
      const path = [container]
      const found = await this.#ask({ service: 'blob', path, query: { restype: 'container' } })
      const publicAccess = found.headers.get('x-ms-blob-public-access')
      const { metadata } = propertiesOf(found)
      await file.entry(container, {
        ...(publicAccess && { publicAccess }),
        metadata,
        ...(await this.#rootAccess(container)),
      })
      await mkdir(join(this.#folder, 'blobs', ...encodeSegments(container)), { recursive: true })
      const include = this.#isHierarchical ? 'tags,permissions' : 'tags'
      const query = { restype: 'container', comp: 'list', include }
      for await (const blob of this.#items('blob', query, 'Blobs', path)) {
        await this.#writeBlob(file, [container, nameOf(blob)], blob)
      }
    }
  }

  get #isHierarchical(): boolean {
    return this.#world.accounts.get(this.#account)?.isHierarchical === true
  }

  async #rootAccess(container: string): Promise<SeedProperties> {
    if (!this.#isHierarchical) return {}
    const path = [`${container}/`]
    const query = { action: 'getAccessControl' }
    const { headers } = await this.#ask({ service: 'blob', method: 'HEAD', path, query })
    return accessOf((field) => headers.get(`x-ms-${field}`), true)
  }

  async #writeBlob(file: JsonFile, path: readonly string[], item: XmlNode): Promise<void> {
    if (textOf(item, 'Properties', 'ResourceType') === 'directory') {
      return this.#writePath(file, path, item)
    }
    const found = await this.#writeBytes('blob', path)
    const type = found.headers.get('x-ms-blob-type')?.replace(/Blob$/, '').toLowerCase() ?? 'block'
    const isInferred = found.headers.get('x-ms-access-tier-inferred') === 'true'
    const tier = isInferred ? undefined : textOf(item, 'Properties', 'AccessTier')
    const properties = {
      ...(type !== 'block' && { type }),
      ...propertiesOf(found),
      ...tagsOf(item),
      ...(tier && type === 'block' && { tier }),
      ...(this.#isHierarchical && accessInList(item, false)),
    }
    if (Object.keys(properties).length > 0) await file.entry(path.join('/'), properties)
  }

  /** A directory of a hierarchical namespace. */
  async #writePath(file: JsonFile, path: readonly string[], item: XmlNode): Promise<void> {
    const [container = '', name = ''] = path
    const folders = [...encodeSegments(container), ...encodeSegments(name)]
    await mkdir(join(this.#folder, 'blobs', ...folders), { recursive: true })
    const { metadata = {} } = propertiesOf(
      await this.#ask({ service: 'blob', path, method: 'HEAD' }),
    )
    const own = Object.entries(metadata).filter(([key]) => key !== FOLDER_MARK)
    const properties = {
      ...(own.length > 0 && { metadata: Object.fromEntries(own) }),
      ...accessInList(item, true),
    }
    if (Object.keys(properties).length > 0) await file.entry(path.join('/'), properties)
  }

  async #writeShares(file: JsonFile): Promise<void> {
    for await (const item of this.#items('file', { comp: 'list' }, 'Shares')) {
      const share = nameOf(item)
      const query = { restype: 'share' }
      const found = await this.#ask({ service: 'file', path: [share], query })
      const quota = Number(found.headers.get('x-ms-share-quota'))
      await file.entry(share, { quota, metadata: propertiesOf(found).metadata })
      await this.#writeDirectory(file, [share, ''])
    }
  }

  async #writeDirectory(file: JsonFile, [share, path]: readonly [string, string]): Promise<void> {
    const segments = path === '' ? [] : encodeSegments(path)
    await mkdir(join(this.#folder, 'shares', share, ...segments), { recursive: true })
    const query = { restype: 'directory', comp: 'list' }
    const own = path === '' ? [share] : [share, path]
    for await (const item of this.#items('file', query, 'Entries', own)) {
      const below = path === '' ? nameOf(item) : `${path}/${nameOf(item)}`
      const isDirectory = item.name === 'Directory'
      const asked = {
        service: 'file',
        path: [share, below],
        query: { restype: 'directory' },
      } as const
      const found = isDirectory
        ? await this.#ask(asked)
        : await this.#writeBytes('file', asked.path)
      const properties = isDirectory
        ? { metadata: propertiesOf(found).metadata }
        : propertiesOf(found)
      if (Object.values(properties).some((value) => value !== undefined)) {
        await file.entry(`${share}/${below}`, properties)
      }
      if (isDirectory) await this.#writeDirectory(file, [share, below])
    }
  }

  /** In parts that all belong to one version; returns the first answer. */
  async #writeBytes(service: 'blob' | 'file', path: readonly string[]): Promise<OwnAnswer> {
    const [container = '', name = ''] = path
    const root = join(this.#folder, service === 'blob' ? 'blobs' : 'shares', container)
    const handle = await open(await placeFor(root, encodeSegments(name)), 'wx')
    try {
      const found = await this.#ask({ service, path, method: 'HEAD' })
      const lengthBytes = Number(found.headers.get('content-length'))
      const etag = found.headers.get('etag')
      for (let at = 0; at < lengthBytes; at += CHUNK_BYTES) {
        const last = Math.min(at + CHUNK_BYTES, lengthBytes) - 1
        // Files have no If-Match, so the ETag is compared for both.
        const part = { 'x-ms-range': `bytes=${at}-${last}` }
        const { body, headers } = await this.#ask({ service, path, headers: part })
        if (headers.get('etag') !== etag) {
          throw new ControlError(
            `${path.join('/')} was changed while it was exported; export again`,
          )
        }
        await handle.write(body)
      }
      return found
    } finally {
      await handle.close()
    }
  }

  async #writeQueues(file: JsonFile): Promise<void> {
    for await (const item of this.#items('queue', { comp: 'list' }, 'Queues')) {
      const name = nameOf(item)
      const asked = { service: 'queue', path: [name], query: { comp: 'metadata' } } as const
      const { metadata } = propertiesOf(await this.#ask(asked))
      await file.section(name, async () => {
        if (metadata !== undefined) await file.entry('metadata', metadata)
        await file.list(
          'messages',
          messagesOf(this.#world.kv, { account: this.#account, queue: name }),
        )
      })
    }
  }

  async #writeTables(): Promise<void> {
    const folder = join(this.#folder, 'tables')
    await mkdir(folder)
    let next: string | undefined = ''
    while (next !== undefined) {
      const query = { NextTableName: next || undefined }
      const { body, headers } = await this.#ask({ ...TABLE, path: ['Tables'], query })
      const { value } = JSON.parse(body.toString('utf8')) as { value: { TableName: string }[] }
      for (const { TableName: name } of value) await this.#writeEntities(folder, name)
      next = headers.get('x-ms-continuation-nexttablename')
    }
  }

  async #writeEntities(folder: string, name: string): Promise<void> {
    const pages = exportedEntities((query) => this.#ask({ ...TABLE, path: [`${name}()`], query }))
    await JsonFile.writeList(join(folder, `${name}.json`), pages)
  }

  /** The items of a list, page by page. */
  async *#items(
    service: 'blob' | 'file' | 'queue',
    query: Readonly<Record<string, string>>,
    list: string,
    path: readonly string[] = [],
  ): AsyncGenerator<XmlNode> {
    for (let marker: string | undefined = ''; marker !== undefined;) {
      const page: XmlNode = await this.#xml({
        service,
        path,
        query: { ...query, marker: marker || undefined },
      })
      yield* xmlChild(page, list)?.children ?? []
      marker = xmlChild(page, 'NextMarker')?.text || undefined
    }
  }

  async #xml(request: Asked): Promise<XmlNode> {
    // A list may begin with a byte order mark.
    return parseXml((await this.#ask(request)).body.toString('utf8').replace(/^\uFEFF/, ''))
  }

  async #ask(request: Asked): Promise<OwnAnswer> {
    const asked = { account: this.#account, method: 'GET', ...request }
    const answer = await this.#world.client(asked)
    if (answer.status < 300) return answer
    const what = [asked.account, ...(asked.path ?? [])].join('/')
    const code = answer.headers.get('x-ms-error-code') ?? ''
    throw new ControlError(`${what} could not be exported: ${answer.status} ${code}`)
  }
}

type Asked = Omit<OwnRequest, 'account' | 'method'> & { readonly method?: string }

const TABLE = {
  service: 'table',
  headers: { Accept: 'application/json;odata=minimalmetadata' },
} as const

function nameOf(item: XmlNode): string {
  const name = xmlChild(item, 'Name')
  const text = name?.text ?? ''
  return name?.attributes.Encoded === 'true' ? decodeURIComponent(text) : text
}

function textOf(node: XmlNode, ...names: readonly string[]): string | undefined {
  let at: XmlNode | undefined = node
  for (const name of names) at = at && xmlChild(at, name)
  return at?.text
}

function tagsOf(item: XmlNode) {
  const set = xmlChild(item, 'Tags')
  const tags = (set && xmlChild(set, 'TagSet')?.children) ?? []
  if (tags.length === 0) return {}
  return { tags: Object.fromEntries(tags.map((tag) => [textOf(tag, 'Key'), textOf(tag, 'Value')])) }
}

function accessInList(item: XmlNode, isDirectory: boolean): SeedProperties {
  const nameIn = { owner: 'Owner', group: 'Group', permissions: 'Permissions', acl: 'Acl' }
  return accessOf((field) => textOf(item, 'Properties', nameIn[field]), isDirectory)
}

/** Makes the folders of a file. A file that stands where a folder must be, or the other way round, gets another name. */
async function placeFor(root: string, segments: readonly string[]): Promise<string> {
  let at = root
  for (const segment of segments.slice(0, -1)) {
    at = join(at, segment)
    const found = await stat(at).catch(() => undefined)
    if (found?.isFile() === true) await rename(at, besideFolder(at))
    if (found?.isDirectory() !== true) await mkdir(at)
  }
  const path = join(at, segments.at(-1) ?? '')
  const found = await stat(path).catch(() => undefined)
  return found === undefined ? path : besideFolder(path)
}
