// A run against servers: clients work at the same time until there were enough operations or the time is over; then the queues are
// drained.
import type { History } from '../history/call.ts'
import { connect, type Connection, type Endpoints } from './connection.ts'
import { drainQueues } from './drain.ts'
import { SERVICES, type Send, type Service } from './kind.ts'
import { createPlaces, isHierarchical, removePlaces, Unprepared, type Sleep } from './place.ts'
import { Recorder } from './recorder.ts'
import { Client, targetsOf, type Terms } from './workload.ts'

export type RunTerms = Terms & {
  /** Several nodes take turns. */
  readonly servers: readonly Endpoints[]
  readonly operations?: number
  readonly seconds?: number
  readonly slackMs: number
  readonly faults: boolean
  readonly world: World
  /** Called once everything is in place. */
  readonly ready?: () => Promise<void>
  /** Called when the clients have ended, before the queues are drained. */
  readonly over?: () => Promise<void>
  /** Stops the clients early. */
  readonly signal?: AbortSignal
  /** Around each request; for tests of servers with a fault. */
  readonly through?: (send: Send) => Send
}

export type World = { nowMs(): number; readonly sleep: Sleep }

const TIMEOUT_MS = 30_000
/** Clients don't retry at once a server that is away. */
const PAUSE_MS = 20

export async function runClients(terms: RunTerms): Promise<History> {
  const { world, seed, clients, services, slackMs, faults, through = (send) => send } = terms
  const recorder = new Recorder(() => world.nowMs())
  const targets = targetsOf(terms)
  const setUp = openConnections(terms, 'torture-0')
  const send = through(takeTurns(setUp, 0))
  try {
    await createPlaces(send, terms, targets, world.sleep)
    await terms.ready?.()
    await runAll(terms, recorder, through)
    await terms.over?.()
    const { run } = terms
    await drainQueues(targets, { send, run, recorder, slackMs, nowMs: () => world.nowMs(), sleep: world.sleep }) // prettier-ignore
    // What can't be removed, stays; the history is decided about all the same.
    await removePlaces(send, terms, targets, world.sleep).catch(expectUnprepared)
  } finally {
    for (const connection of setUp) connection.close()
  }
  return { head: { seed, clients, slackMs, services, faults }, calls: recorder.calls }
}

function expectUnprepared(error: unknown): void {
  if (!(error instanceof Unprepared)) throw error
}

/** Without Data Lake Storage if the account has no directories. */
export async function offeredServices(
  servers: readonly Endpoints[],
  services: readonly Service[],
): Promise<readonly Service[]> {
  if (!services.includes('dfs')) return services
  for (const server of servers) {
    const { send, close } = connect(server, 'torture-0', TIMEOUT_MS)
    const isOffered = await isHierarchical(send)
    close()
    if (!isOffered) return services.filter((service) => service !== 'dfs')
  }
  return services
}

async function runAll(terms: RunTerms, recorder: Recorder, through: (send: Send) => Send) {
  const { clients, operations = Infinity, seconds = Infinity, world, signal } = terms
  const endMs = world.nowMs() + seconds * 1_000
  let left = operations
  const mayGoOn = (): boolean => {
    left -= 1
    return left >= 0 && world.nowMs() < endMs && signal?.aborted !== true
  }
  await Promise.all(
    Array.from({ length: clients }, (_, at) => runClient(at + 1, terms, { recorder, through, mayGoOn })), // prettier-ignore
  )
}

type Running = {
  readonly recorder: Recorder
  readonly through: (send: Send) => Send
  mayGoOn(): boolean
}

async function runClient(number: number, terms: RunTerms, { recorder, through, mayGoOn }: Running) {
  const connections = openConnections(terms, `torture-${number}`)
  const client = new Client(number, terms, recorder)
  const send = through(takeTurns(connections, number))
  try {
    for (let step = 1; mayGoOn(); step += 1) {
      const isAnswered = await client.step(step, send, endpointsOf(terms))
      if (!isAnswered) await terms.world.sleep(PAUSE_MS)
    }
  } finally {
    for (const connection of connections) connection.close()
  }
}

function openConnections({ servers }: RunTerms, client: string): readonly Connection[] {
  return servers.map((server) => connect(server, client, TIMEOUT_MS))
}

function takeTurns(connections: readonly Connection[], first: number): Send {
  let turn = first
  return (request) => {
    // A handle belongs to a connection.
    if (request.service !== 'smb') turn += 1
    const at = request.service === 'smb' ? first : turn
    const connection = connections[at % connections.length]
    if (connection === undefined) throw new Error('there is no server')
    return connection.send(request)
  }
}

function endpointsOf({ servers }: RunTerms): (service: Service) => string {
  return (service) => servers[0]?.urls[service] ?? ''
}

/** The services of which every server has a URL. */
export function servicesOf(servers: readonly Endpoints[]): readonly Service[] {
  const all = SERVICES.filter((service) => servers.every(({ urls }) => urls[service] !== undefined))
  // Its shares are created by the File service.
  return all.includes('file') ? all : all.filter((service) => service !== 'smb')
}
