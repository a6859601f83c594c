// A server that is killed while SMB clients write loses nothing that it has acknowledged: no WRITE, which is never
// partial, no CREATE, rename or deletion, and no file that smbclient has put. A seed determines the event at which it is
// killed; CRASH_SEED=n sets another.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { checkLocation } from '../../src/start/store/fsck.ts'
import { missingReason } from '../clients/program.ts'
import { killAtEvent, type CrashPoint } from '../crash-point.ts'
import { rawRequest, xmlTexts } from '../harness.ts'
import { randomFrom } from '../random.ts'
import {
  cleanUp,
  launch,
  startServerProcess,
  stop,
  tempFolder,
  type ServerProcess,
} from '../server-process.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { ACCESS, DISPOSITION } from './client-message.ts'
import { SmbClient } from './smb-client.ts'
import type { SmbFile } from './smb-file.ts'

const SEED = Number(process.env.CRASH_SEED ?? 1)
const SHARE_NAME = 'crash'
const ROUNDS = 3
const WRITERS = 4
const SLOTS = 6
/** More than the concurrent writes (writers times slots), so that at least one write was answered. */
const EVENTS_MIN = 200
/** Half of the clients write to the kv, half to extents. */
const SLOT_BYTES = [4 * 1024, 96 * 1024] as const
const MAIN_ARGS = ['--silent', '--filePort', '0', '--smbPort', '0', '--location']

after(cleanUp)

type Started = {
  readonly server: ServerProcess
  readonly rest: { readonly blobPort: number }
  readonly smbPort: number
}

async function startProcess(folder: string): Promise<Started> {
  const server = await startServerProcess({ args: [...MAIN_ARGS, folder] })
  const portOf = async (service: string) => {
    const line = new RegExp(`${service} service is successfully listening at [^\\s"]*:(\\d+)`)
    return Number((await server.printed(line))[1])
  }
  return { server, rest: { blobPort: await portOf('File') }, smbPort: await portOf('SMB') }
}

async function connect({ smbPort }: Started): Promise<SmbClient> {
  return await SmbClient.connect({ port: smbPort, share: SHARE_NAME })
}

/** Runs until the server is killed, which is the only reason for the connection to end. */
async function untilKilled(crash: CrashPoint, work: () => Promise<void>): Promise<void> {
  try {
    for (;;) await work()
  } catch (error) {
    crash.expectKilled(error)
    assert(error instanceof Error)
    assert.match(error.message, /the connection has ended/, error.stack)
  }
}

/** The last acknowledged write of a slot, and the write sent since then. */
type Slot = { acknowledged: number; sent?: number }

type Writer = { readonly name: string; readonly slotBytes: number; readonly slots: Slot[] }

function writerOf(index: number): Writer {
  const slots = Array.from({ length: SLOTS }, () => ({ acknowledged: 0 }))
  return { name: `file-${index}`, slotBytes: SLOT_BYTES[index % 2 ? 1 : 0], slots }
}

/** Every byte depends on the write and the slot; write 0 is the initial zeros. */
function contentOf(write: number, slot: number, lengthBytes: number): Buffer {
  if (write === 0) return Buffer.alloc(lengthBytes)
  return Buffer.alloc(lengthBytes, createHash('sha256').update(`${write} ${slot}`).digest())
}

let lastWrite = SEED * 1_000_000
let acknowledgedCount = 0

/** Each writer has its own connection. */
async function openFile(started: Started, { name, slotBytes }: Writer): Promise<SmbFile> {
  const client = await connect(started)
  const disposition = DISPOSITION.openIf
  const handle = await client.open(name, { access: ACCESS.all, disposition })
  if ((await handle.lengthBytes()) === 0) await handle.setLength(SLOTS * slotBytes)
  return handle
}

/** Writes all slots at once. */
async function write(
  handle: SmbFile,
  { slotBytes, slots }: Writer,
  crash: CrashPoint,
): Promise<void> {
  const writeSlot = async (slot: Slot, at: number) => {
    const id = (lastWrite += 1)
    slot.sent = id
    const written = handle.write(at * slotBytes, contentOf(id, at, slotBytes))
    crash.happened()
    await written
    slot.acknowledged = id
    delete slot.sent
    acknowledgedCount += 1
    crash.happened()
  }
  await Promise.all(slots.map((slot, at) => untilKilled(crash, () => writeSlot(slot, at))))
}

async function checkWriter(read: Read, { name, slots, slotBytes }: Writer): Promise<void> {
  const all = await read(name)
  for (const [at, slot] of slots.entries()) {
    const { acknowledged, sent } = slot
    const bytes = all.subarray(at * slotBytes, (at + 1) * slotBytes)
    const isSent = sent !== undefined && bytes.equals(contentOf(sent, at, slotBytes))
    const isKept = bytes.equals(contentOf(acknowledged, at, slotBytes))
    assert(isSent || isKept, `${name} slot ${at} is neither ${acknowledged} nor ${sent}`)
    slots[at] = { acknowledged: isSent ? sent : acknowledged }
  }
}

/** Names that must exist and names that must not; those with a pending operation are in neither set. */
type Names = { readonly present: Set<string>; readonly absent: Set<string>; count: number }

