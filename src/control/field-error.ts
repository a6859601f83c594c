// A wrong field of what people send to steer the server, by its name.
import { ControlError } from './control-error.ts'

export class FieldError extends ControlError {
  readonly reason: string

  /** `field`: such as `match.operation`; empty: the value as a whole. */
  constructor(field: string, reason: string) {
    super(field === '' ? reason : `${field} ${reason}`, field)
    this.name = 'FieldError'
    this.reason = reason
  }
}
