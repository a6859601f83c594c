// What clients write while a server is killed. A cell is something that one client alone writes, so that it knows what must
// be there: the last write that was acknowledged, or the one after it that was not, whole.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { messagesIn, messageXml } from '../queue/fixture.ts'
import { rawRequest, type Headers, type RawResponse } from '../harness.ts'
import type { Random } from '../random.ts'
import { send } from '../table/fixture.ts'

export type Ports = {
  readonly blobPort: number
  readonly queuePort: number
  readonly tablePort: number
  readonly filePort: number
}

/** The number of a write; undefined if there is nothing. */
export type Version = number | undefined

export interface Cell {
  readonly name: string
  create(ports: Ports): Promise<void>
  /** Several requests, one after the other. */
  write(ports: Ports, version: number, random: Random): Promise<void>
  /** Fails if what is there is not allowed, and takes it for what must be there from now on. */
  check(ports: Ports): Promise<void>
  remove(ports: Ports): Promise<void>
}

type Ask = {
  readonly method: string
  readonly path: string
  readonly headers?: Headers
  readonly body?: string | Uint8Array
}

async function ask(
  port: number,
  request: Ask,
  ...statuses: readonly number[]
): Promise<RawResponse> {
  const answer = await rawRequest({ blobPort: port }, request)
  assert(
    statuses.includes(answer.status),
    `${request.method} ${request.path}: ${answer.status} ${answer.text}`,
  )
  return answer
}

/** The Table service has a signature of its own. */
async function askTable(
  { tablePort }: Ports,
  request: Ask,
  ...statuses: readonly number[]
): Promise<RawResponse> {
  const answer = await send({ tablePort }, request)
  assert(statuses.includes(answer.status), `${request.method} ${request.path}: ${answer.text}`)
  return answer
}

/** Some fit into a record, some need an extent, and the longest bypass the page cache. */
function lengthOf(version: number): number {
  if (version % 7 === 0) return 300_000
  return version % 3 === 0 ? 40_000 : 900
}

/** Every byte depends on the version. */
function contentOf(name: string, version: number, lengthBytes = lengthOf(version)): Buffer {
  return Buffer.alloc(lengthBytes, createHash('sha256').update(`${name} ${version}`).digest())
}

/** The acknowledged version, and the one that was sent since. */
class Known {
  #acknowledged: Version
  #sent: { readonly version: Version } | undefined
  readonly #name: string

  constructor(name: string) {
    this.#name = name
  }

  async during(version: Version, work: () => Promise<unknown>): Promise<void> {
    this.#sent = { version }
    await work()
    this.settle(version)
  }

  settle(version: Version): void {
    this.#acknowledged = version
    this.#sent = undefined
  }

