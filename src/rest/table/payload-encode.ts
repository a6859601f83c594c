// Entities and tables as OData's JSON, in the three levels of metadata. Written as text, since a Double
// has a point (`5.0`) that JSON.stringify would drop.
import { derived } from '../../kv/derived.ts'
import { remembering } from '../../memory/remember.ts'
import { timestampOf } from '../../storage/shared/etag.ts'
import { formatEdm } from '../../storage/table/edm-text.ts'
import type { EdmType, EdmValue } from '../../storage/table/edm.ts'
import { entityETag, entityETagAt, type Entity } from '../../storage/table/entity.ts'
import { entityPath, tablePath } from './address.ts'
import type { MetadataLevel } from './payload-format.ts'

/** What an answer's metadata names. */
export type PayloadContext = {
  readonly endpoint: string
  readonly account: string
  readonly level: MetadataLevel
}

export type EntityContext = PayloadContext & {
  readonly table: string
  /** The names of $select; undefined: all properties. */
  readonly select: readonly string[] | undefined
}

export function encodeEntity(context: EntityContext, entity: Entity): string {
  const metadata = metadataOf(context, `${context.table}/@Element${selected(context)}`)
  return object([...metadata, ...entityMembers(context, entity)])
}

/** The same, with the ETag, for who may be asked for it again. */
export function encodeEntityOnce(context: EntityContext, entity: Entity): EncodedEntity {
  return once(contextKeyOf('element', context), encodeEntity, context, entity)
}

function encodeItem(context: EntityContext, entity: Entity): string {
  return object(entityMembers(context, entity))
}

type EncodedEntity = { readonly etag: string; readonly text: string }

/** Everything that the text depends on besides the record; undefined where it is not worth keeping. */
function contextKeyOf(kind: 'element' | 'item', context: EntityContext): string | undefined {
  const { endpoint, level, table, select } = context
  // The metadata spells the table's name as the request did, in any case.
  return select === undefined ? `${kind} ${level} ${endpoint} ${table}` : undefined
}

/** Of an entity whose record is cached, text and ETag are made once for each context. */
function once(
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
  const texts = entities.map((entity) => once(key, encodeItem, context, entity).text)
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

/** A page has the same few names a thousand times. */
const quotedName = remembering((name) => `${JSON.stringify(name)}:`)

function member(name: string, text: string): string {
  return quotedName(name) + JSON.stringify(text)
}

const quotedTypeName = remembering((name) => `${JSON.stringify(`${name}@odata.type`)}:`)

/** Of text that has nothing to escape. */
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
  const isWanted = (name: string) => select === undefined || select.includes(name)
  if (isWanted('PartitionKey')) members.push(member('PartitionKey', entity.partitionKey))
  if (isWanted('RowKey')) members.push(member('RowKey', entity.rowKey))
  if (isWanted('Timestamp')) pushTimestamp(members, context, timestamp)
  const { properties } = entity
  for (const name of select ?? Object.keys(properties)) {
    if (SYSTEM.has(name)) continue
    const value = Object.hasOwn(properties, name) ? properties[name] : undefined
    // Azurite#2535: what is asked for and not there is null.
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

/** Its type is known to all, so only the fullest level tells it. */
function pushTimestamp(members: string[], { level }: EntityContext, timestamp: string): void {
  if (level === 'fullmetadata') members.push(plainMember('Timestamp@odata.type', 'Edm.DateTime'))
  members.push(plainMember('Timestamp', timestamp))
}

/** JSON says what the other four are. */
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
