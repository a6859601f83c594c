// Entities and tables as OData's JSON, in the three levels of metadata. Written as text, since a Double
// has a point (`5.0`) that JSON.stringify would drop.
import { openSeen, remembering } from '../../kv/remember.ts'
import { timestampOf } from '../../storage/etag.ts'
import { formatEdm } from '../../storage/table/edm-text.ts'
import type { EdmProperties, EdmType, EdmValue } from '../../storage/table/edm.ts'
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
  return once(elements, encodeEntity, context, entity)
}

function encodeItem(context: EntityContext, entity: Entity): string {
  return object(entityMembers(context, entity))
}

type EncodedEntity = { readonly etag: string; readonly text: string }

/** By the properties as they were read: of what is read again and again the store keeps them (kv/recent.ts). */
type Known = WeakMap<
  EdmProperties,
  EncodedEntity & Pick<Entity, 'stamp'> & Pick<EntityContext, 'endpoint' | 'level' | 'table'>
>

const elements: Known = new WeakMap()
const items: Known = new WeakMap()
const wasEncoded = openSeen()

function once(
  encoded: Known,
  encode: (context: EntityContext, entity: Entity) => string,
  context: EntityContext,
  entity: Entity,
): EncodedEntity {
  const { select } = context
  const { stamp, properties } = entity
  const known = encoded.get(properties)
  if (known?.stamp === stamp && select === undefined && isSameContext(known, context)) return known
  const { endpoint, level, table } = context
  const etag = entityETag(stamp)
  const made = { stamp, endpoint, level, table, etag, text: encode(context, entity) }
  if (select === undefined && wasEncoded(stamp)) encoded.set(properties, made)
  return made
}

/** The metadata spells the table's name as the request did, in any case. */
function isSameContext(
  known: Pick<EntityContext, 'endpoint' | 'level' | 'table'>,
  { endpoint, level, table }: EntityContext,
): boolean {
  return known.level === level && known.endpoint === endpoint && known.table === table
}

export function encodeEntities(context: EntityContext, entities: readonly Entity[]): string {
  const texts = entities.map((entity) => once(items, encodeItem, context, entity).text)
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
