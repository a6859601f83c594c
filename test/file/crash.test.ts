// A server that is killed while clients put ranges loses no acknowledged range and shows no partial one. A seed
// determines the event at which it is killed; CRASH_SEED=n sets another. fsck reports damage with the name of the file.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { closeSync, openSync, readdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startServer } from '../../src/server.ts'
import { checkLocation } from '../../src/start/store/fsck.ts'
import { killAtEvent, type CrashPoint } from '../crash-point.ts'
import { rawRequest } from '../harness.ts'
import { randomFrom } from '../random.ts'
import { cleanUp, startServerProcess, tempFolder } from '../server-process.ts'

const SEED = Number(process.env.CRASH_SEED ?? 1)
const CLIENTS = 8
const SLOTS = 8
/** More than the number of clients, so that at least one write was answered. */
const EVENTS_MIN = 40
/** Half of the clients write to the kv, half to extents. */
const SLOT_BYTES = [4 * 1024, 96 * 1024] as const

after(cleanUp)

type Server = { readonly blobPort: number }

/** The last acknowledged write of a slot, and the write sent since then. */
type Slot = { acknowledged: number; sent?: number }

type Client = { readonly path: string; readonly slotBytes: number; readonly slots: Slot[] }

function clientOf(index: number): Client {
  const slots = Array.from({ length: SLOTS }, () => ({ acknowledged: 0 }))
  return { path: `/crash/file-${index}`, slotBytes: SLOT_BYTES[index % 2 ? 1 : 0], slots }
}

/** Every byte depends on the write and the slot; write 0 is the initial zeros. */
function contentOf(write: number, slot: number, lengthBytes: number): Buffer {
  if (write === 0) return Buffer.alloc(lengthBytes)
  return Buffer.alloc(lengthBytes, createHash('sha256').update(`${write} ${slot}`).digest())
}

let lastWrite = SEED * 1_000_000

/** Writes one slot or two at once until the connection breaks. Returns the number of answered writes. */
async function writeUntilKilled(
  server: Server,
  client: Client,
  crash: CrashPoint,
): Promise<number> {
  const { slots, slotBytes, path } = client
  for (let count = 0; ; count += 1) {
    const write = (lastWrite += 1)
    const first = (write * 7) % (SLOTS - 1)
    const written = write % 3 === 0 ? [first, first + 1] : [first]
    for (const at of written) Object.assign(slots[at] ?? {}, { sent: write })
    const body = Buffer.concat(written.map((at) => contentOf(write, at, slotBytes)))
    const from = first * slotBytes
    const range = `bytes=${from}-${from + body.length - 1}`
    const headers = { 'x-ms-write': 'update', 'x-ms-range': range }
    let status: number
    try {
      const request = { method: 'PUT', path: `${path}?comp=range`, headers, body }
      const answer = rawRequest(server, request)
      crash.happened()
      status = (await answer).status
    } catch (error) {
      crash.expectKilled(error)
      return count
    }
    assert.equal(status, 201)
    for (const at of written) slots[at] = { acknowledged: write }
    crash.happened()
  }
}

/** Every slot holds its last acknowledged write or all of the write sent after it; slots written together agree. */
async function check(server: Server, { path, slots, slotBytes }: Client): Promise<void> {
  const { status, body } = await rawRequest(server, { method: 'GET', path })
  assert.equal(status, 200)
  const outcomes = new Map<number, boolean>()
  for (const [at, { acknowledged, sent }] of slots.entries()) {
    const bytes = body.subarray(at * slotBytes, (at + 1) * slotBytes)
    const isSent = sent !== undefined && bytes.equals(contentOf(sent, at, slotBytes))
    const isKept = bytes.equals(contentOf(acknowledged, at, slotBytes))
    assert(isSent || isKept, `${path} slot ${at} is neither ${acknowledged} nor ${sent}`)
    if (sent !== undefined) {
      assert.equal(outcomes.get(sent) ?? isSent, isSent, `${path}: only part of ${sent}`)
      outcomes.set(sent, isSent)
    }
    slots[at] = { acknowledged: isSent ? sent : acknowledged }
  }
}

