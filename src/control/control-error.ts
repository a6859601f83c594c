// A wrong request of somebody who controls a server: the message names what was wrong and what is allowed.
export class ControlError extends Error {
  /** The field or argument that is wrong, if it is one. */
  readonly field: string | undefined

  constructor(message: string, field?: string) {
    super(message)
    this.name = 'ControlError'
    this.field = field
  }
}
