// Mixed traffic over all services: each client works on objects of its own and in the end has as many as at first, so that whatever grows is
// the server's. Every answer must be the one that the operation expects.
import { COMMAND } from '../../src/smb/wire/header.ts'
import { connect } from '../../src/torture/drive/connection.ts'
import type { Reply, Request } from '../../src/torture/drive/kind.ts'
import { LAKE } from '../datalake/fixture.ts'
import { ACCOUNT, ACCOUNT_KEY, xmlText } from '../harness.ts'
import { randomFrom, type Random } from '../random.ts'
import { DISPOSITION } from '../smb/client-message.ts'
import { SmbClient } from '../smb/smb-client.ts'
import type { Ports } from './server.ts'

export type Traffic = {
  /** Ends when the signal does. */
  run(signal: AbortSignal): Promise<void>
  /** Durations by operation since the last call. */
  take(): ReadonlyMap<string, readonly number[]>
  readonly errors: readonly string[]
  /** The content that clients have stored now. */
  liveBytes(): number
  close(): void
}

const NAME = 'soak'
const TIMEOUT_MS = 60_000
const KIB = 1_024
/** Per client: large blobs, which are most of the data, and small ones. */
const [LARGE_COUNT, SMALL_COUNT] = [12, 20]
const LARGE_SIZES = [64, 300, 1_000, 2_000].map((size) => size * KIB)
const APPENDS_MAX = 30

type Ask = Omit<Request, 'service'> & { readonly service: Request['service'] | 'dfs' }

class Client {
  readonly #id: string
  readonly #random: Random
  readonly #ports: Ports
  readonly #note: (name: string, ms: number) => void
  readonly #http
  readonly #lake
  #smb: SmbClient | undefined
  /** The bytes of each object that is there. */
  readonly sizes = new Map<string, number>()
  #appendCount = 0

  constructor(number: number, seed: number, ports: Ports, note: (name: string, ms: number) => void) {
    this.#id = `${number}`
    this.#random = randomFrom(seed + number * 7_919)
    this.#ports = ports
    this.#note = note
    const base = (service: keyof Ports, account = ACCOUNT) => `http://127.0.0.1:${ports[service]}/${account}`
    const urls = { blob: base('blob'), queue: base('queue'), table: base('table'), file: base('file') }
    this.#http = connect({ account: ACCOUNT, key: ACCOUNT_KEY, urls }, `soak-${number}`, TIMEOUT_MS)
    const lake = { blob: base('dfs', LAKE) }
    this.#lake = connect({ account: LAKE, key: ACCOUNT_KEY, urls: lake }, `soak-lake-${number}`, TIMEOUT_MS)
  } // prettier-ignore

  close(): void {
    this.#http.close()
    this.#lake.close()
    this.#smb?.end()
  }

  async open(): Promise<void> {
    this.#smb = await SmbClient.connect({ port: this.#ports.smb, share: NAME })
    for (let at = 0; at < LARGE_COUNT; at += 1) await this.#putLarge(at)
  }

  /** One step; each does a few requests that belong together. */
  async step(): Promise<void> {
    await this.#random.pick(STEPS)(this)
  }

