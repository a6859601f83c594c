// The documents of Azurite's databases, as far as an import needs them. They were written by many versions, so nothing
// that is not checked here is taken for granted.
import { StartError } from '../../start/start-error.ts'

type Fields = Readonly<Record<string, unknown>>

/** A part of an extent file. */
export type Chunk = { readonly id: string; readonly offset: number; readonly count: number }

export type Named = { readonly account: string; readonly name: string }

export type ContainerDocument = Named & {
  readonly metadata: Readonly<Record<string, string>>
  readonly publicAccess: string | undefined
  readonly policies: readonly Policy[]
  readonly modifiedMs: number
  readonly lease: LeaseDocument
}

export type Policy = {
  readonly id: string
  readonly fields: readonly (readonly [string, string])[]
}

/** The state, and the times at which it changes. */
export type LeaseDocument = {
  readonly id: string | undefined
  readonly state: string
  readonly durationSeconds: number | undefined
  readonly endsAtMs: number | undefined
  readonly breaksAtMs: number | undefined
}

export type BlobDocument = {
  readonly account: string
  readonly container: string
  readonly blob: string
  /** '' for the blob itself. */
  readonly snapshot: string
  readonly type: string
  readonly lengthBytes: number
  readonly createdMs: number
  readonly modifiedMs: number
  /** By the name of the header behind x-ms-blob-. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly contentMd5: string | undefined
  readonly metadata: Readonly<Record<string, string>>
  readonly tags: Readonly<Record<string, string>>
  /** undefined: the account's default. */
  readonly tier: string | undefined
  readonly tierSetMs: number | undefined
  readonly sequenceNumber: string
  readonly isSealed: boolean
  readonly copy: CopyDocument | undefined
  readonly lease: LeaseDocument
  /** Of Put Blob. */
  readonly whole: Chunk | undefined
  /** Of Put Block List, or appended one by one. */
  readonly blocks: readonly BlockDocument[]
  readonly pages: readonly { readonly start: number; readonly chunk: Chunk }[]
}

export type BlockDocument = { readonly id: string; readonly chunk: Chunk }

export type CopyDocument = {
  readonly id: string
  readonly source: string
  readonly status: string
  readonly progress: string
  readonly completedMs: number | undefined
}

export type MessageDocument = {
  readonly account: string
  readonly queue: string
  readonly id: string
  readonly insertedMs: number
  readonly expiresMs: number
  readonly visibleAtMs: number
  readonly dequeueCount: number
  readonly chunk: Chunk
}

export type EntityDocument = {
  readonly timestamp: string
  readonly properties: Readonly<Record<string, unknown>>
}

/** Azurite lists blobs that have uncommitted blocks only, too. */
export function isCommitted(document: unknown): boolean {
  const { isCommitted = true, deleted } = fieldsOf(document)
  return isCommitted === true && deleted !== true
}

export function decodeContainer(document: unknown): ContainerDocument {
  const fields = fieldsOf(document)
  const properties = fieldsOf(fields['properties'])
  return {
    account: textOf(fields, 'accountName'),
    name: textOf(fields, 'name'),
    metadata: textsOf(fields['metadata']),
    publicAccess: optionalText(properties, 'publicAccess'),
    policies: policiesOf(fields['containerAcl']),
    modifiedMs: timeOf(properties, 'lastModified'),
    lease: leaseOf(fields, properties),
  }
}

export function decodeAzuriteBlob(document: unknown): BlobDocument {
  const fields = fieldsOf(document)
  const properties = fieldsOf(fields['properties'])
  const isInferred = properties['accessTierInferred'] === true
  const modifiedMs = timeOf(properties, 'lastModified')
  return {
    account: textOf(fields, 'accountName'),
    container: textOf(fields, 'containerName'),
    blob: textOf(fields, 'name'),
    snapshot: optionalText(fields, 'snapshot') ?? '',
    type: textOf(properties, 'blobType'),
    lengthBytes: numberOf(properties, 'contentLength'),
    createdMs: optionalTime(properties, 'creationTime') ?? modifiedMs,
    modifiedMs,
    headers: {
      'content-type': optionalText(properties, 'contentType'),
      'content-encoding': optionalText(properties, 'contentEncoding'),
      'content-language': optionalText(properties, 'contentLanguage'),
      'content-disposition': optionalText(properties, 'contentDisposition'),
      'cache-control': optionalText(properties, 'cacheControl'),
    },
    contentMd5: md5Of(properties['contentMD5']),
    metadata: textsOf(fields['metadata']),
    tags: tagsOf(fields['blobTags']),
    tier: isInferred ? undefined : optionalText(properties, 'accessTier'),
    tierSetMs: optionalTime(properties, 'accessTierChangeTime'),
    sequenceNumber: String(properties['blobSequenceNumber'] ?? 0),
    isSealed: properties['isSealed'] === true,
    copy: copyOf(properties),
    lease: leaseOf(fields, properties),
    whole: fields['persistency'] === undefined ? undefined : chunkOf(fields['persistency']),
    blocks: listOf(fields['committedBlocksInOrder']).map(blockOf),
    pages: listOf(fields['pageRangesInOrder']).map((page) => {
      const range = fieldsOf(page)
      return { start: numberOf(range, 'start'), chunk: chunkOf(range['persistency']) }
    }),
  }
}

export function decodeBlock(document: unknown) {
  const fields = fieldsOf(document)
  return {
    account: textOf(fields, 'accountName'),
    container: textOf(fields, 'containerName'),
    blob: textOf(fields, 'blobName'),
    ...blockOf(document),
  }
}

