// A server that is killed while clients write loses no acknowledged write, shows no partial write, and leaves no garbage
// on disk that a sweep does not remove. A seed determines the event at which it is killed; CRASH_SEED=n sets another.
import assert from 'node:assert/strict'
import { createCipheriv, createHash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startServer, type LazuliServer } from '../src/server.ts'
import { checkLocation } from '../src/start/store/fsck.ts'
import { killAtEvent, type CrashPoint } from './crash-point.ts'
import { rawRequest, type RawResponse } from './harness.ts'
import { randomFrom, type Random } from './random.ts'
import {
  cleanUp,
  createContainer,
  deleteBlob,
  getBlob,
  putBlob,
  startServerProcess,
  tempFolder,
} from './server-process.ts'

const SEED = Number(process.env.CRASH_SEED ?? 1)
const ROUNDS = 3
const CLIENTS = 16
const NAMES_PER_CLIENT = 4
/** More than the number of clients, so that at least one write was answered. */
const EVENTS_MIN = 40
const SMALL_BYTES_MAX = 12 * 1_024
const LARGE_BYTES_MIN = 64 * 1_024
const LARGE_BYTES_MAX = 1_024 * 1_024
const SWEEPS_MIN = 3
const SWEEPS_MAX = 6

type Server = { readonly blobPort: number }

/** The number of the write that a blob holds; undefined if there is no blob. */
type Version = number | undefined

/** The last acknowledged state of a name, and the write sent since then that was not answered. */
type Known = { acknowledged: Version; sent?: { readonly version: Version } }

/** Each client writes names of its own, so it knows what they must hold. */
type Client = { readonly known: Map<string, Known>; readonly random: Random }

after(cleanUp)

/** Every byte depends on name, version and position, so that bytes of another write are detected. */
function contentOf(name: string, version: number): Buffer {
  const digest = createHash('sha256').update(`${name} ${version}`).digest()
  const share = digest.readUInt32LE(28) / 2 ** 32
  const isLarge = digest.readUInt8(27) < 100
  const lengthBytes = isLarge
    ? LARGE_BYTES_MIN + Math.floor(share ** 2 * (LARGE_BYTES_MAX - LARGE_BYTES_MIN))
    : Math.floor(share * SMALL_BYTES_MAX)
  const stream = createCipheriv('aes-128-ctr', digest.subarray(0, 16), Buffer.alloc(16))
  return stream.update(Buffer.alloc(lengthBytes))
}

function clientOf(index: number): Client {
  const names = Array.from({ length: NAMES_PER_CLIENT }, (_, n) => `/crash/client-${index}/${n}`)
  const known = new Map(names.map((name): [string, Known] => [name, { acknowledged: undefined }]))
  return { known, random: randomFrom(SEED * 1_000 + index) }
}

let lastVersion = 0

/** Overwrites and sometimes deletes until the connection breaks. Returns the number of answered writes. */
async function writeUntilKilled(
  server: Server,
  { known, random }: Client,
  crash: CrashPoint,
): Promise<number> {
  const names = [...known.keys()]
  for (let count = 0; ; count += 1) {
    const name = random.pick(names)
    const blob = known.get(name)
    assert(blob !== undefined)
    const deletes = blob.acknowledged !== undefined && random.below(5) === 0
    const version = deletes ? undefined : (lastVersion += 1)
    blob.sent = { version }
    let status: number
    try {
      const answer = write(server, name, version)
      crash.happened()
      status = await answer
    } catch (error) {
      crash.expectKilled(error)
      return count
    }
    assert.equal(status, deletes ? 202 : 201)
    known.set(name, { acknowledged: version })
    crash.happened()
  }
}

/** Writes every third blob in blocks, which count only once their list is committed. */
async function write(server: Server, name: string, version: Version): Promise<number> {
  if (version === undefined) return (await deleteBlob(server, name)).status
  const content = contentOf(name, version)
  if (version % 3 !== 0) return (await putBlob(server, name, content)).status
  const half = Math.floor(content.length / 2)
  const parts = [content.subarray(0, half), content.subarray(half)].filter(({ length }) => length)
  const ids = parts.map((_, at) => Buffer.from(`${version}-${at}`.padStart(12)).toString('base64'))
  for (const [at, id] of ids.entries()) {
    const path = `${name}?comp=block&blockid=${encodeURIComponent(id)}`
    const { status } = await rawRequest(server, { method: 'PUT', path, body: parts[at] ?? '' })
    assert.equal(status, 201)
  }
  const list = ids.map((id) => `<Latest>${id}</Latest>`).join('')
  const body = `<BlockList>${list}</BlockList>`
  return (await rawRequest(server, { method: 'PUT', path: `${name}?comp=blocklist`, body })).status
}

/** Every blob holds its last acknowledged write or all of the write sent after it; that becomes its known state. */
async function check(server: Server, { known }: Client): Promise<void> {
  for (const [name, { acknowledged, sent }] of known) {
    const { status, body } = await getBlob(server, name)
    const allowed = [acknowledged, ...(sent === undefined ? [] : [sent.version])]
    const found = allowed.findIndex((version) =>
      version === undefined
        ? status === 404
        : status === 200 && body.equals(contentOf(name, version)),
    )
    const expected = allowed.map((version) => version ?? 'no blob').join(' or ')
    assert(found >= 0, `${name}: ${status} with ${body.length} bytes instead of ${expected}`)
    known.set(name, { acknowledged: allowed[found] })
  }
}

async function checkAll(server: Server, clients: readonly Client[]): Promise<void> {
  await Promise.all(clients.map((client) => check(server, client)))
}

