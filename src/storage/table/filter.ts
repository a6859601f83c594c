// A parsed $filter, and whether an entity or a table matches it.
//
// A comparison, even `ne`, is false if the entity doesn't have the property or has it with another type
// (Azurite#1929), and `not` turns that into true: people use `not (LastNotified ge …)` to find entities without
// a LastNotified (azure-storage-net#696).
import { compareEdm, type EdmProperties, type EdmValue } from './edm.ts'

export type FilterOperator = 'eq' | 'ne' | 'gt' | 'ge' | 'lt' | 'le'

export type FilterComparison = {
  readonly property: string
  readonly operator: FilterOperator
  readonly value: EdmValue
}

export type FilterExpression =
  | FilterComparison
  | { readonly all: readonly FilterExpression[] }
  | { readonly any: readonly FilterExpression[] }
  | { readonly not: FilterExpression }
  | { readonly constant: boolean }

export type FilterEntity = {
  readonly partitionKey: string
  readonly rowKey: string
  readonly timestamp: EdmValue
  readonly properties: EdmProperties
}

/** With NaN only `ne` holds, as in IEEE 754. */
const HOLDS: Readonly<Record<FilterOperator, (comparison: number) => boolean>> = {
  eq: (comparison) => comparison === 0,
  ne: (comparison) => comparison !== 0,
  gt: (comparison) => comparison > 0,
  ge: (comparison) => comparison >= 0,
  lt: (comparison) => comparison < 0,
  le: (comparison) => comparison <= 0,
}

export function matchesFilter(expression: FilterExpression, entity: FilterEntity): boolean {
  return holds(expression, (name) => entityProperty(entity, name))
}

function entityProperty(entity: FilterEntity, name: string): EdmValue | undefined {
  switch (name) {
    case 'PartitionKey':
      return { type: 'Edm.String', value: entity.partitionKey }
    case 'RowKey':
      return { type: 'Edm.String', value: entity.rowKey }
    case 'Timestamp':
      return entity.timestamp
    default:
      return Object.hasOwn(entity.properties, name) ? entity.properties[name] : undefined
  }
}

/** Names of tables are case-insensitive; parseFilter has lower-cased the constants. */
export function matchesTable(expression: FilterExpression, tableName: string): boolean {
  const value: EdmValue = { type: 'Edm.String', value: tableName.toLowerCase() }
  return holds(expression, (name) => (name === 'TableName' ? value : undefined))
}

type ValueOf = (property: string) => EdmValue | undefined

function holds(expression: FilterExpression, valueOf: ValueOf): boolean {
  if ('all' in expression) return expression.all.every((part) => holds(part, valueOf))
  if ('any' in expression) return expression.any.some((part) => holds(part, valueOf))
  if ('not' in expression) return !holds(expression.not, valueOf)
  if ('constant' in expression) return expression.constant
  const value = valueOf(expression.property)
  if (value === undefined) return false
  const comparison = compareEdm(value, expression.value)
  return comparison !== undefined && HOLDS[expression.operator](comparison)
}
