// Commits to LMDB, for tests that watch this process from outside, and notes in a file what was acknowledged: `1`, or what
// failed: `2 EIO`, after a first line that says that the store is open. Every commit moves all records to the next state (lmdb-state.ts).
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { openLmdbEngine } from '../../src/kv/engine/lmdb.ts'
import { stateWrites } from './lmdb-state.ts'

const [folder = '', count = '0'] = process.argv.slice(2)
const engine = openLmdbEngine(folder)
const note = (line: string): void => appendFileSync(join(folder, 'notes'), `${line}\n`)
note('open')
for (let state = 1; state <= Number(count); state += 1) {
  try {
    await engine.commit([{ writes: stateWrites(state) }])
    note(String(state))
  } catch (error) {
    note(`${state} ${error instanceof Error ? error.message : String(error)}`)
  }
}
await engine.close()
