// Clients that take turns, so that nothing happens at the same time: whatever server it is, a seed makes them ask the same, and get the
// same answers but for times and ids.
import { connect, type Endpoints } from '../../src/torture/drive/connection.ts'
import { SERVICES, type Reply, type Request, type Send } from '../../src/torture/drive/kind.ts'
import { createPlaces } from '../../src/torture/drive/place.ts'
import { Random } from '../../src/torture/drive/random.ts'
import { Recorder } from '../../src/torture/drive/recorder.ts'
import { Client, targetsOf, type Terms } from '../../src/torture/drive/workload.ts'
import type { Call } from '../../src/torture/history/call.ts'

export type Transcript = { readonly calls: readonly Call[]; readonly lines: readonly string[] }

export type Playing = {
  /** Several take turns. */
  readonly servers: readonly Endpoints[]
  readonly seed: number
  readonly steps: number
  readonly nowMs: () => number
  /** Moves the clock of the servers. */
  advance(byMs: number): void
}

const CLIENTS = 3
const JUMPS_MS = [1_000, 2_000, 15_000, 61_000]
/** Moves between requests, so that every time is that of one request. */
const STEP_MS = 10
const TIMEOUT_MS = 30_000

export async function play(playing: Playing): Promise<Transcript> {
  const { servers, seed, steps, advance } = playing
  const terms: Terms = { seed, clients: CLIENTS, services: SERVICES, run: 'torture' }
  const connections = servers.map((server) => connect(server, 'transcript', TIMEOUT_MS))
  const lines: string[] = []
  const numbering = new Map<string, string>()
  let turn = 0
  const send: Send = async (request) => {
    turn += 1
    const connection = connections[request.service === 'smb' ? 0 : turn % connections.length]
    if (connection === undefined) throw new Error('there is no server')
    const reply = await connection.send(request)
    lines.push(lineOf(request, reply, numbering))
    return reply
  }
  // The place of a call in the transcript is its time.
  let now = 0
  const recorder = new Recorder(() => (now += 1))
  const clients = Array.from({ length: CLIENTS }, (_, at) => new Client(at + 1, terms, recorder))
  await createPlaces(send, terms, targetsOf(terms), async () => undefined)
  const random = new Random(seed, 'turns')
  const [first] = servers
  for (let step = 1; step <= steps; step += 1) {
    advance(random.chance(0.04) ? random.pick(JUMPS_MS) : STEP_MS)
    const client = random.pick(clients)
    await client.step(step, send, (service) => first?.urls[service] ?? '')
  }
  for (const connection of connections) connection.close()
  return { calls: recorder.calls, lines }
}

/** The length of a body with a URL in it depends on the URL. */
const LEFT_OUT =
  /^(date|content-length|connection|keep-alive|x-ms-request-id|x-ms-client-request-id|server)$/

function lineOf({ method, path }: Request, reply: Reply, numbering: Map<string, string>): string {
  const headers = Object.entries(reply.headers)
    .filter(([name]) => !LEFT_OUT.test(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}: ${String(value)}`)
  const text = [`${method} ${path}`, reply.status, ...headers, reply.body.toString('latin1')].join('\n') // prettier-ignore
  return plain(text, numbering)
}

/** Times, ids and addresses are replaced: by their kind, and by a number that tells which of them are the same. */
function plain(text: string, numbering: Map<string, string>): string {
  const number = (kind: string) => (found: string): string => {
    const name = numbering.get(found) ?? `<${kind} ${numbering.size}>`
    numbering.set(found, name)
    return name
  }
  return text
    .replaceAll(/https?:\/\/[\w.-]+:\d+(\/devstoreaccount1|\/devlake1)?/g, '<url>')
    .replaceAll(/popreceipt=[\w%=+/-]+/g, number('receipt'))
    .replaceAll(/(?<=<PopReceipt>|x-ms-popreceipt: )[\w=+/-]+/g, number('receipt'))
    .replaceAll(/(?<=x-ms-file-(parent-)?id: |<FileId>|<DirectoryId>)\d+/g, number('file'))
    .replaceAll(/W\/\\?"datetime'[^']*'\\?"|"?0x[0-9A-F]{15}"?/g, number('etag'))
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, number('id'))
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
    .replaceAll(/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g, '<date>')
} // prettier-ignore
