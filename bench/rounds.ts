// Runs the rounds: every row on every server in turn, repeatedly, so that a slow minute of the machine affects all of
// them. A server that is not being measured is paused and takes no CPU time.
import type { Measured } from './report.ts'
import type { Row } from './row.ts'
import { mustCall } from './call.ts'
import { userCpuMs, type Running, type TargetName } from './target.ts'
import { drive, type Load, type Outcome } from './wrk.ts'

export type RoundsOptions = {
  readonly rows: readonly Row[]
  readonly servers: readonly Running[]
  readonly roundCount: number
  readonly durationS: number
  readonly folder: string
}

export const CONNECTION_COUNT = 32
/** At first, Node's compiler threads compete with the load for CPU. */
const WARM_UP_S = 3
/** Large enough that rounds never use the same names. */
export const NUMBERS_PER_ROUND = 10_000_000

type RoundRate = { perSecond: number[]; cpuUs: number[]; failure?: string }
type RoundRates = Map<TargetName, RoundRate>

export async function measureRounds(options: RoundsOptions): Promise<readonly Measured[]> {
  await prepareAll(options)
  const results = options.rows.map((row) => ({ row, rates: new Map<TargetName, RoundRate>() }))
  const inTurn = inComparableOrder(results)
  for (let round = 0; round <= options.roundCount; round++) {
    console.error(round === 0 ? 'warming up' : `round ${round} of ${options.roundCount}`)
    for (const { row, rates } of inTurn) await measureRow(row, rates, round, options)
  }
  for (const server of options.servers) server.resume()
  return results
}

/** Measures a row directly after the row that it is compared with, so that a slow minute affects both. */
export function inComparableOrder<T extends { readonly row: Row }>(results: readonly T[]): T[] {
  const like = ({ row }: T) => results.find((other) => other.row.name === row.goal.row?.name)
  const first = results.filter((result) => like(result) === undefined)
  return first.flatMap((result) => [result, ...results.filter((each) => like(each) === result)])
}

async function measureRow(row: Row, rates: RoundRates, round: number, options: RoundsOptions) {
  for (const server of options.servers.filter((server) => runsOn(row, server))) {
    const { outcome, usedMs } = await measureOnce(row, server, round, options)
    // Round 0 only warms up compilers and caches.
    if (round === 0) continue
    const measured = rates.get(server.target.name) ?? { perSecond: [], cpuUs: [] }
    rates.set(server.target.name, measured)
    measured.perSecond.push((outcome.requests * 1e6) / outcome.durationUs)
    measured.cpuUs.push((usedMs * 1e3) / outcome.requests)
    const failure = failureOf(row, outcome)
    if (failure !== undefined) measured.failure = failure
  }
}

function runsOn(row: Row, server: Running): boolean {
  if (server.target.name === 'azurite') return row.onAzurite !== false
  return row.onBare || server.target.name !== 'bare'
}

async function prepareAll({ rows, servers, folder }: RoundsOptions): Promise<void> {
  for (const server of servers) {
    console.error(`preparing ${server.target.title}`)
    for (const row of rows.filter((row) => runsOn(row, server))) await row.prepare(server, folder)
    server.pause()
  }
}

async function measureOnce(row: Row, server: Running, round: number, options: RoundsOptions) {
  const firstNumber = round * NUMBERS_PER_ROUND
  const leastS = server.target.name === 'azurite' ? row.azuriteSMin : 1
  server.resume()
  await settle(server)
  const beforeMs = userCpuMs(server.pid)
  const durationS = round === 0 ? WARM_UP_S : Math.max(options.durationS, leastS)
  const outcome = await (row.drive?.(server, round) ??
    driveAll(row, server, firstNumber, { durationS, folder: options.folder }))
  await settle(server)
  const usedMs = userCpuMs(server.pid) - beforeMs
  await row.check(server, firstNumber).catch((cause: unknown) => {
    const failure = failureOf(row, outcome) ?? 'all responses were correct'
    throw new Error(`${server.target.title}, ${row.work}: the check failed; ${failure}`, { cause })
  })
  server.pause()
  return { outcome, usedMs }
}

/** The nodes of a cluster share the connections; each has numbers of its own. */
async function driveAll(
  row: Row,
  { members }: Running,
  firstNumber: number,
  rest: Pick<Load, 'durationS' | 'folder'>,
): Promise<Outcome> {
  const outcomes = await Promise.all(
    members.map((member, at) =>
      drive({
        ...rest,
        request: row.request(member),
        numberCount: row.numberCount,
        firstNumber: firstNumber + Math.floor((at * NUMBERS_PER_ROUND) / members.length),
        connectionCount: Math.ceil((row.connectionCount ?? CONNECTION_COUNT) / members.length),
      }),
    ),
  )
  const [first, ...others] = outcomes
  if (first === undefined) throw new Error('there is no server to drive')
  return others.reduce(
    (sum, each) => ({
      ...sum,
      requests: sum.requests + each.requests,
      bytes: sum.bytes + each.bytes,
      refused: sum.refused + each.refused,
      broken: sum.broken + each.broken,
    }),
    first,
  )
}

/** Waits until the server has finished the requests that wrk left behind. */
async function settle(server: Running): Promise<void> {
  await mustCall(`${server.endpoint('blob')}?comp=list&${server.sas}`)
}

/** A rate counts only if every response was correct. */
export function failureOf(row: Row, outcome: Outcome): string | undefined {
  if (outcome.refused > 0) return `${outcome.refused} of ${outcome.requests} responses were errors`
  if (outcome.broken > 0) return `${outcome.broken} connections broke`
  if (outcome.requests === 0) return 'no responses'
  const answerBytes = outcome.bytes / outcome.requests
  if (answerBytes < row.answerBytesMin) return `responses of ${Math.round(answerBytes)} bytes`
  return undefined
}
