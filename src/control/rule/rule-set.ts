// The rules of one kind that are set: numbered, bounded, and listening at the points only while there are any, so that a
// point costs one comparison otherwise.
import { FieldError } from '../field-error.ts'
import type { PointListener, Points } from '../point.ts'

const RULE_COUNT_MAX = 100

/** A rule that is set. When it is removed, it calls the `forget` that it was made with. */
type SetRule<State> = { state(): State; remove(): void }

export class RuleSet<State, Rule extends SetRule<State>> {
  readonly #points: Points
  readonly #listener: PointListener
  /** For errors, in the plural. */
  readonly #kind: string
  readonly #rules = new Map<string, Rule>()
  #unlisten: (() => void) | undefined
  #lastId = 0

  constructor(points: Points, listener: PointListener, kind: string) {
    this.#points = points
    this.#listener = listener
    this.#kind = kind
  }

  add(make: (id: string, forget: () => void) => Rule): Rule {
    if (this.#rules.size >= RULE_COUNT_MAX) {
      const reason = `there are ${RULE_COUNT_MAX} ${this.#kind} already; remove others first`
      throw new FieldError('', reason)
    }
    this.#lastId += 1
    const id = String(this.#lastId)
    const rule = make(id, () => this.#forget(id))
    this.#rules.set(id, rule)
    this.#unlisten ??= this.#points.listen(this.#listener)
    return rule
  }

  #forget(id: string): void {
    this.#rules.delete(id)
    if (this.#rules.size > 0) return
    this.#unlisten?.()
    this.#unlisten = undefined
  }

  /** In the order in which they were added. */
  all(): readonly Rule[] {
    return [...this.#rules.values()]
  }

  list(): readonly State[] {
    return this.all().map((rule) => rule.state())
  }

  find(id: string): Rule | undefined {
    return this.#rules.get(id)
  }

  remove(id: string): boolean {
    const rule = this.#rules.get(id)
    rule?.remove()
    return rule !== undefined
  }

  clear(): void {
    for (const rule of this.all()) rule.remove()
  }
}
