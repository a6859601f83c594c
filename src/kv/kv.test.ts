import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kvConformance } from './conformance.ts'
import { openLmdbKv } from './lmdb.ts'
import { openMemoryKv } from './memory.ts'

kvConformance('memory', async () => openMemoryKv())
kvConformance('memory that waits', async () => openMemoryKv({ waits: true }))
kvConformance('LMDB', async () => openLmdbKv(newFolder()))
kvConformance('LMDB of one process', async () => {
  const kv = openLmdbKv(newFolder())
  kv.own()
  return kv
})

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'lazuli-kv-'))
}
