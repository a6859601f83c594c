// Faults: what a network, a busy service or a broken disk does to requests, on purpose. They strike after authentication, so
// signatures are still checked. Each rule draws from its own seeded chance, one number for each request that it matches.
import { randomInt } from 'node:crypto'
import type { Fault, FaultApi, FaultRule, FaultState } from '../api.ts'
import { chanceFrom, SEED_END } from './chance.ts'
import { decodeFaultRule } from './fault-rule.ts'
import { strikeOf, type Strike, type StrikeSettings } from './fault-effect.ts'
import { matches } from '../rule/match.ts'
import { RuleSet } from '../rule/rule-set.ts'
import type { Passing, Point, PointListener, Points } from '../point.ts'

export type FaultSettings = StrikeSettings & { readonly points: Points }

export class Faults implements FaultApi, PointListener {
  readonly #settings: FaultSettings
  readonly #set: RuleSet<FaultState, ActiveFault>

  constructor(settings: FaultSettings) {
    this.#settings = settings
    this.#set = new RuleSet(settings.points, this, 'faults')
  }

  add(rule: FaultRule): Fault {
    const decoded = { seed: randomInt(SEED_END), ...decodeFaultRule(rule) }
    return this.#set.add((id, forget) => new ActiveFault(id, decoded, this.#settings, forget))
  }

  list(): readonly FaultState[] {
    return this.#set.list()
  }

  remove(id: string): boolean {
    return this.#set.remove(id)
  }

  clear(): void {
    this.#set.clear()
  }

  /** In the order in which the rules were added. */
  reach(point: Point, request: Passing): Promise<void> | undefined {
    const striking = this.#set.all().filter((fault) => fault.strikesAt(point, request))
    return striking.length === 0 ? undefined : strikeAll(striking, request)
  }
}

async function strikeAll(faults: readonly ActiveFault[], request: Passing): Promise<void> {
  for (const fault of faults) await fault.strike(request)
}

type SeededRule = FaultRule & { readonly seed: number }

class ActiveFault implements Fault {
  readonly id: string
  readonly #rule: SeededRule
  readonly #chance: () => number
  readonly #strike: Strike
  readonly #forget: () => void
  /** Requests that it has matched: all their commits have the same fate. */
  readonly #struck = new WeakMap<Passing, boolean>()
  #matchedCount = 0
  #struckCount = 0

  constructor(id: string, rule: SeededRule, settings: FaultSettings, forget: () => void) {
    this.id = id
    this.#rule = rule
    this.#chance = chanceFrom(rule.seed)
    this.#strike = strikeOf(rule.effect, settings)
    this.#forget = forget
  }

  strikesAt(point: Point, request: Passing): boolean {
    if (point !== this.#strike.at || (point === 'checked' && !request.stores)) return false
    const known = this.#struck.get(request)
    if (known !== undefined) return known
    if (request.service === 'smb' && !this.#strike.isForSmb) return false
    if (!matches(this.#rule.match ?? {}, request)) return false
    const isStruck = this.#decide()
    this.#struck.set(request, isStruck)
    return isStruck
  }

  #decide(): boolean {
    const { probability = 1, nth, times = Infinity } = this.#rule
    this.#matchedCount += 1
    const isChosen =
      this.#chance() < probability && (nth === undefined || nth === this.#matchedCount)
    if (!isChosen || this.#struckCount >= times || !this.#strike.isDue()) return false
    this.#struckCount += 1
    return true
  }

  strike(request: Passing): Promise<void> | undefined {
    return this.#strike.run(request, this.#chance)
  }

  remove(): void {
    this.#strike.end()
    this.#forget()
  }

  state(): FaultState {
    const counts = { matchedCount: this.#matchedCount, struckCount: this.#struckCount }
    return { ...this.#rule, id: this.id, ...counts }
  }
}
