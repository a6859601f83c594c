// A query as data: what the parser makes and the evaluator runs. Chains (`a AND b AND c`, `1 + 2 - 3`) are
// lists, not towers, so that the depth of a tree is the depth of its parentheses and no query is too deep
// for the stack.
import type { CastType, Value } from './value.ts'

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
  | { readonly kind: 'literal'; readonly value: Value }
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
  /** What follows BlobStorage[*] in FROM: the part of each record that is a row. */
  readonly from: Path
  /** What columns may be prefixed with: FROM BlobStorage alias. */
  readonly alias: string | undefined
  readonly where: Expression | undefined
  readonly limit: number | undefined
}