export function decodeQueue(document: unknown) {
  const fields = fieldsOf(document)
  return {
    account: textOf(fields, 'accountName'),
    name: textOf(fields, 'name'),
    metadata: textsOf(fields['metadata']),
    policies: policiesOf(fields['queueAcl']),
  }
}

export function decodeAzuriteMessage(document: unknown): MessageDocument {
  const fields = fieldsOf(document)
  return {
    account: textOf(fields, 'accountName'),
    queue: textOf(fields, 'queueName'),
    id: textOf(fields, 'messageId'),
    insertedMs: timeOf(fields, 'insertionTime'),
    expiresMs: timeOf(fields, 'expirationTime'),
    visibleAtMs: timeOf(fields, 'timeNextVisible'),
    dequeueCount: numberOf(fields, 'dequeueCount'),
    chunk: chunkOf(fields['persistency']),
  }
}

export function decodeTable(document: unknown) {
  const fields = fieldsOf(document)
  return {
    account: textOf(fields, 'account'),
    name: textOf(fields, 'table'),
    policies: policiesOf(fields['tableAcl']),
  }
}

export function decodeAzuriteEntity(document: unknown): EntityDocument {
  const fields = fieldsOf(document)
  const properties = fieldsOf(fields['properties'])
  const keys = {
    PartitionKey: textOf(fields, 'PartitionKey'),
    RowKey: textOf(fields, 'RowKey'),
  }
  const timestamp = optionalText(fields, 'lastModifiedTime') ?? textOf(properties, 'Timestamp')
  return { timestamp, properties: { ...properties, ...keys } }
}

/** With the account. */
export function decodeService(document: unknown): {
  readonly account: string
  readonly settings: Fields
} {
  const { accountName: _name, meta: _meta, $loki: _id, ...settings } = fieldsOf(document)
  return { account: textOf(fieldsOf(document), 'accountName'), settings }
}

function blockOf(document: unknown): BlockDocument {
  const fields = fieldsOf(document)
  return { id: optionalText(fields, 'name') ?? '', chunk: chunkOf(fields['persistency']) }
}

export function chunkOf(value: unknown): Chunk {
  const fields = fieldsOf(value)
  return {
    id: textOf(fields, 'id'),
    offset: numberOf(fields, 'offset'),
    count: numberOf(fields, 'count'),
  }
}

function leaseOf(fields: Fields, properties: Fields): LeaseDocument {
  const { leaseDurationSeconds: duration } = fields
  return {
    id: optionalText(fields, 'leaseId')?.toLowerCase(),
    state: optionalText(properties, 'leaseState') ?? 'available',
    durationSeconds: typeof duration === 'number' ? duration : undefined,
    endsAtMs: optionalTime(fields, 'leaseExpireTime'),
    breaksAtMs: optionalTime(fields, 'leaseBreakTime'),
  }
}

function copyOf(properties: Fields): CopyDocument | undefined {
  const id = optionalText(properties, 'copyId')
  if (id === undefined) return undefined
  return {
    id,
    source: optionalText(properties, 'copySource') ?? '',
    status: optionalText(properties, 'copyStatus') ?? 'success',
    progress: optionalText(properties, 'copyProgress') ?? '0/0',
    completedMs: optionalTime(properties, 'copyCompletionTime'),
  }
}

/** Bytes become an object of numbers in LokiJS, and a Buffer one with `data`. */
function md5Of(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  const fields = fieldsOf(value)
  const bytes = Array.isArray(fields['data']) ? fields['data'] : Object.values(fields)
  return Buffer.from(bytes.map(Number)).toString('base64')
}

function tagsOf(value: unknown): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {}
  const set = listOf(fieldsOf(value)['blobTagSet']).map(fieldsOf)
  return Object.fromEntries(set.map((tag) => [textOf(tag, 'key'), textOf(tag, 'value')]))
}

function policiesOf(value: unknown): readonly Policy[] {
  return listOf(value).map((each) => {
    const fields = fieldsOf(each)
    const policy = fields['accessPolicy'] === undefined ? {} : fieldsOf(fields['accessPolicy'])
    const names = [['Start', 'start'], ['Expiry', 'expiry'], ['Permission', 'permission']] as const // prettier-ignore
    return {
      id: textOf(fields, 'id'),
      fields: names.flatMap(([name, field]) => {
        const text = optionalText(policy, field)
        return text === undefined ? [] : [[name, text] as const]
      }),
    }
  })
}

function fieldsOf(value: unknown): Fields {
  if (typeof value === 'object' && value !== null) return value as Fields
  throw damaged(`an object was expected instead of ${JSON.stringify(value)}`)
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  throw damaged('a list was expected')
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {}
  return Object.fromEntries(Object.entries(fieldsOf(value)).map(([name, text]) => [name, String(text)])) // prettier-ignore
}

function textOf(fields: Fields, name: string): string {
  const text = fields[name]
  if (typeof text === 'string') return text
  throw damaged(`"${name}" is missing`)
}

function optionalText(fields: Fields, name: string): string | undefined {
  const text = fields[name]
  return typeof text === 'string' && text !== '' ? text : undefined
}

function numberOf(fields: Fields, name: string): number {
  const number = fields[name]
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number
  throw damaged(`"${name}" is not a number`)
}

function timeOf(fields: Fields, name: string): number {
  const timeMs = optionalTime(fields, name)
  if (timeMs === undefined) throw damaged(`"${name}" is not a time`)
  return timeMs
}

function optionalTime(fields: Fields, name: string): number | undefined {
  const value = fields[name]
  const timeMs = typeof value === 'number' ? value : Date.parse(String(value))
  return Number.isFinite(timeMs) ? Math.floor(timeMs) : undefined
}

function damaged(why: string): StartError {
  return new StartError(`a document is damaged: ${why}`)
}
