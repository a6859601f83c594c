// The syntax tree of a query. Chains (`a AND b AND c`, `1 + 2 - 3`) are lists instead of nested nodes, so a tree is
// only as deep as the query's parentheses, and no query overflows the stack.
import type { CastType, SqlValue } from './value.ts'

export type PathStep =
  | { readonly name: string; readonly quoted: boolean }
  | { readonly index: number }
  | { readonly every: true }

export type Path = readonly PathStep[]
export type CompareOperator = '=' | '!=' | '<' | '<=' | '>' | '>='
export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%'

export type ArithmeticStep = {
  readonly operator: ArithmeticOperator
  readonly operand: Expression
}

export type CaseBranch = { readonly when: Expression; readonly result: Expression }

export type Expression =
  | { readonly kind: 'literal'; readonly value: SqlValue }
  | { readonly kind: 'column'; readonly path: Path }
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Expression[] }
  | { readonly kind: 'not' | 'negate'; readonly operand: Expression }
  | {
      readonly kind: 'arithmetic'
      readonly first: Expression
      readonly rest: readonly ArithmeticStep[]
    }
  | {
      readonly kind: 'compare'
      readonly operator: CompareOperator
      readonly left: Expression
      readonly right: Expression
    }
  | {
      readonly kind: 'between'
      readonly operand: Expression
      readonly low: Expression
      readonly high: Expression
    }
  | { readonly kind: 'in'; readonly operand: Expression; readonly list: readonly Expression[] }
  | {
      readonly kind: 'like'
      readonly operand: Expression
      readonly pattern: Expression
      readonly escape: Expression | undefined
    }
  | { readonly kind: 'isNull' | 'isMissing'; readonly operand: Expression }
  | { readonly kind: 'cast'; readonly operand: Expression; readonly type: CastType }
  | {
      readonly kind: 'case'
      readonly subject: Expression | undefined
      readonly branches: readonly CaseBranch[]
      readonly otherwise: Expression | undefined
    }
  | { readonly kind: 'coalesce'; readonly operands: readonly Expression[] }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expression[] }

export type AggregateName = 'COUNT' | 'AVG' | 'SUM' | 'MIN' | 'MAX'
export type SelectedColumn = { readonly expression: Expression; readonly name: string }

export type Select =
  | { readonly kind: 'all' }
  | { readonly kind: 'columns'; readonly columns: readonly SelectedColumn[] }
  | {
      readonly kind: 'aggregate'
      readonly aggregate: AggregateName
      /** Absent in COUNT(*). */
      readonly operand: Expression | undefined
      readonly name: string
    }
  | { readonly kind: 'split'; readonly sizeBytes: number }

export type Statement = {
  readonly select: Select
  /** The path after BlobStorage[*] in FROM: it selects the rows within each record. */
  readonly from: Path
  /** FROM BlobStorage alias: columns may be prefixed with it. */
  readonly alias: string | undefined
  readonly where: Expression | undefined
  readonly limit: number | undefined
}