  check(isFound: (version: Version) => boolean, found: string): void {
    const allowed = [this.#acknowledged, ...(this.#sent === undefined ? [] : [this.#sent.version])]
    const at = allowed.findIndex(isFound)
    assert(
      at >= 0,
      `${this.#name}: ${found} instead of ${allowed.map((each) => each ?? 'nothing').join(' or ')}`,
    )
    this.settle(allowed[at])
  }
}

/** A blob: put whole or in blocks, read, deleted. */
export function blobCell(index: number): Cell {
  const name = `/crash/blob-${index}`
  const known = new Known(name)
  const put = async (port: number, version: number) => {
    const body = contentOf(name, version)
    if (version % 2 === 0) {
      return ask(
        port,
        { method: 'PUT', path: name, headers: { 'x-ms-blob-type': 'BlockBlob' }, body },
        201,
      )
    }
    const half = Math.floor(body.length / 2)
    const ids = [0, 1].map((at) => Buffer.from(`${version}-${at}`.padStart(12)).toString('base64'))
    for (const [at, id] of ids.entries()) {
      const part = at === 0 ? body.subarray(0, half) : body.subarray(half)
      await ask(
        port,
        { method: 'PUT', path: `${name}?comp=block&blockid=${encodeURIComponent(id)}`, body: part },
        201,
      )
    }
    const list = `<BlockList>${ids.map((id) => `<Latest>${id}</Latest>`).join('')}</BlockList>`
    return ask(port, { method: 'PUT', path: `${name}?comp=blocklist`, body: list }, 201)
  }
  return {
    name,
    create: async ({ blobPort }) => {
      await ask(blobPort, { method: 'PUT', path: '/crash?restype=container' }, 201, 409)
    },
    write: async ({ blobPort }, version, random) => {
      await known.during(version, () => put(blobPort, version))
      await ask(blobPort, { method: 'GET', path: name }, 200)
      if (random.below(4) === 0) {
        await known.during(undefined, () => ask(blobPort, { method: 'DELETE', path: name }, 202))
      }
    },
    check: async ({ blobPort }) => {
      const { status, body } = await ask(blobPort, { method: 'GET', path: name }, 200, 404)
      known.check(
        (version) =>
          version === undefined
            ? status === 404
            : status === 200 && body.equals(contentOf(name, version)),
        `${status} with ${body.length} bytes`,
      )
    },
    remove: async ({ blobPort }) => {
      await known.during(undefined, () => ask(blobPort, { method: 'DELETE', path: name }, 202, 404))
    },
  }
}

/** Two entities of a partition, written by one batch: both have the same version. */
export function tableCell(index: number): Cell {
  const name = `pair-${index}`
  const known = new Known(name)
  const pathOf = (row: number) => `/Crash(PartitionKey='${name}',RowKey='${row}')`
  const batch = (ports: Ports, method: string, body: string) => {
    const part = (row: number) =>
      `--c\r\nContent-Type: application/http\r\n\r\n${method} http://h/devstoreaccount1${pathOf(row)} HTTP/1.1\r\nContent-Type: application/json\r\nIf-Match: *\r\n\r\n${body}\r\n`
    const changes = `${part(0)}${part(1)}--c--\r\n`.replaceAll(
      'If-Match: *\r\n',
      method === 'PUT' ? '' : 'If-Match: *\r\n',
    )
    const whole = `--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n${changes}--b--\r\n`
    return askTable(
      ports,
      {
        method: 'POST',
        path: '/$batch',
        headers: { 'content-type': 'multipart/mixed; boundary=b' },
        body: whole,
      },
      202,
    )
  }
  const read = async (ports: Ports): Promise<readonly Version[]> => {
    const found: Version[] = []
    for (const row of [0, 1]) {
      const headers = { accept: 'application/json;odata=nometadata' }
      const { status, text } = await askTable(
        ports,
        { method: 'GET', path: pathOf(row), headers },
        200,
        404,
      )
      found.push(status === 404 ? undefined : (JSON.parse(text) as { readonly V: number }).V)
    }
    return found
  }
  return {
    name,
    create: async (ports) => {
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json;odata=nometadata',
      }
      await askTable(
        ports,
        { method: 'POST', path: '/Tables', headers, body: '{"TableName":"Crash"}' },
        201,
        409,
      )
    },
    write: async (ports, version) => {
      await known.during(version, () => batch(ports, 'PUT', JSON.stringify({ V: version })))
      await read(ports)
    },
    check: async (ports) => {
      const found = await read(ports)
      known.check((version) => found.every((each) => each === version), found.join(' and '))
    },
    remove: async (ports) => {
      for (const row of [0, 1]) {
        await askTable(
          ports,
          { method: 'DELETE', path: pathOf(row), headers: { 'if-match': '*' } },
          204,
          404,
        )
      }
      known.settle(undefined)
    },
  }
}

