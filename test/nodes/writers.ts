// Clients that write while the test breaks something, and know afterwards what must be there. Each write carries its
// sequence number and bytes that depend on it. An answered write is there; one that failed or was not answered is there
// whole or not at all, and once at most.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { outcome, sendTo, xmlTexts, type RawResponse } from '../harness.ts'
import { entityPath, send as sendToTable } from '../table/fixture.ts'
import { until, type Ports } from './rig.ts'

/** A request that has no answer by then hangs, which is a failure: nodes answer within five seconds. */
const HANG_MS = 20_000

const BLOCK_BYTES = 64
/** Long enough to be in an extent instead of the record. */
const BLOB_BYTES = 20_000
const RANGE_BYTES = 512

type Kind = {
  prepare(ports: Ports, name: string): Promise<void>
  write(ports: Ports, name: string, sequence: number): Promise<RawResponse>
  /** The sequence numbers that are there, in order; throws if something is torn. */
  read(ports: Ports, name: string): Promise<readonly number[]>
  /** Whether later writes replace earlier ones. */
  readonly replaces: boolean
}

/** The sequence number, followed by bytes that depend on it and the name. */
function contentOf(name: string, sequence: number, lengthBytes: number): string {
  const head = `${String(sequence).padStart(8, '0')} `
  const digest = createHash('sha256').update(`${name} ${sequence}`).digest('hex')
  return (head + digest.repeat(Math.ceil(lengthBytes / digest.length))).slice(0, lengthBytes)
}

function sequenceOf(name: string, content: string, lengthBytes: number): number {
  const sequence = Number(content.slice(0, 8))
  assert.equal(content, contentOf(name, sequence, lengthBytes), `${name} is torn`)
  return sequence
}

/** Retries as clients do: nodes that have just started, or whose database has, don't know yet who serves the files. */
async function answered(status: number, send: () => Promise<RawResponse>): Promise<string> {
  let answer = await send()
  await until(async () => {
    if (answer.status === 503) answer = await send()
    return answer.status !== 503
  })
  assert.equal(answer.status, status, answer.text)
  return answer.text
}

async function created(send: () => Promise<RawResponse>): Promise<void> {
  await answered(201, send)
}

function contentAt(port: number, path: string): Promise<string> {
  return answered(200, () => sendTo(port)('GET', path))
}

const RANGE = { 'x-ms-write': 'update', 'x-ms-range': `bytes=0-${RANGE_BYTES - 1}` }

const KINDS: Readonly<Record<string, Kind>> = {
  'Put Blob': {
    replaces: true,
    prepare: async () => {},
    write: ({ blob }, name, sequence) => {
      const headers = { 'x-ms-blob-type': 'BlockBlob' }
      return sendTo(blob)('PUT', `/box/${name}`, headers, contentOf(name, sequence, BLOB_BYTES))
    },
    read: async ({ blob }, name) => {
      const { status } = await sendTo(blob)('HEAD', `/box/${name}`)
      if (status === 404) return []
      return [sequenceOf(name, await contentAt(blob, `/box/${name}`), BLOB_BYTES)]
    },
  },
  'Append Block': {
    replaces: false,
    prepare: ({ blob }, name) =>
      created(() => sendTo(blob)('PUT', `/box/${name}`, { 'x-ms-blob-type': 'AppendBlob' })),
    write: ({ blob }, name, sequence) => {
      const content = contentOf(name, sequence, BLOCK_BYTES)
      return sendTo(blob)('PUT', `/box/${name}?comp=appendblock`, {}, content)
    },
    read: async ({ blob }, name) => {
      const text = await contentAt(blob, `/box/${name}`)
      assert.equal(text.length % BLOCK_BYTES, 0)
      const blocks = text.match(/.{64}/g) ?? []
      return blocks.map((block) => sequenceOf(name, block, BLOCK_BYTES))
    },
  },
  'Put Message': {
    replaces: false,
    prepare: ({ queue }, name) => created(() => sendTo(queue)('PUT', `/${name}`)),
    write: ({ queue }, name, sequence) => {
      const text = contentOf(name, sequence, BLOCK_BYTES)
      const body = `<QueueMessage><MessageText>${text}</MessageText></QueueMessage>`
      return sendTo(queue)('POST', `/${name}/messages`, {}, body)
    },
    read: async ({ queue }, name) => {
      const found: number[] = []
      for (;;) {
        const path = `/${name}/messages?numofmessages=32&visibilitytimeout=3600`
        const texts = xmlTexts(await contentAt(queue, path), 'MessageText')
        if (texts.length === 0) return found.sort((a, b) => a - b)
        found.push(...texts.map((text) => sequenceOf(name, text, BLOCK_BYTES)))
      }
    },
  },
  'Insert Or Replace Entity': {
    replaces: true,
    prepare: async () => {},
    write: ({ table: tablePort }, name, sequence) => {
      const path = entityPath('box', name, 'r')
      const body = JSON.stringify({ Content: contentOf(name, sequence, BLOCK_BYTES) })
      return sendToTable({ tablePort }, { method: 'PUT', path, body })
    },
    read: async ({ table: tablePort }, name) => {
      const headers = { accept: 'application/json;odata=nometadata' }
      const request = { method: 'GET', path: entityPath('box', name, 'r'), headers }
      const { status, text } = await sendToTable({ tablePort }, request)
      if (status === 404) return []
      const { Content } = JSON.parse(text) as { Content: string }
      return [sequenceOf(name, Content, BLOCK_BYTES)]
    },
  },
  'Put Range': {
    replaces: true,
    prepare: async ({ file }, name) => {
      const size = { 'x-ms-type': 'file', 'x-ms-content-length': String(RANGE_BYTES) }
      await created(() => sendTo(file)('PUT', `/box/${name}`, size))
      const content = contentOf(name, 0, RANGE_BYTES)
      await created(() => sendTo(file)('PUT', `/box/${name}?comp=range`, RANGE, content))
    },
    write: ({ file }, name, sequence) => {
      const content = contentOf(name, sequence, RANGE_BYTES)
      return sendTo(file)('PUT', `/box/${name}?comp=range`, RANGE, content)
    },
    read: async ({ file }, name) => {
      const sequence = sequenceOf(name, await contentAt(file, `/box/${name}`), RANGE_BYTES)
      return sequence === 0 ? [] : [sequence]
    },
  },
}

