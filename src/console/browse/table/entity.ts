// Entities as the Table service writes them in JSON, with their types, and back. Pure.

export const EDM_TYPES = [
  'String',
  'Int32',
  'Int64',
  'Double',
  'Boolean',
  'DateTime',
  'Guid',
  'Binary',
] as const
export type EdmType = (typeof EDM_TYPES)[number]

export type Property = { readonly name: string; readonly type: EdmType; readonly value: string }

export type Entity = {
  readonly partitionKey: string
  readonly rowKey: string
  readonly timestamp: string
  readonly etag: string
  readonly properties: readonly Property[]
}

const SYSTEM: ReadonlySet<string> = new Set(['PartitionKey', 'RowKey', 'Timestamp'])

export function entityOf(json: Readonly<Record<string, unknown>>): Entity {
  const properties = Object.entries(json)
    .filter(([name]) => !SYSTEM.has(name) && !name.includes('odata.'))
    .map(([name, value]) => ({
      name,
      type: typeOf(value, json[`${name}@odata.type`]),
      value: textOf(value),
    }))
  return {
    partitionKey: String(json['PartitionKey']),
    rowKey: String(json['RowKey']),
    timestamp: String(json['Timestamp'] ?? ''),
    etag: String(json['odata.etag'] ?? ''),
    properties,
  }
}

/** JSON has types of its own for some, and names the others. */
function typeOf(value: unknown, named: unknown): EdmType {
  const type = EDM_TYPES.find((each) => named === `Edm.${each}`)
  if (type !== undefined) return type
  if (typeof value === 'boolean') return 'Boolean'
  if (typeof value === 'number') return Number.isInteger(value) ? 'Int32' : 'Double'
  return 'String'
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : String(value)
}

/** The properties alone, as JSON that names every type. */
export function jsonOf(properties: readonly Property[]): Record<string, unknown> {
  const json: Record<string, unknown> = {}
  for (const { name, type, value } of properties) {
    if (type !== 'String') json[`${name}@odata.type`] = `Edm.${type}`
    json[name] = jsonValue(type, value)
  }
  return json
}

/** What is not a value of its type goes as it is, for the service to refuse. */
function jsonValue(type: EdmType, value: string): unknown {
  const isNumber = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)
  if (type === 'Boolean' && /^(true|false)$/.test(value)) return value === 'true'
  if ((type === 'Int32' || type === 'Double') && isNumber) return Number(value)
  return value
}

/** What somebody has made of an entity: what he set, and the names that he removed. */
export type Changes = { readonly set: readonly Property[]; readonly removed: readonly string[] }

export function changesBetween(before: readonly Property[], after: readonly Property[]): Changes {
  const old = byName(before)
  const names = new Set(after.map(({ name }) => name))
  return {
    set: after.filter((each) => !isSame(old.get(each.name), each)),
    removed: before.filter(({ name }) => !names.has(name)).map(({ name }) => name),
  }
}

/** The changes, made to another state. */
export function applied(to: readonly Property[], { set, removed }: Changes): readonly Property[] {
  const gone = new Set([...removed, ...set.map(({ name }) => name)])
  return [...to.filter(({ name }) => !gone.has(name)), ...set]
}

export function byName(properties: readonly Property[]): ReadonlyMap<string, Property> {
  return new Map(properties.map((each) => [each.name, each]))
}

export function isSame(one: Property | undefined, other: Property | undefined): boolean {
  return one?.type === other?.type && one?.value === other?.value
}

/** `Table(PartitionKey='a',RowKey='b')`: quotes are doubled. */
export function entityPath(
  table: string,
  { partitionKey, rowKey }: Pick<Entity, 'partitionKey' | 'rowKey'>,
): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
  return `${table}(PartitionKey=${quoted(partitionKey)},RowKey=${quoted(rowKey)})`
}
