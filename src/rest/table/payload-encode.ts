// Encodes entities and tables as OData JSON, in its three levels of metadata. JSON.stringify is not used for objects,
// since it would write the Double `5.0` as `5`.
import { derived } from '../../kv/derived.ts'
import { memoize } from '../../memory/memoize.ts'
import { timestampOf } from '../../storage/shared/etag.ts'
import { formatEdm } from '../../storage/table/edm-text.ts'
import type { EdmType, EdmValue } from '../../storage/table/edm.ts'
import { entityETag, entityETagAt, type Entity } from '../../storage/table/entity.ts'
import { entityPath, tablePath } from './address.ts'
import type { MetadataLevel } from './payload-format.ts'

/** What the metadata of an answer refers to. */
type PayloadContext = {
  readonly endpoint: string
  readonly account: string
  readonly level: MetadataLevel
}

type EntityContext = PayloadContext & {
  readonly table: string
  /** The names of $select; undefined: all properties. */
  readonly select: readonly string[] | undefined
}

export function encodeEntity(context: EntityContext, entity: Entity): string {
  const metadata = metadataOf(context, `${context.table}/@Element${selected(context)}`)
  return object([...metadata, ...entityMembers(context, entity)])
}

/** The same with the ETag, cached with the entity's record. */
export function encodeCachedEntity(context: EntityContext, entity: Entity): EncodedEntity {
  return encodeCached(contextKeyOf('element', context), encodeEntity, context, entity)
}

function encodeItem(context: EntityContext, entity: Entity): string {
  return object(entityMembers(context, entity))
}

type EncodedEntity = { readonly etag: string; readonly text: string }

/** Everything that the text depends on besides the record; undefined if it is not worth caching. */
function contextKeyOf(kind: 'element' | 'item', context: EntityContext): string | undefined {
  const { endpoint, level, table, select } = context
  // The metadata repeats the table's name in the case of the request.
  return select === undefined ? `${kind} ${level} ${endpoint} ${table}` : undefined
}

/** Caches text and ETag with the entity's record, per context. */
function encodeCached(
  contextKey: string | undefined,
  encode: (context: EntityContext, entity: Entity) => string,
  context: EntityContext,
  entity: Entity,
): EncodedEntity {
  const { stamp, properties } = entity
  const make = (): EncodedEntity => {
    return { etag: entityETag(stamp), text: encode(context, entity) }
  }
  return contextKey === undefined ? make() : derived(properties, contextKey, make)
}

export function encodeEntities(context: EntityContext, entities: readonly Entity[]): string {
  const key = contextKeyOf('item', context)
  const texts = entities.map((entity) => encodeCached(key, encodeItem, context, entity).text)
  const metadata = metadataOf(context, `${context.table}${selected(context)}`)
  return object([...metadata, `"value":[${texts.join(',')}]`])
}

export function encodeTable(context: PayloadContext, name: string): string {
  const metadata = metadataOf(context, 'Tables/@Element')
  return object([...metadata, ...tableMembers(context, name)])
}

export function encodeTables(context: PayloadContext, names: readonly string[]): string {
  const items = names.map((name) => object(tableMembers(context, name)))
  return object([...metadataOf(context, 'Tables'), `"value":[${items.join(',')}]`])
}

function object(members: readonly string[]): string {
  return `{${members.join(',')}}`
}

/** A page repeats the same few names up to a thousand times. */
const quotedName = memoize((name) => `${JSON.stringify(name)}:`)

function member(name: string, text: string): string {
  return quotedName(name) + JSON.stringify(text)
}

const quotedTypeName = memoize((name) => `${JSON.stringify(`${name}@odata.type`)}:`)

/** For text that needs no escaping. */
function plainMember(name: string, text: string): string {
  return `${quotedName(name)}"${text}"`
}

function metadataOf({ endpoint, level }: PayloadContext, of: string): string[] {
  return level === 'nometadata' ? [] : [member('odata.metadata', `${endpoint}/$metadata#${of}`)]
}

function selected({ select }: EntityContext): string {
  return select === undefined ? '' : `&$select=${select.join(',')}`
}

function tableMembers({ endpoint, account, level }: PayloadContext, name: string): string[] {
  const members = [member('TableName', name)]
  if (level !== 'fullmetadata') return members
  const path = tablePath(name)
  return [
    member('odata.type', `${account}.Tables`),
    member('odata.id', `${endpoint}/${path}`),
    member('odata.editLink', path),
    ...members,
  ]
}

function entityMembers(context: EntityContext, entity: Entity): string[] {
  const { select } = context
  const timestamp = timestampOf(entity.stamp)
  const members = annotationsOf(context, entity, timestamp)
  const isSelected = (name: string) => select === undefined || select.includes(name)
  if (isSelected('PartitionKey')) members.push(member('PartitionKey', entity.partitionKey))
  if (isSelected('RowKey')) members.push(member('RowKey', entity.rowKey))
  if (isSelected('Timestamp')) pushTimestamp(members, context, timestamp)
  const { properties } = entity
  for (const name of select ?? Object.keys(properties)) {
    if (SYSTEM.has(name)) continue
    const value = Object.hasOwn(properties, name) ? properties[name] : undefined
    // Azurite#2535: a selected property that the entity does not have is null.
    if (value === undefined) members.push(`${quotedName(name)}null`)
    else pushProperty(members, context, name, value)
  }
  return members
}

const SYSTEM: ReadonlySet<string> = new Set(['PartitionKey', 'RowKey', 'Timestamp'])

function annotationsOf(context: EntityContext, entity: Entity, timestamp: string): string[] {
  const { endpoint, account, table, level } = context
  if (level === 'nometadata') return []
  const etag = member('odata.etag', entityETagAt(timestamp))
  if (level === 'minimalmetadata') return [etag]
  const path = entityPath(table, entity)
  return [
    member('odata.type', `${account}.${table}`),
    member('odata.id', `${endpoint}/${path}`),
    etag,
    member('odata.editLink', path),
  ]
}

/** Clients know its type, so only the full level includes it. */
function pushTimestamp(members: string[], { level }: EntityContext, timestamp: string): void {
  if (level === 'fullmetadata') members.push(plainMember('Timestamp@odata.type', 'Edm.DateTime'))
  members.push(plainMember('Timestamp', timestamp))
}

/** JSON itself distinguishes the other four types. */
const ANNOTATED: ReadonlySet<EdmType> = new Set([
  'Edm.Int64',
  'Edm.DateTime',
  'Edm.Guid',
  'Edm.Binary',
])

function pushProperty(
  members: string[],
  { level }: EntityContext,
  name: string,
  edm: EdmValue,
): void {
  const isDoubleWord = edm.type === 'Edm.Double' && typeof edm.value === 'string'
  if (level !== 'nometadata' && (isDoubleWord || ANNOTATED.has(edm.type))) {
    members.push(`${quotedTypeName(name)}"${edm.type}"`)
  }
  if (edm.type === 'Edm.String') members.push(member(name, edm.value))
  else if (typeof edm.value === 'string') members.push(plainMember(name, formatEdm(edm)))
  else members.push(quotedName(name) + formatEdm(edm))
}
