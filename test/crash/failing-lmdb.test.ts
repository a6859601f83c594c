// The n-th call that LMDB makes to the file system fails, for each n: with an I/O error, with a full disk, with less written
// than asked. LMDB is native code, so strace does it from outside. A commit that fails is reported, all that was
// acknowledged is there, and the next commits succeed by themselves.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test, type TestContext } from 'node:test'
import { openLmdbEngine } from '../../src/kv/engine/lmdb.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { straceMissing } from '../system-calls.ts'
import { stateOf, stateWrites } from './lmdb-state.ts'

const STATE_COUNT = Number(process.env['DISK_STATES'] ?? 4)
/** More than any run makes of one kind. */
const CALLS_MAX = 10 * STATE_COUNT
/** A commit that is never answered must fail the test. */
const WAIT_MS_MAX = 60_000
const CALLS = ['openat', 'pread64', 'lseek', 'writev', 'pwrite64', 'fdatasync'] as const
const FAILURES = {
  EIO: { effect: 'error=EIO', calls: CALLS },
  ENOSPC: { effect: 'error=ENOSPC', calls: ['writev', 'pwrite64'] },
  // Nothing is written, and 512 bytes are reported.
  'short write': { effect: 'retval=512', calls: ['writev', 'pwrite64'] },
} as const

after(cleanUp)

type Run = {
  readonly isStruck: boolean
  readonly isOpened: boolean
  readonly exitCode: number | null
  readonly notes: readonly string[]
}

/** Of a path, strace counts the calls of each thread: LMDB writes on one of the pool. */
async function run(folder: string, call: string, effect: string, nth: number): Promise<Run> {
  const [data, trace] = [join(folder, 'data.mdb'), join(tempFolder('trace'), 'calls')]
  const inject = ['-e', `trace=${CALLS.join()}`, '-e', `inject=${call}:${effect}:when=${nth}`]
  const writer = join(import.meta.dirname, 'lmdb-writer.ts')
  const child = spawn(
    'strace',
    ['-f', '-P', data, ...inject, '-o', trace, process.execPath, writer, folder, String(STATE_COUNT)], // prettier-ignore
    { env: { ...process.env, UV_THREADPOOL_SIZE: '1' }, stdio: 'ignore', timeout: WAIT_MS_MAX, killSignal: 'SIGKILL' }, // prettier-ignore
  )
  const [exitCode] = (await once(child, 'exit')) as [number | null]
  const notes = readLines(join(folder, 'notes'))
  const isStruck = readFileSync(trace, 'latin1').includes('(INJECTED)')
  return { isStruck, isOpened: notes.length > 0, exitCode, notes: notes.slice(1) }
}

function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').trim().split('\n')
  } catch {
    return []
  }
}

/** Returns what came of it. */
async function failNth(call: string, effect: string, nth: number): Promise<string | undefined> {
  const folder = tempFolder('failing-lmdb')
  const { isStruck, isOpened, exitCode, notes } = await run(folder, call, effect, nth)
  if (!isStruck) return undefined
  const where = `${call} ${nth}`
  const states = notes.filter((line) => /^\d/.test(line))
  const acknowledged = states.filter((line) => /^\d+$/.test(line)).map(Number)
  if (isOpened) {
    assert.equal(exitCode, 0, `${where}: ${notes.join('; ')}`)
    assert.equal(states.length, STATE_COUNT, `${where}: ${notes.join('; ')}`)
    assert(acknowledged.length >= STATE_COUNT - 1, `${where}: ${notes.join('; ')}`)
  }
  const last = acknowledged.at(-1) ?? 0
  const failedLater = states.length > 0 && last < STATE_COUNT ? [STATE_COUNT] : []
  const engine = openLmdbEngine(folder)
  await stateOf(engine, [last, ...failedLater], where)
  await engine.commit([{ writes: stateWrites(STATE_COUNT + 1) }])
  await stateOf(engine, [STATE_COUNT + 1], where)
  await engine.close()
  if (!isOpened) return 'the store was not opened'
  return acknowledged.length === STATE_COUNT ? 'all commits succeeded' : 'one commit failed'
}

async function failEach(context: TestContext, call: string, effect: string): Promise<void> {
  const outcomes = new Map<string, number>()
  for (let nth = 1; nth <= CALLS_MAX; nth += 1) {
    const outcome = await failNth(call, effect, nth)
    if (outcome === undefined) break
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  context.diagnostic([...outcomes].map(([outcome, count]) => `${count} × ${outcome}`).join(', '))
  assert(outcomes.size > 0, `LMDB calls ${call}`)
}

describe('the disk fails below LMDB', { skip: straceMissing() ?? false, concurrency: 2 }, () => {
  for (const [name, { effect, calls }] of Object.entries(FAILURES)) {
    for (const call of calls) {
      test(`${name} at any ${call}`, (context) => failEach(context, call, effect))
    }
  }
})