  async ask(name: string, { service, ...request }: Ask, due: number | readonly number[]): Promise<Reply> {
    const beginMs = performance.now()
    const reply = await (service === 'dfs'
      ? this.#lake.send({ ...request, service: 'blob' })
      : this.#http.send({ ...request, service }))
    this.#note(name, performance.now() - beginMs)
    const isDue = typeof due === 'number' ? reply.status === due : due.includes(reply.status)
    if (!isDue) throw new Error(`${name} ${request.path}: ${reply.status} ${reply.body.toString().slice(0, 200)}`)
    return reply
  } // prettier-ignore

  async timed<T>(name: string, work: Promise<T>): Promise<T> {
    const beginMs = performance.now()
    const result = await work
    this.#note(name, performance.now() - beginMs)
    return result
  }

  async #putLarge(at: number): Promise<void> {
    const [path, lengthBytes] = [`/${NAME}/large-${this.#id}-${at}`, this.#random.pick(LARGE_SIZES)]
    const headers = { 'x-ms-blob-type': 'BlockBlob' }
    const body = Buffer.alloc(lengthBytes, this.#random.below(256))
    await this.ask('Put Blob, large', { service: 'blob', method: 'PUT', path, headers, body }, 201)
    this.sizes.set(path, lengthBytes)
  }

  async large(): Promise<void> {
    await this.#putLarge(this.#random.below(LARGE_COUNT))
    const path = `/${NAME}/large-${this.#id}-${this.#random.below(LARGE_COUNT)}`
    const reply = await this.ask('Get Blob, large', { service: 'blob', method: 'GET', path }, 200)
    if (reply.body.length !== this.sizes.get(path)) throw new Error(`${path}: ${reply.body.length}`)
  }

  async small(): Promise<void> {
    const path = `/${NAME}/small-${this.#id}-${this.#random.below(SMALL_COUNT)}`
    const headers = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-a': 'b' }
    const body = Buffer.alloc(this.#random.below(6 * KIB), 'small ')
    await this.ask('Put Blob', { service: 'blob', method: 'PUT', path, headers, body }, 201)
    await this.ask('Get Blob', { service: 'blob', method: 'GET', path }, 200)
    const lease = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' }
    const leased = await this.ask('Lease Blob', { service: 'blob', method: 'PUT', path: `${path}?comp=lease`, headers: lease }, 201)
    const id = { 'x-ms-lease-id': String(leased.headers['x-ms-lease-id']) }
    await this.ask('Set Blob Metadata', { service: 'blob', method: 'PUT', path: `${path}?comp=metadata`, headers: id }, 200)
    await this.ask('Snapshot Blob', { service: 'blob', method: 'PUT', path: `${path}?comp=snapshot`, headers: id }, 201)
    const all = { ...id, 'x-ms-delete-snapshots': 'include' }
    await this.ask('Delete Blob', { service: 'blob', method: 'DELETE', path, headers: all }, 202)
    await this.ask('List Blobs', { service: 'blob', method: 'GET', path: `/${NAME}?restype=container&comp=list&maxresults=50` }, 200)
  } // prettier-ignore

  async blocks(): Promise<void> {
    const path = `/${NAME}/blocks-${this.#id}`
    const ids = ['AAAA', 'BBBB', 'CCCC']
    const lengthBytes = 20 * KIB
    for (const id of ids) {
      const body = Buffer.alloc(lengthBytes, id)
      await this.ask('Put Block', { service: 'blob', method: 'PUT', path: `${path}?comp=block&blockid=${id}`, body }, 201)
    }
    const body = `<BlockList>${ids.map((id) => `<Latest>${id}</Latest>`).join('')}</BlockList>`
    await this.ask('Put Block List', { service: 'blob', method: 'PUT', path: `${path}?comp=blocklist`, body }, 201)
    this.sizes.set(path, ids.length * lengthBytes)
    const copy = `/${NAME}/copy-${this.#id}`
    const source = { 'x-ms-copy-source': `http://127.0.0.1:${this.#ports.blob}/${ACCOUNT}${path}` }
    await this.ask('Copy Blob', { service: 'blob', method: 'PUT', path: copy, headers: source }, 202)
  } // prettier-ignore

  async append(): Promise<void> {
    const path = `/${NAME}/append-${this.#id}`
    if (this.#appendCount % APPENDS_MAX === 0) {
      await this.ask('Put Append Blob', { service: 'blob', method: 'PUT', path, headers: { 'x-ms-blob-type': 'AppendBlob' } }, 201)
      this.sizes.set(path, 0)
    }
    this.#appendCount += 1
    const body = Buffer.alloc(10 * KIB, 'a')
    await this.ask('Append Block', { service: 'blob', method: 'PUT', path: `${path}?comp=appendblock`, body }, 201)
    this.sizes.set(path, (this.sizes.get(path) ?? 0) + body.length)
  } // prettier-ignore

  async queue(): Promise<void> {
    const path = `/${NAME}-${this.#id}/messages`
    const body = `<QueueMessage><MessageText>${'m'.repeat(this.#random.below(2_000))}</MessageText></QueueMessage>`
    await this.ask('Put Message', { service: 'queue', method: 'POST', path, body }, 201)
    const { body: got } = await this.ask('Get Messages', { service: 'queue', method: 'GET', path }, 200)
    const [id, receipt] = [xmlText(got.toString(), 'MessageId'), xmlText(got.toString(), 'PopReceipt')]
    if (id === undefined || receipt === undefined) throw new Error('a message was not delivered')
    await this.ask('Delete Message', { service: 'queue', method: 'DELETE', path: `${path}/${id}?popreceipt=${encodeURIComponent(receipt)}` }, 204)
  } // prettier-ignore

  async table(): Promise<void> {
    const row = this.#random.below(50)
    const path = `/${NAME}(PartitionKey='${this.#id}',RowKey='${row}')`
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json' }
    const body = JSON.stringify({ A: 'x'.repeat(this.#random.below(500)), B: row })
    await this.ask('Insert Or Replace Entity', { service: 'table', method: 'PUT', path, headers, body }, 204)
    await this.ask('Get Entity', { service: 'table', method: 'GET', path, headers }, 200)
    const filter = encodeURIComponent(`PartitionKey eq '${this.#id}' and B lt 20`)
    await this.ask('Query Entities', { service: 'table', method: 'GET', path: `/${NAME}()?$filter=${filter}`, headers }, 200)
    await this.ask('Delete Entity', { service: 'table', method: 'DELETE', path, headers: { ...headers, 'If-Match': '*' } }, 204)
  } // prettier-ignore

  async files(): Promise<void> {
    const path = `/${NAME}/file-${this.#id}`
    const body = Buffer.alloc(40 * KIB, 'f')
    const made = { 'x-ms-type': 'file', 'x-ms-content-length': String(body.length) }
    await this.ask('Create File', { service: 'file', method: 'PUT', path, headers: made }, 201)
    const range = { 'x-ms-write': 'update', 'x-ms-range': `bytes=0-${body.length - 1}` }
    await this.ask('Put Range', { service: 'file', method: 'PUT', path: `${path}?comp=range`, headers: range, body }, 201)
    await this.ask('Get File', { service: 'file', method: 'GET', path }, 200)
    await this.ask('List Directories and Files', { service: 'file', method: 'GET', path: `/${NAME}?restype=directory&comp=list` }, 200)
    await this.ask('Delete File', { service: 'file', method: 'DELETE', path }, 202)
  } // prettier-ignore

  async lake(): Promise<void> {
    const path = `/${NAME}/dir-${this.#id}/file`
    const ask = (name: string, method: string, at: string, due: number, more: object = {}) =>
      this.ask(name, { service: 'dfs', method, path: at, ...more }, due)
    await ask('Create Path', 'PUT', `${path}?resource=file`, 201)
    await ask('Append Data', 'PATCH', `${path}?action=append&position=0`, 202, { body: Buffer.alloc(9 * KIB) })
    await ask('Flush Data', 'PATCH', `${path}?action=flush&position=${9 * KIB}`, 200)
    await ask('Rename Path', 'PUT', `${path}-2`, 201, { headers: { 'x-ms-rename-source': path } })
    await ask('List Paths', 'GET', `/${NAME}?resource=filesystem&recursive=true`, 200)
    await ask('Delete Path', 'DELETE', `/${NAME}/dir-${this.#id}?recursive=true`, 200)
  } // prettier-ignore

  async smb(): Promise<void> {
    const client = this.#smb
    if (client === undefined) return
    const name = `smb-${this.#id}`
    const file = await this.timed('SMB CREATE', client.open(name, { disposition: DISPOSITION.openIf, access: 0x0013_019f }))
    await this.timed('SMB WRITE', file.write(this.#random.below(8) * 8 * KIB, Buffer.alloc(8 * KIB, 's')))
    await this.timed('SMB READ', file.read(0, 4 * KIB).catch(() => Buffer.alloc(0)))
    await file.setDisposition(true)
    await this.timed('SMB CLOSE', file.close())
    await this.timed('SMB ECHO', client.ask(COMMAND.ECHO, Buffer.from([4, 0, 0, 0])))
  } // prettier-ignore
}

/** Small steps are the most frequent ones. */
const STEPS: readonly ((client: Client) => Promise<void>)[] = [
  (client) => client.large(),
  (client) => client.small(),
  (client) => client.small(),
  (client) => client.blocks(),
  (client) => client.append(),
  (client) => client.queue(),
  (client) => client.queue(),
  (client) => client.table(),
  (client) => client.table(),
  (client) => client.files(),
  (client) => client.lake(),
  (client) => client.smb(),
]

export async function startTraffic(ports: Ports, clientCount: number, seed: number): Promise<Traffic> {
  let durations = new Map<string, number[]>()
  const errors: string[] = []
  const note = (name: string, ms: number): void => {
    const known = durations.get(name)
    if (known === undefined) durations.set(name, [ms])
    else known.push(ms)
  }
  const clients = Array.from({ length: clientCount }, (_, at) => new Client(at, seed, ports, note))
  await prepare(clients[0], clientCount)
  for (const client of clients) await client.open()
  return {
    run: async (signal) => {
      await Promise.all(clients.map((client) => runClient(client, signal, errors)))
    },
    take: () => {
      const taken = durations
      durations = new Map()
      return taken
    },
    errors,
    liveBytes: () => clients.reduce((sum, { sizes }) => sum + sumOf(sizes), 0),
    close: () => {
      for (const client of clients) client.close()
    },
  }
} // prettier-ignore

async function prepare(client: Client | undefined, clientCount: number): Promise<void> {
  if (client === undefined) throw new Error('there are no clients')
  await client.ask('Create', { service: 'blob', method: 'PUT', path: `/${NAME}?restype=container` }, 201)
  await client.ask('Create', { service: 'file', method: 'PUT', path: `/${NAME}?restype=share` }, 201)
  await client.ask('Create', { service: 'dfs', method: 'PUT', path: `/${NAME}?resource=filesystem` }, 201)
  const body = JSON.stringify({ TableName: NAME })
  await client.ask('Create', { service: 'table', method: 'POST', path: '/Tables', headers: { 'Content-Type': 'application/json' }, body }, 201)
  for (let at = 0; at < clientCount; at += 1) {
    await client.ask('Create', { service: 'queue', method: 'PUT', path: `/${NAME}-${at}` }, 201)
  }
} // prettier-ignore

async function runClient(client: Client, signal: AbortSignal, errors: string[]): Promise<void> {
  while (!signal.aborted) {
    try {
      await client.step()
    } catch (error) {
      if (errors.length >= ERRORS_MAX) return
      errors.push(error instanceof Error ? error.message : String(error))
    }
  }
}

/** After so many, a client gives up: the run has failed. */
const ERRORS_MAX = 100

function sumOf(sizes: ReadonlyMap<string, number>): number {
  let sum = 0
  for (const size of sizes.values()) sum += size
  return sum
}
