// The options of `lazuli torture`, decoded from their texts.
import { isAbsolute, resolve } from 'node:path'
import { usageError } from '../start/start-error.ts'
import type { TortureCommand } from '../start/options/torture-command.ts'
import type { AskedServer } from '../start/steer/client.ts'
import type { Endpoints } from './drive/connection.ts'
import { endpointsAt, endpointsOf } from './drive/endpoint.ts'
import { SERVICES, type Service } from './drive/kind.ts'
import { servicesOf } from './drive/run.ts'

export type TortureOptions = {
  readonly servers: readonly Endpoints[]
  readonly services: readonly Service[]
  readonly seed: number
  readonly clients: number
  readonly seconds?: number
  readonly operations?: number
  readonly slackMs: number
  readonly historyPath?: string
  /** Empty without --faults. */
  readonly adminServers: readonly AskedServer[]
}

const SEED_END = 2 ** 31
const CLIENTS = { otherwise: 16, min: 2, max: 256 }
const SECONDS = { otherwise: 10, min: 1, max: 86_400 }
const OPERATIONS = { otherwise: 0, min: 1, max: 2_000_000 }
const SLACK_MS = { otherwise: 250, min: 0, max: 60_000 }

/** Without --randomSeed, `newSeed` is used. */
export function tortureOptions(
  { texts, services, cwd, adminUrls, token }: TortureCommand,
  newSeed: number,
): TortureOptions {
  // prettier-ignore
  const servers = [
    ...lines(texts.get('connectionString')).map(endpointsOf),
    ...lines(texts.get('url')).map(endpointsAt),
  ]
  if (servers.length === 0) servers.push(endpointsAt('http://127.0.0.1:10000'))
  const all = servicesOf(servers)
  const path = texts.get('history')
  const operations = texts.has('operations') && { operations: count(texts, 'operations', OPERATIONS) } // prettier-ignore
  const hasSeconds = texts.has('seconds') || !texts.has('operations')
  return {
    servers,
    services: services === undefined ? all : chosen(services, all),
    seed: count(texts, 'randomSeed', { otherwise: newSeed, min: 0, max: SEED_END }),
    clients: count(texts, 'clients', CLIENTS),
    ...operations,
    ...(hasSeconds && { seconds: count(texts, 'seconds', SECONDS) }),
    slackMs: count(texts, 'slackMs', SLACK_MS),
    ...(path !== undefined && { historyPath: isAbsolute(path) ? path : resolve(cwd, path) }),
    adminServers: texts.has('faults') ? adminUrls.map((adminUrl) => ({ adminUrl, token })) : [],
  }
}

function lines(text: string | undefined): readonly string[] {
  return (text ?? '').split('\n').filter((line) => line !== '')
}

type Limits = { readonly otherwise: number; readonly min: number; readonly max: number }

function count(texts: TortureCommand['texts'], name: string, { otherwise, min, max }: Limits) {
  const text = texts.get(name)
  if (text === undefined) return otherwise
  const value = /^\d{1,12}$/.test(text) ? Number(text) : NaN
  if (value >= min && value <= max) return value
  throw usageError(`--${name} must be a whole number from ${min} to ${max}, not ${text}`)
}

function chosen(names: readonly string[], all: readonly Service[]): readonly Service[] {
  return names.map((name) => {
    const service = SERVICES.find((each) => each === name)
    if (service === undefined) throw usageError(`--services must be some of ${SERVICES.join(', ')}, not ${name}`) // prettier-ignore
    if (!all.includes(service)) throw usageError(`there is no URL of the ${service} service`)
    return service
  })
}
