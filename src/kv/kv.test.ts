// The contract of a store, over every combination of engine, runners and cache.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { NO_CACHE } from './cache.ts'
import { kvConformance } from './conformance.ts'
import type { Engine } from './engine/engine.ts'
import { openLmdbEngine } from './engine/lmdb.ts'
import { openMemoryEngine } from './engine/memory.ts'
import { openKv, versionsOf } from './runner/runner.ts'

const folders: string[] = []
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-kv-'))
  folders.push(folder)
  return folder
}

const ENGINES: readonly (readonly [name: string, isShared: boolean, open: () => Engine])[] = [
  ['LMDB', false, () => openLmdbEngine(newFolder())],
  ['LMDB, versions checked', true, () => openLmdbEngine(newFolder(), { isShared: true })],
  ['memory', false, () => openMemoryEngine()],
  ['memory, versions checked', true, () => openMemoryEngine({ isShared: true })],
  ['memory, waiting (seed 1)', true, () => openMemoryEngine({ waitSeed: 1 })],
  ['memory, waiting (seed 2)', true, () => openMemoryEngine({ waitSeed: 2 })],
]

for (const [name, isShared, open] of ENGINES) {
  for (const count of isShared ? [1, 2, 3] : [1]) {
    for (const cache of ['with cache', 'without cache']) {
      kvConformance(`${name}, ${count} runners, ${cache}`, async () => {
        const engine = closedOnce(open(), count)
        return Array.from({ length: count }, (_, at) =>
          openKv(engine, {
            nextVersion: versionsOf(at + 1),
            ...(cache === 'without cache' && { cache: NO_CACHE }),
          }),
        )
      })
    }
  }
}

/** Closes the engine when its last runner does. */
function closedOnce(engine: Engine, runnerCount: number): Engine {
  let open = runnerCount
  return {
    ...engine,
    close: async () => {
      open -= 1
      if (open === 0) await engine.close()
    },
  }
}