const ARGS = ['--silent', '--filePort', '0', '--smbPort', '0', '--location']

async function startProcess(folder: string) {
  const server = await startServerProcess({ args: [...ARGS, folder] })
  const [, port] = await server.printed(
    /File service is successfully listening at http:[^\s"]*:(\d+)/,
  )
  return { server, place: { blobPort: Number(port) } }
}

test(`acknowledged ranges survive SIGKILL (seed ${SEED})`, async (context) => {
  const folder = tempFolder('crash-file')
  const random = randomFrom(SEED)
  const clients = Array.from({ length: CLIENTS }, (_, index) => clientOf(index))
  for (let round = 0; round < 3; round += 1) {
    const { server, place } = await startProcess(folder)
    if (round === 0) await makeFiles(place, clients)
    else for (const client of clients) await check(place, client)
    const crash = killAtEvent(server, EVENTS_MIN + random.below(500))
    const writing = clients.map((client) => writeUntilKilled(place, client, crash))
    const [counts] = await Promise.all([Promise.all(writing), crash.killed])
    const answered = counts.reduce((sum, count) => sum + count, 0)
    context.diagnostic(`killed after ${answered} answered writes`)
    assert(answered > 0, 'something was acknowledged')
    const { exitCode, lines } = await checkLocation(folder, process.pid)
    assert.deepEqual([exitCode, lines.at(-1)], [0, 'no problems'], lines.join('\n'))
  }
  const server = await startServer({ location: folder, filePort: 0 })
  try {
    for (let pass = 0; pass < 3; pass += 1) await server.sweep()
    for (const client of clients) await check({ blobPort: server.filePort }, client)
  } finally {
    await server.close()
  }
})

async function makeFiles(place: Server, clients: readonly Client[]): Promise<void> {
  const share = await rawRequest(place, { method: 'PUT', path: '/crash?restype=share' })
  assert.equal(share.status, 201, share.text)
  for (const { path, slotBytes } of clients) {
    const length = { 'x-ms-type': 'file', 'x-ms-content-length': String(SLOTS * slotBytes) }
    assert.equal((await rawRequest(place, { method: 'PUT', path, headers: length })).status, 201)
  }
}

test('lazuli fsck names the file with damaged bytes and its snapshot', async () => {
  const folder = tempFolder('damage-file')
  const server = await startServer({ location: folder, filePort: 0 })
  const put = async (path: string, headers: Record<string, string>, body: string | Buffer = '') => {
    const place = { blobPort: server.filePort }
    const { status, text } = await rawRequest(place, { method: 'PUT', path, headers, body })
    assert.equal(status, 201, text)
  }
  await put('/box?restype=share', {})
  await put('/box/folder?restype=directory', {})
  const path = '/box/folder/Report.pdf'
  await put(path, { 'x-ms-type': 'file', 'x-ms-content-length': '100000' })
  const range = { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-99999' }
  await put(`${path}?comp=range`, range, Buffer.alloc(100_000, 'x'))
  await put('/box?restype=share&comp=snapshot', {})
  await put(`${path}?comp=range`, range, Buffer.alloc(100_000, 'y'))
  await server.close()

  const extents = join(folder, 'extents')
  for (const name of readdirSync(extents)) {
    const file = openSync(join(extents, name), 'r+')
    writeSync(file, 'damage', 50_000)
    writeSync(file, 'damage', 150_000)
    closeSync(file)
  }
  const { exitCode, lines } = await checkLocation(folder, process.pid)
  assert.equal(exitCode, 1)
  const damaged = lines.filter((line) => line.startsWith('sliceDamaged'))
  const name = 'of the file devstoreaccount1/box/folder/Report.pdf'
  assert(
    damaged.some((line) => line.endsWith(name)),
    lines.join('\n'),
  )
  assert(
    damaged.some((line) => line.includes(`${name} in the share's snapshot 20`)),
    lines.join('\n'),
  )
})