function filesBelow(folder: string): readonly string[] {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name)
}

function extentBytes(folder: string): number {
  const extents = join(folder, 'extents')
  return readdirSync(extents).reduce((sum, name) => sum + statSync(join(extents, name)).size, 0)
}

test(`acknowledged writes survive SIGKILL (seed ${SEED})`, async (context) => {
  const folder = tempFolder('crash')
  const args = ['--silent', '--location', folder]
  const random = randomFrom(SEED)
  const clients = Array.from({ length: CLIENTS }, (_, index) => clientOf(index))

  for (let round = 0; round < ROUNDS; round += 1) {
    const server = await startServerProcess({ args })
    if (round === 0) assert.equal((await createContainer(server, 'crash')).status, 201)
    else await checkAll(server, clients)
    const eventCount = EVENTS_MIN + random.below(400)
    const crash = killAtEvent(server, eventCount)
    const writing = clients.map((client) => writeUntilKilled(server, client, crash))
    const [counts] = await Promise.all([Promise.all(writing), crash.killed])
    const answered = counts.reduce((sum, count) => sum + count, 0)
    context.diagnostic(`killed at event ${eventCount}, after ${answered} answered writes`)
    assert(answered > 0, 'something was acknowledged')
    const { exitCode, lines } = await checkLocation(folder, process.pid)
    assert.deepEqual([exitCode, lines.at(-1)], [0, 'no problems'], lines.join('\n'))
  }
  await checkRemains(folder, clients)
})

/**
 * One pass retires extents, the next removes them, a third removes those that compaction wrote and sealed. A pass leaves
 * what a reader still uses to the next one.
 */
async function sweepUntil(
  server: Pick<LazuliServer, 'sweep'>,
  folder: string,
  bytesMax: number,
): Promise<number> {
  for (let pass = 0; pass < SWEEPS_MAX; pass += 1) {
    if (pass >= SWEEPS_MIN && extentBytes(folder) <= bytesMax) break
    await server.sweep()
  }
  return extentBytes(folder)
}

/** Starts the server in this process, to call its `sweep`. */
async function checkRemains(folder: string, clients: readonly Client[]): Promise<void> {
  const server = await startServer({ location: folder })
  try {
    await checkAll(server, clients)
    await checkAll(server, clients)
    const blobs = clients.flatMap(({ known }) => [...known])
    const liveBytes = blobs.reduce((sum, [name, { acknowledged }]) => {
      return sum + (acknowledged === undefined ? 0 : contentOf(name, acknowledged).length)
    }, 0)
    const spareBytes = 2 * LARGE_BYTES_MAX
    const usedBytes = await sweepUntil(server, folder, 2 * liveBytes + spareBytes)
    assert(usedBytes <= 2 * liveBytes + spareBytes, `${usedBytes} bytes for ${liveBytes}`)
    await checkAll(server, clients)

    for (const [name, { acknowledged }] of blobs) {
      if (acknowledged !== undefined) await deleteBlob(server, name)
    }
    const restBytes = await sweepUntil(server, folder, spareBytes)
    assert(restBytes <= spareBytes, `${restBytes} bytes for nothing`)
  } finally {
    await server.close()
  }
  const strange = filesBelow(folder).filter((name) => {
    return !/^(\.gitignore|data\.mdb|lock\.mdb|[0-9a-f]{14}\.extent)$/.test(name)
  })
  assert.deepEqual(strange, [])
}

test('acknowledged appends survive SIGKILL, each at its offset', async () => {
  const folder = tempFolder('crash-append')
  const args = ['--silent', '--location', folder]
  const lines = new Map<number, string>()
  for (let round = 0; round < 2; round += 1) {
    const server = await startServerProcess({ args })
    if (round === 0) {
      assert.equal((await createContainer(server, 'log')).status, 201)
      const headers = { 'x-ms-blob-type': 'AppendBlob' }
      await rawRequest(server, { method: 'PUT', path: '/log/lines', headers, body: '' })
    }
    const crash = killAtEvent(server, 150 + 100 * round)
    const appending = Array.from({ length: 8 }, (_, index) =>
      append(server, { index, round }, lines, crash),
    )
    await Promise.all([...appending, crash.killed])
    const { exitCode, lines: output } = await checkLocation(folder, process.pid)
    assert.deepEqual([exitCode, output.at(-1)], [0, 'no problems'], output.join('\n'))
  }
  assert(lines.size > 0, 'something was acknowledged')
  const server = await startServer({ location: folder })
  try {
    const { body } = await getBlob(server, '/log/lines')
    for (const [offset, line] of lines) {
      assert.equal(body.toString('utf8', offset, offset + line.length), line)
    }
  } finally {
    await server.close()
  }
})

async function append(
  server: Server,
  { index, round }: { readonly index: number; readonly round: number },
  lines: Map<number, string>,
  crash: CrashPoint,
): Promise<void> {
  for (let count = 0; ; count += 1) {
    // Some are stored in the kv, some in an extent.
    const line = `${round}-${index}-${count};`.repeat(1 + ((count * 977) % 2_000))
    const path = '/log/lines?comp=appendblock'
    let answer: RawResponse
    try {
      const sent = rawRequest(server, { method: 'PUT', path, body: line })
      crash.happened()
      answer = await sent
    } catch (error) {
      return crash.expectKilled(error)
    }
    assert.equal(answer.status, 201)
    lines.set(Number(answer.headers['x-ms-blob-append-offset']), line)
    crash.happened()
  }
}
