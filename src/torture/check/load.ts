// Whether a run was hard enough to mean something: enough answers, enough clients at the same object at the same time, enough
// refusals, and enough faults if there were to be any.
import type { Call, History } from '../history/call.ts'
import { kindOf, KINDS_OF } from './objects.ts'

export type Load = {
  readonly callCount: number
  readonly answeredCount: number
  readonly unknownCount: number
  readonly services: readonly ServiceLoad[]
  /** Why the run says nothing; empty if it does. */
  readonly shortcomings: readonly string[]
}

export type ServiceLoad = {
  readonly service: string
  readonly answeredCount: number
  /** Answered calls that met another client's on the same object. */
  readonly overlapCount: number
  /** Refusals because of what another client did. */
  readonly conflictCount: number
}

const ANSWERED_MIN = 100
const OVERLAP_MIN = 0.1
const CONFLICTS_MIN = 5
const UNKNOWN_MIN = 5

const CONFLICTS = new Set([304, 400, 404, 409, 412])

export function loadOf({ head, calls }: History): Load {
  const services = head.services.map((service) => {
    return serviceLoad(
      service,
      calls.filter((call) => isOf(service, call)),
    )
  })
  const answeredCount = calls.filter(({ answer }) => answer !== undefined).length
  const unknownCount = calls.length - answeredCount
  const shortcomings = services.flatMap(shortcomingsOf)
  if (services.length === 0) shortcomings.push('it has no services')
  if (head.faults && unknownCount < UNKNOWN_MIN) {
    shortcomings.push(`faults left only ${unknownCount} calls without an answer, of at least ${UNKNOWN_MIN}`) // prettier-ignore
  }
  return { callCount: calls.length, answeredCount, unknownCount, services, shortcomings }
}

/** Files have calls of two services. */
function isOf(service: string, { object, operation }: Call): boolean {
  const isKind = (KINDS_OF[service] ?? []).includes(kindOf(object))
  return isKind && (operation.handle !== undefined) === (service === 'smb')
}

function serviceLoad(service: string, calls: readonly Call[]): ServiceLoad {
  const answered = calls.filter(({ answer }) => answer !== undefined)
  const conflictCount = answered.filter(({ answer }) => CONFLICTS.has(answer?.status ?? 0)).length
  return { service, answeredCount: answered.length, overlapCount: overlaps(answered), conflictCount } // prettier-ignore
}

function overlaps(calls: readonly Call[]): number {
  const meeting = new Set<Call>()
  const under = new Map<string, Call[]>()
  for (const call of [...calls].sort((a, b) => a.began - b.began)) {
    const running = (under.get(call.object) ?? []).filter(({ ended }) => ended >= call.began)
    for (const other of running) {
      if (other.client === call.client) continue
      meeting.add(other)
      meeting.add(call)
    }
    under.set(call.object, [...running, call])
  }
  return meeting.size
}

function shortcomingsOf({
  service,
  answeredCount,
  overlapCount,
  conflictCount,
}: ServiceLoad): string[] {
  // prettier-ignore
  const problems: string[] = []
  if (answeredCount < ANSWERED_MIN) problems.push(`${service}: only ${answeredCount} calls were answered, of at least ${ANSWERED_MIN}`) // prettier-ignore
  if (overlapCount < OVERLAP_MIN * answeredCount) problems.push(`${service}: only ${overlapCount} of ${answeredCount} calls met another client's at the same object`) // prettier-ignore
  if (conflictCount < CONFLICTS_MIN) problems.push(`${service}: only ${conflictCount} calls were refused because of another client, of at least ${CONFLICTS_MIN}`) // prettier-ignore
  return problems
}
