// A power cut at any moment of LMDB's work, as far as a machine that goes on can show it: what was written is recorded, and
// files are made of what was synced and some of what was not. Each of them opens, and is in the state that was acknowledged
// last or the one after it.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { openLmdbEngine } from '../../src/kv/engine/lmdb.ts'
import { randomFrom } from '../random.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { straceMissing } from '../system-calls.ts'
import { stateOf, stateWrites } from './lmdb-state.ts'
import {
  fileAfterCut,
  readEvents,
  straceWrites,
  SURVIVORS,
  type DiskEvent,
} from './recorded-writes.ts'

const SEED = Number(process.env['CRASH_SEED'] ?? 1)
const STATE_COUNT = Number(process.env['CRASH_STATES'] ?? 10)

after(cleanUp)

function record(): readonly DiskEvent[] {
  const folder = tempFolder('power')
  const trace = join(tempFolder('trace'), 'calls')
  const data = join(folder, 'data.mdb')
  const [program = '', ...args] = straceWrites(trace, data, join(folder, 'notes'))
  const writer = join(import.meta.dirname, 'lmdb-writer.ts')
  const ended = spawnSync(
    program,
    [...args, process.execPath, writer, folder, String(STATE_COUNT)],
    { encoding: 'utf8' },
  )
  assert.equal(ended.status, 0, ended.stderr)
  return readEvents(trace, data).filter((event) => event.kind !== 'note' || event.line !== 'open')
}

/** The states that a store may be in after so many events. */
function allowedAfter(events: readonly DiskEvent[], count: number): readonly number[] {
  const acknowledged = events.slice(0, count).filter(({ kind }) => kind === 'note').length
  return [acknowledged, acknowledged + 1]
}

describe('a power cut', { skip: straceMissing() ?? false }, () => {
  test(`at any moment of a commit leaves the state before it or after it (seed ${SEED})`, async (context) => {
    const events = record()
    assert.equal(events.filter(({ kind }) => kind === 'note').length, STATE_COUNT)
    assert(events.filter(({ kind }) => kind === 'sync').length >= STATE_COUNT)
    const random = randomFrom(SEED)
    const folder = tempFolder('cut')
    let [fileCount, newerCount] = [0, 0]
    for (let count = 0; count <= events.length; count += 1) {
      for (const [at, choose] of SURVIVORS.entries()) {
        const place = join(folder, `${count}-${at}`)
        mkdirSync(place)
        const file = fileAfterCut(events, count, choose(random))
        writeFileSync(join(place, 'data.mdb'), file)
        const allowed = allowedAfter(events, count)
        const state = await checkStore(place, allowed, `${count}, way ${at}`)
        if (state === allowed[1]) newerCount += 1
        fileCount += 1
        rmSync(place, { recursive: true })
      }
    }
    context.diagnostic(`${fileCount} files of ${events.length} events`)
    assert(newerCount > 0 && newerCount < fileCount)
  })

  test('the test notices a commit that was acknowledged before its sync', async () => {
    const events = record()
    // As if fdatasync and O_DSYNC did nothing.
    const unsynced = events
      .filter(({ kind }) => kind !== 'sync')
      .map((event) =>
        event.kind === 'write' ? { ...event, isDurable: event.offset < 16_384 } : event,
      )
    const folder = tempFolder('unsynced')
    writeFileSync(
      join(folder, 'data.mdb'),
      fileAfterCut(unsynced, unsynced.length, () => false),
    )
    // LMDB may end the process over such a file, so another one opens it.
    const module = JSON.stringify(join(import.meta.dirname, 'lmdb-state.ts'))
    const engine = JSON.stringify(join(import.meta.dirname, '../../src/kv/engine/lmdb.ts'))
    const code = `const { stateOf } = await import(${module}); const { openLmdbEngine } = await import(${engine});
      await stateOf(openLmdbEngine(${JSON.stringify(folder)}), [${STATE_COUNT}], 'unsynced'); console.log('whole')`
    const ended = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
      encoding: 'utf8',
    })
    assert.doesNotMatch(ended.stdout, /whole/)
  })
})

/** It is in one of the states, and goes on from there. */
async function checkStore(
  folder: string,
  allowed: readonly number[],
  where: string,
): Promise<number> {
  const engine = openLmdbEngine(folder)
  try {
    const state = await stateOf(engine, allowed, where)
    await engine.commit([{ writes: stateWrites(state + 5) }])
    await stateOf(engine, [state + 5], where)
    return state
  } finally {
    await engine.close()
  }
}