/** A file of one range that is written whole. */
export function fileCell(index: number): Cell {
  const name = `/crash/file-${index}`
  const known = new Known(name)
  return {
    name,
    create: async ({ filePort }) => {
      await ask(filePort, { method: 'PUT', path: '/crash?restype=share' }, 201, 409)
      const headers = {
        'x-ms-type': 'file',
        'x-ms-content-length': '40000',
        'x-ms-file-permission': 'inherit',
        'x-ms-file-attributes': 'None',
        'x-ms-file-creation-time': 'now',
        'x-ms-file-last-write-time': 'now',
      }
      await ask(filePort, { method: 'PUT', path: name, headers }, 201)
      known.settle(0)
    },
    write: async ({ filePort }, version) => {
      const body = contentOf(name, version, 40_000)
      const headers = { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-39999' }
      await known.during(version, () =>
        ask(filePort, { method: 'PUT', path: `${name}?comp=range`, headers, body }, 201),
      )
      await ask(filePort, { method: 'HEAD', path: name }, 200)
    },
    check: async ({ filePort }) => {
      const { body } = await ask(filePort, { method: 'GET', path: name }, 200)
      const expected = (version: number) =>
        version === 0 ? Buffer.alloc(40_000) : contentOf(name, version, 40_000)
      known.check(
        (version) => version !== undefined && body.equals(expected(version)),
        `${body.length} other bytes`,
      )
    },
    remove: async ({ filePort }) => {
      await ask(filePort, { method: 'DELETE', path: name }, 202, 404)
    },
  }
}

/** A queue: messages are put, and each is got and deleted after a few others. */
export function queueCell(index: number): Cell {
  const name = `crash-${index}`
  /** Puts and deletions without an answer leave a message either way. */
  const present = new Set<string>()
  const unsure = new Set<string>()
  const during = async (text: string, isThere: boolean, work: () => Promise<unknown>) => {
    present.delete(text)
    unsure.add(text)
    await work()
    unsure.delete(text)
    if (isThere) present.add(text)
  }
  return {
    name,
    create: async ({ queuePort }) => {
      await ask(queuePort, { method: 'PUT', path: `/${name}` }, 201, 204)
    },
    write: async ({ queuePort }, version) => {
      const text = `message-${version}`
      const body = messageXml(text)
      await during(text, true, () =>
        ask(queuePort, { method: 'POST', path: `/${name}/messages`, body }, 201),
      )
      if (present.size < 3) return
      // Those that were got and not deleted come back at once: the clock stands still, and the time is over.
      const got = await ask(
        queuePort,
        { method: 'GET', path: `/${name}/messages?visibilitytimeout=1` },
        200,
      )
      const [message] = messagesIn(got)
      if (message === undefined) return
      const path = `/${name}/messages/${message.id}?popreceipt=${encodeURIComponent(message.receipt)}`
      await during(message.text, false, () => ask(queuePort, { method: 'DELETE', path }, 204))
    },
    check: async ({ queuePort }) => {
      const { headers } = await ask(
        queuePort,
        { method: 'GET', path: `/${name}?comp=metadata` },
        200,
      )
      const count = Number(headers['x-ms-approximate-messages-count'])
      assert(
        count >= present.size && count <= present.size + unsure.size,
        `${name}: ${count} messages instead of ${present.size} to ${present.size + unsure.size}`,
      )
      const peeked = await ask(
        queuePort,
        { method: 'GET', path: `/${name}/messages?peekonly=true&numofmessages=32` },
        200,
      )
      const found = messagesIn(peeked).map(({ text }) => text)
      for (const text of found)
        assert(present.has(text) || unsure.has(text), `${name}: ${text} is back`)
      const hidden = [...present].filter((text) => !found.includes(text))
      assert(hidden.length <= count - found.length, `${name}: ${hidden.join()} lost`)
      for (const text of unsure) if (found.includes(text)) present.add(text)
      // One that is hidden and unsure stays unsure.
      for (const text of found) unsure.delete(text)
    },
    remove: async ({ queuePort }) => {
      await ask(queuePort, { method: 'DELETE', path: `/${name}` }, 204, 404)
    },
  }
}