/** Creates a file, then keeps, renames or deletes it. */
async function changeNames(client: SmbClient, names: Names): Promise<void> {
  const { present, absent } = names
  names.count += 1
  const name = `name-${SEED}-${names.count}`
  const terms = { access: ACCESS.all, disposition: DISPOSITION.create }
  const handle: SmbFile = await client.open(name, terms)
  present.add(name)
  if (names.count % 3 === 1) {
    present.delete(name)
    await handle.rename(`${name}-renamed`)
    absent.add(name)
    present.add(`${name}-renamed`)
  }
  if (names.count % 3 === 2) {
    present.delete(name)
    await handle.setDisposition(true)
    await handle.close()
    absent.add(name)
    return
  }
  await handle.close()
}

type Read = (path: string) => Promise<Buffer>

function restReader({ rest }: Started): Read {
  return async (path) => {
    const answer = await rawRequest(rest, { method: 'GET', path: `/${SHARE_NAME}/${path}` })
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
}

function smbReader(client: SmbClient): Read {
  return async (path) => {
    const handle = await client.open(path)
    const { lengthBytes } = handle.opened
    const parts: Buffer[] = []
    for (let at = 0; at < lengthBytes; at += 65_536) parts.push(await handle.read(at, 65_536))
    await handle.close()
    return Buffer.concat(parts)
  }
}

async function listed({ rest }: Started): Promise<Set<string>> {
  const path = `/${SHARE_NAME}?restype=directory&comp=list`
  const { text } = await rawRequest(rest, { method: 'GET', path })
  return new Set(xmlTexts(text, 'Name'))
}

function checkNames(found: ReadonlySet<string>, { present, absent }: Names): void {
  for (const name of present) assert(found.has(name), `${name} is lost`)
  for (const name of absent) assert(!found.has(name), `${name} is back`)
}

async function checkSound(folder: string): Promise<void> {
  const { exitCode, lines } = await checkLocation(folder, process.pid)
  assert.deepEqual([exitCode, lines.at(-1)], [0, 'no problems'], lines.join('\n'))
}

async function makeShare({ rest }: Started): Promise<void> {
  const { status } = await rawRequest(rest, { method: 'PUT', path: `/${SHARE_NAME}?restype=share` })
  assert.equal(status, 201)
}

test(`acknowledged SMB operations survive SIGKILL (seed ${SEED})`, async (t: TestContext) => {
  const folder = tempFolder('crash-smb')
  const random = randomFrom(SEED)
  const writers = Array.from({ length: WRITERS }, (_, index) => writerOf(index))
  const names: Names = { present: new Set(), absent: new Set(), count: 0 }
  for (let round = 0; round <= ROUNDS; round += 1) {
    const started = await startProcess(folder)
    if (round === 0) await makeShare(started)
    else {
      const client = await connect(started)
      for (const writer of writers) {
        await checkWriter(round % 2 ? restReader(started) : smbReader(client), writer)
      }
      checkNames(await listed(started), names)
      client.end()
    }
    if (round === ROUNDS) return void (await stop(started.server))
    const before = acknowledgedCount
    const client = await connect(started)
    const opened = await Promise.all(
      writers.map(async (writer) => ({ writer, handle: await openFile(started, writer) })),
    )
    const crash = killAtEvent(started.server, EVENTS_MIN + random.below(1_000))
    const naming = untilKilled(crash, () => changeNames(client, names))
    const writing = opened.map(({ writer, handle }) => write(handle, writer, crash))
    await Promise.all([naming, ...writing, crash.killed])
    await checkSound(folder)
    t.diagnostic(`killed after ${acknowledgedCount - before} writes; ${names.count} files so far`)
    assert(acknowledgedCount > before, 'something was acknowledged')
  }
})

const noSmbclient = missingReason('smbclient', ['smbclient', '--version']) ?? false

test('files that smbclient has put survive SIGKILL', { skip: noSmbclient }, async (t) => {
  const folder = tempFolder('crash-smbclient')
  const local = tempFolder('crash-local')
  const bytes = randomBytes(300_000)
  writeFileSync(join(local, 'a'), bytes)
  const started = await startProcess(folder)
  await makeShare(started)
  const puts = Array.from({ length: 500 }, (_, index) => `put a put-${index}`)
  const args = [
    '//127.0.0.1/crash',
    `--port=${started.smbPort}`,
    `--user=${ACCOUNT}%${ACCOUNT_KEY}`,
  ]
  const command = ['-c', `lcd ${local}; ${puts.join('; ')}`]
  const putting = launch({ program: ['smbclient'], args: [...args, ...command] })
  await putting.printed(/putting file a as \\put-20 /)
  assert.equal((await stop(started.server, 'SIGKILL')).signal, 'SIGKILL')
  await checkSound(folder)
  const { stdout, stderr } = await putting.ended
  // smbclient prints this after it has closed the file.
  const done = [...`${stdout}${stderr}`.matchAll(/putting file a as \\(put-\d+) /g)].map(
    ([, name = '']) => name,
  )
  t.diagnostic(`killed after ${done.length} files`)
  assert(done.length > 20 && done.length < puts.length)
  const again = await startProcess(folder)
  for (const name of done)
    assert(bytes.equals(await restReader(again)(name)), `${name} is incomplete`)
  await stop(again.server)
})