type Client = {
  readonly kindName: string
  readonly kind: Kind
  readonly name: string
  readonly acknowledged: number[]
  /** Failed, or not answered. */
  readonly unknown: number[]
}

export type WritersSettings = {
  readonly ports: Ports
  readonly clientsPerKind: number
  /** Names of kinds; all if left out. */
  readonly kinds?: readonly string[]
  readonly prefix: string
}

export class Writers {
  readonly #ports: Ports
  readonly #clients: readonly Client[]
  readonly #watchers = new Set<() => void>()
  #isStopped = false
  #done: Promise<unknown> = Promise.resolve()
  /** Answers other than success, and errors of connections, with their counts. */
  readonly failures = new Map<string, number>()
  acknowledgedCount = 0
  failureCount = 0
  readonly #longestMs = new Map<string, number>()
  /** Of 503 answers. */
  withoutRetryAfter = 0

  /** Creates what the clients write to. */
  static async start({ ports, clientsPerKind, kinds, prefix }: WritersSettings): Promise<Writers> {
    const clients: Client[] = []
    for (const [kindName, kind] of Object.entries(KINDS)) {
      if (kinds?.includes(kindName) === false) continue
      for (let at = 0; at < clientsPerKind; at += 1) {
        const name = `${prefix}-${kindName.toLowerCase().replaceAll(' ', '-')}-${at}`
        await kind.prepare(ports, name)
        clients.push({ kindName, kind, name, acknowledged: [], unknown: [] })
      }
    }
    const writers = new Writers(ports, clients)
    writers.#done = Promise.all(clients.map((client) => writers.#run(client)))
    return writers
  }

  constructor(ports: Ports, clients: readonly Client[]) {
    this.#ports = ports
    this.#clients = clients
  }

