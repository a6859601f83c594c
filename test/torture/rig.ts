// Runs of torture against servers of tests, and what is decided about them.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { loadOf } from '../../src/torture/check/load.ts'
import { checkHistory } from '../../src/torture/check/check.ts'
import { verdictOf, type Verdict } from '../../src/torture/check/report.ts'
import type { Endpoints } from '../../src/torture/drive/connection.ts'
import { SERVICES, type Send, type Service } from '../../src/torture/drive/kind.ts'
import { runClients } from '../../src/torture/drive/run.ts'
import type { History } from '../../src/torture/history/call.ts'
import { LAKE } from '../datalake/fixture.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'

export type Ports = Readonly<Record<`${Service}Port`, number>>

export function endpointsOf(ports: Ports): Endpoints {
  const urls = SERVICES.map((service) => {
    if (service === 'smb') return [service, `smb://127.0.0.1:${ports.smbPort}`] as const
    const account = service === 'dfs' ? LAKE : ACCOUNT
    return [service, `http://127.0.0.1:${ports[`${service}Port`]}/${account}`] as const
  })
  return { account: ACCOUNT, lakeAccount: LAKE, key: ACCOUNT_KEY, urls: Object.fromEntries(urls) }
}

export type RunOptions = {
  readonly servers: readonly Endpoints[]
  readonly seed: number
  readonly services?: readonly Service[]
  readonly clients?: number
  readonly operations?: number
  readonly faults?: boolean
  readonly through?: (send: Send) => Send
}

/** Allows for a machine that does much else: only clocks of servers that differ from that of the test need it. */
const SLACK_MS = 250

export function torture(options: RunOptions): Promise<History> {
  const { services = SERVICES, clients = 10, operations = 1_500, faults = false } = options
  const run = `torture${randomInt(36 ** 6).toString(36)}`
  const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
  const world = { nowMs: () => performance.now(), sleep }
  return runClients({ ...options, services, clients, operations, faults, run, world, slackMs: SLACK_MS }) // prettier-ignore
}

export function judge(history: History): Verdict {
  return verdictOf(loadOf(history), checkHistory(history))
}

export function assertExplained(history: History, seed: number): void {
  const { exitCode, lines } = judge(history)
  assert.equal(exitCode, 0, `seed ${seed}\n${lines.join('\n')}`)
}

/** One seed that is always the same, and one that is new; a test prints it. */
export const SEEDS: readonly number[] = [20_260, randomInt(2 ** 31)]
