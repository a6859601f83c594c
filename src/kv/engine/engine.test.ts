// The contract of an engine, over each of them.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { engineConformance } from './conformance.ts'
import { openLmdbEngine } from './lmdb.ts'
import { openMemoryEngine } from './memory.ts'

const folders: string[] = []
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-engine-'))
  folders.push(folder)
  return folder
}

engineConformance('LMDB', () => openLmdbEngine(newFolder()), 'local')
engineConformance('LMDB, versions checked', () => openLmdbEngine(newFolder(), { isShared: true }))
engineConformance('memory', () => openMemoryEngine(), 'local')
engineConformance('memory, versions checked', () => openMemoryEngine({ isShared: true }))
engineConformance('memory, waiting (seed 1)', () => openMemoryEngine({ waitSeed: 1 }))
engineConformance('memory, waiting (seed 2)', () => openMemoryEngine({ waitSeed: 2 }))
