// Runs the scenarios: sends a number of mutations of each seed, determined by a random seed, and then the seed itself.
// Every response is checked; a fault is reported with its request.
import { BLOB_SEEDS } from './hostile-blob-seeds.ts'
import { FILE_SEEDS } from './hostile-file-seeds.ts'
import { QUEUE_SEEDS } from './hostile-queue-seeds.ts'
import type { RawRequest } from './harness.ts'
import { faultOf } from './hostile-answer.ts'
import { bytesOf, HostileClient, type Answer } from './hostile-client.ts'
import { fillText, keepFrom, requestOf, type Names, type Seed } from './hostile-seed.ts'
import { mutateRequest, type Words } from './hostile-mutation.ts'
import { SOURCES, WORDS } from './hostile-words.ts'
import type { HostileWorld, ServiceName } from './hostile-world.ts'
import { mutate } from './mutation.ts'
import { randomFrom, type Random } from './random.ts'

const SEEDS: Readonly<Record<ServiceName, readonly Seed[]>> = {
  blob: BLOB_SEEDS,
  queue: QUEUE_SEEDS,
  file: FILE_SEEDS,
}

export type RunOptions = {
  /** The mutations of each seed; with 0 the scenario is unmutated and every seed has to succeed. */
  readonly mutationCount: number
  readonly seed: number
  /** One request in this many is mutated as raw bytes, including HTTP; undefined: none. */
  readonly tornOneIn?: number
  /** Sends every request with a source also with each hostile source. */
  readonly withSources?: true
  /** Wraps each complete request. */
  readonly around?: (send: () => Promise<Answer | undefined>) => Promise<Answer | undefined>
}

export type RunReport = {
  readonly faults: string[]
  readonly statuses: Map<number, number>
  requestCount: number
}

export function newReport(): RunReport {
  return { faults: [], statuses: new Map(), requestCount: 0 }
}

export async function runScenario(
  world: HostileWorld,
  names: Names,
  options: RunOptions,
  report: RunReport,
): Promise<void> {
  const random = randomFrom(options.seed)
  for (const service of ['blob', 'queue', 'file'] as const) {
    const session = new Session(world.ports[service])
    const words = wordsOf(SEEDS[service], names)
    try {
      for (const seed of SEEDS[service]) {
        const step = { service, session, seed, names, words, random, report, options }
        for (let i = 0; i < options.mutationCount; i += 1) await sendMutated(world, step)
        if (options.withSources) await sendWithSources(step)
        await sendGood(step)
      }
    } finally {
      session.close()
    }
  }
}

type StepOfRun = {
  readonly service: ServiceName
  readonly session: Session
  readonly seed: Seed
  readonly names: Names
  readonly words: Words
  readonly random: Random
  readonly report: RunReport
  readonly options: RunOptions
}

async function sendGood({ session, seed, names, report, options }: StepOfRun): Promise<void> {
  const request = requestOf(seed, names)
  const answer = await sendWhole(session, request, options)
  note(report, request, answer)
  if (answer === undefined) return
  keepFrom(seed, answer, names)
  if (options.mutationCount > 0 || options.withSources || answer.status === seed.status) return
  report.faults.push(`${seed.operation}: ${answer.status} ${requestText(request)} ${answer.body}`)
}

const SOURCE_HEADER = /^x-ms-(copy|file-rename)-source$/

async function sendWithSources({ session, seed, names, report, options }: StepOfRun) {
  const header = Object.keys(seed.headers ?? {}).find((name) => SOURCE_HEADER.test(name))
  if (header === undefined) return
  for (const source of SOURCES) {
    const request = requestOf(seed, names)
    const headers = { ...request.headers, [header]: fillText(source, names) }
    const sourced = { ...request, headers }
    note(report, sourced, await sendWhole(session, sourced, options))
  }
}

async function sendMutated(world: HostileWorld, step: StepOfRun): Promise<void> {
  const { service, session, seed, names, words, random, report, options } = step
  const request = requestOf(seed, names)
  if (options.tornOneIn !== undefined && random.below(options.tornOneIn) === 0) {
    await sendTorn(world.ports[service], tear(request, random), report)
    return
  }
  const mutated = mutateRequest(request, random, words)
  const answer = await sendWhole(session, mutated, options)
  note(report, mutated, answer)
  if (answer === undefined || answer.status >= 300 || !WRITES.includes(mutated.method)) return
  for (const read of readsAfter(service, mutated)) {
    note(report, read, await sendWhole(session, read, options))
  }
}

const WRITES = ['PUT', 'POST']
const LIST = '?restype=container&comp=list&include=metadata,tags,snapshots,uncommittedblobs,deleted'
const FILES = '?restype=directory&comp=list&include=timestamps,etag,attributes,permissionkey'

/** Reads back what a mutated request has written: names, headers and texts must be possible to send. */
function readsAfter(service: ServiceName, { path }: RawRequest): RawRequest[] {
  const [plain = ''] = path.split('?')
  const container = plain.split('/').slice(0, 3).join('/')
  const paths = {
    blob: [plain, `${plain}?comp=tags`, container + LIST],
    queue: [`${container}?comp=metadata`, `${container}/messages?peekonly=true&numofmessages=32`],
    file: [plain, `${plain}${FILES}`, container + FILES, `${plain}?comp=rangelist`],
  }[service]
  // A page blob may have terabytes.
  const headers = { 'x-ms-range': 'bytes=0-99' }
  return paths.map((read) => ({ method: 'GET', path: read, wholePath: true, headers }))
}