  /** Resolves when all clients have got this many further answers of success. */
  async acknowledge(count: number): Promise<void> {
    const goals = new Map(this.#clients.map((each) => [each, each.acknowledged.length + count]))
    await this.#when(() => [...goals].every(([{ acknowledged }, goal]) => acknowledged.length >= goal)) // prettier-ignore
  }

  /** Resolves when all clients have failed this many more times. */
  async fail(count: number): Promise<void> {
    const goals = new Map(this.#clients.map((each) => [each, each.unknown.length + count]))
    await this.#when(() => [...goals].every(([{ unknown }, goal]) => unknown.length >= goal))
  }

  /** Finishes the running writes; throws if one of them hung. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#done
  }

  /** For the test's report. */
  summary(): string {
    const longest = [...this.#longestMs].map(([kind, ms]) => `${kind} ${Math.round(ms)} ms`)
    const failures = [...this.failures].map(([failure, count]) => `${count} × ${failure}`)
    return `${this.acknowledgedCount} acknowledged; longest: ${longest.join(', ')}; failures: ${failures.join(', ')}`
  }

  /** Everything that was acknowledged is there, nothing twice, nothing torn. */
  async check(): Promise<void> {
    assert(this.acknowledgedCount > 0)
    for (const client of this.#clients) {
      const found = await client.kind.read(this.#ports, client.name)
      if (client.kind.replaces) checkReplaced(client, found)
      else checkAll(client, found)
    }
  }

  async #run(client: Client): Promise<void> {
    for (let sequence = 1; !this.#isStopped; sequence += 1) {
      const beganMs = performance.now()
      const result = await this.#write(client, sequence)
      const tookMs = performance.now() - beganMs
      this.#longestMs.set(
        client.kindName,
        Math.max(this.#longestMs.get(client.kindName) ?? 0, tookMs),
      )
      if (result === undefined) {
        client.acknowledged.push(sequence)
        this.acknowledgedCount += 1
      } else {
        client.unknown.push(sequence)
        this.failureCount += 1
        const failure = `${client.kindName}: ${result}`
        this.failures.set(failure, (this.failures.get(failure) ?? 0) + 1)
        // Clients don't retry at once, either.
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      for (const look of this.#watchers) look()
    }
  }

  /** Undefined if the write was acknowledged. */
  async #write({ kind, name }: Client, sequence: number): Promise<string | undefined> {
    let answer: RawResponse
    try {
      answer = await withinLimit(kind.write(this.#ports, name, sequence), name)
    } catch (error) {
      if (error instanceof Hang) throw error
      return error instanceof Error && 'code' in error ? String(error.code) : String(error)
    }
    if (answer.status === 503 && answer.headers['retry-after'] === undefined) this.withoutRetryAfter += 1 // prettier-ignore
    return answer.status < 300 ? undefined : outcomeOf(answer)
  }

  async #when(isReached: () => boolean): Promise<void> {
    const reached = new Promise<void>((resolve) => {
      const look = (): void => {
        if (!isReached()) return
        this.#watchers.delete(look)
        resolve()
      }
      this.#watchers.add(look)
      look()
    })
    // A client that hangs ends the wait as well.
    await Promise.race([reached, this.#done])
  }
}

/** The Table service has the code in the body only. */
function outcomeOf(answer: RawResponse): string {
  const [, code] = /"code":"(\w+)"/.exec(answer.text) ?? []
  return code === undefined ? outcome(answer) : `${answer.status} ${code}`
}

class Hang extends Error {}

async function withinLimit<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Hang(`no answer to a write of ${what}`)), HANG_MS)
  })
  return Promise.race([work, limit]).finally(() => clearTimeout(timer))
}

/** The last acknowledged write is there, or one that was sent after it. */
function checkReplaced({ name, acknowledged, unknown }: Client, found: readonly number[]): void {
  const last = acknowledged.at(-1)
  const allowed = [last, ...unknown.filter((sequence) => sequence > (last ?? 0))]
  assert(allowed.includes(found[0]), `${name} has ${found[0]}, not one of ${allowed.join()}`)
}

/** Each acknowledged write is there exactly once and in order, and the others once at most. */
function checkAll({ name, acknowledged, unknown }: Client, found: readonly number[]): void {
  const allowed = new Set([...acknowledged, ...unknown])
  const there = new Set(found)
  assert.equal(there.size, found.length, `${name} has something twice: ${found.join()}`)
  assert(found.every((each, at) => at === 0 || each > (found[at - 1] ?? 0)), `${name} is out of order`) // prettier-ignore
  assert.deepEqual(found.filter((sequence) => !allowed.has(sequence)), [], `${name} has more`) // prettier-ignore
  assert.deepEqual(acknowledged.filter((sequence) => !there.has(sequence)), [], `${name} lost acknowledged writes`) // prettier-ignore
}

/** The container, table and share that all clients use. */
export async function createPlaces({ blob, table: tablePort, file }: Ports): Promise<void> {
  await created(() => sendTo(blob)('PUT', '/box?restype=container'))
  const body = JSON.stringify({ TableName: 'box' })
  await created(() => sendToTable({ tablePort }, { method: 'POST', path: '/Tables', body }))
  await created(() => sendTo(file)('PUT', '/box?restype=share'))
}
