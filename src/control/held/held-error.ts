// Why something that is held can't be listed or ended.

/**
 * - InvalidField: the argument `field` is wrong.
 * - NotHeld: there is nothing to end.
 * - Ambiguous: two resources of this path are leased.
 * - ServedElsewhere: another node is the home of the files.
 */
export type HeldErrorCode = 'InvalidField' | 'NotHeld' | 'Ambiguous' | 'ServedElsewhere'

export class HeldError extends Error {
  override readonly name = 'HeldError'
  readonly code: HeldErrorCode
  readonly field: string | undefined

  constructor(code: HeldErrorCode, message: string, field?: string) {
    super(message)
    this.code = code
    this.field = field
  }
}

export function servedElsewhere(): HeldError {
  return new HeldError(
    'ServedElsewhere',
    'the files are served by another node: ask that one (lazuli nodes shows which one it is)',
  )
}