function wordsOf(seeds: readonly Seed[], names: Names): Words {
  return {
    words: WORDS,
    source: (random) => fillText(random.pick(SOURCES), names),
    other: (random) => requestOf(random.pick(seeds), names),
  }
}

function sendWhole(
  session: Session,
  request: RawRequest,
  { around = (send) => send() }: RunOptions,
): Promise<Answer | undefined> {
  return around(() => session.send(request.method, signedBytes(request)))
}

function note(report: RunReport, request: RawRequest, answer: Answer | undefined): void {
  report.requestCount += 1
  const fault = answer === undefined ? 'no response' : faultOf(request, answer)
  const status = answer?.status ?? 0
  report.statuses.set(status, (report.statuses.get(status) ?? 0) + 1)
  if (fault !== undefined) report.faults.push(`${fault}: ${requestText(request)}`)
}

function requestText({ method, path, headers, body }: RawRequest): string {
  const text = body === undefined ? '' : Buffer.from(body).toString('latin1')
  return JSON.stringify({ method, path, headers, body: text }).slice(0, 2_000)
}

/** A path that cannot be decoded cannot be signed. */
function signedBytes(request: RawRequest): Buffer {
  try {
    return bytesOf(request)
  } catch (error) {
    if (!(error instanceof URIError)) throw error
    return bytesOf({ ...request, sign: 'none' })
  }
}

/** A connection that is reused until the server closes it. */
class Session {
  readonly #port: number
  #client: HostileClient | undefined

  constructor(port: number) {
    this.#port = port
  }

  async send(method: string, bytes: Buffer): Promise<Answer | undefined> {
    if (this.#client === undefined || this.#client.isEnded) {
      this.#client = new HostileClient(this.#port)
    }
    this.#client.send(bytes)
    const answer = await this.#client.answer(method)
    if (answer === undefined || answer.headers['connection'] === 'close') this.close()
    return answer
  }

  close(): void {
    this.#client?.close()
    this.#client = undefined
  }
}

/** Mutates the raw bytes: anywhere, in the length, by cutting them off, or with invalid chunks. */
function tear(request: RawRequest, random: Random): Buffer {
  const whole = signedBytes(request)
  const headEnd = whole.indexOf('\r\n\r\n')
  const withField = (field: string): Buffer =>
    Buffer.concat([
      whole.subarray(0, headEnd),
      Buffer.from(`\r\n${field}`),
      whole.subarray(headEnd),
    ])
  switch (random.below(8)) {
    case 0:
      return whole.subarray(0, random.below(whole.length))
    case 1:
      return withField('Transfer-Encoding: chunked')
    case 2:
      return withField('Expect: 100-continue')
    case 3:
      return withLength(whole, random.pick(['1', '7', '100000', '5242880000', '99999999999']))
    case 4:
      return chunked(whole, random)
    default:
      return mutate(whole, random)
  }
}

function withLength(whole: Buffer, length: string): Buffer {
  const text = whole.toString('latin1').replace(/content-length: \d+/, `content-length: ${length}`)
  return Buffer.from(text, 'latin1')
}

function chunked(whole: Buffer, random: Random): Buffer {
  const text = whole.toString('latin1')
  const [head = '', body = ''] = text.split(/\r\n\r\n(.*)/s)
  const fields = head.replace(/content-length: \d+/, 'transfer-encoding: chunked')
  const size = (body.length + (random.below(3) === 0 ? 1 : 0)).toString(16)
  return Buffer.from(`${fields}\r\n\r\n${size}\r\n${body}\r\n0\r\n\r\n`, 'latin1')
}

const LAST = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
const REFUSALS = [400, 408, 431]

/**
 * The client ends its side afterwards: if the server takes the last request for part of an earlier body, it would wait
 * for more. A request that is not valid HTTP is refused without the service's headers.
 */
async function sendTorn(port: number, bytes: Buffer, report: RunReport): Promise<void> {
  const client = new HostileClient(port)
  client.send(bytes)
  client.send(LAST)
  client.finish()
  const sentText = JSON.stringify(bytes.toString('latin1').slice(0, 2_000))
  let method = bytes.toString('latin1', 0, bytes.indexOf(' '))
  report.requestCount += 1
  try {
    for (;;) {
      const answer = await client.answer(method)
      if (answer === undefined) return
      const isRefusal = REFUSALS.includes(answer.status) && answer.headers['connection'] === 'close'
      const isBare = isRefusal && answer.headers['x-ms-request-id'] === undefined
      const fault = isBare ? undefined : faultOf({ method, path: '' }, answer)
      if (fault !== undefined) report.faults.push(`${fault}: ${sentText}`)
      method = 'GET'
    }
  } catch (error) {
    report.faults.push(`${String(error)}: ${sentText}`)
  } finally {
    client.close()
  }
}
