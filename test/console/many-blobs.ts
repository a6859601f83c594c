// A store with a container of very many blobs, made faster than by requests: one is put, and its record is copied.
import assert from 'node:assert/strict'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BlobServiceClient } from '@azure/storage-blob'
import { startServer } from '../../src/server.ts'
import { openStore } from '../../src/start/store/store.ts'
import { requireContainer } from '../../src/storage/blob/container/container.ts'
import { blobKey } from '../../src/storage/blob/keys.ts'
import type { Tx } from '../../src/kv/kv.ts'
import { ACCOUNT } from '../harness.ts'

const PER_TRANSACTION = 10_000

export function manyName(at: number): string {
  return `blob-${String(at).padStart(7, '0')}`
}

/** Returns the folder; the names are manyName(0) to manyName(count - 1). */
export async function storeWithMany(container: string, count: number): Promise<string> {
  const location = await mkdtemp(join(tmpdir(), 'lazuli-many-'))
  const server = await startServer({ location })
  const client = BlobServiceClient.fromConnectionString(server.connectionString)
  await client.getContainerClient(container).create()
  await client.getContainerClient(container).getBlockBlobClient(manyName(0)).upload('x', 1)
  await server.close()
  const store = await openStore({ folder: location, pid: process.pid }, Date.now)
  for (let from = 1; from < count; from += PER_TRANSACTION) {
    const to = Math.min(from + PER_TRANSACTION, count)
    await store.kv.write((tx) => copies(tx, container, from, to))
  }
  await store.close()
  return location
}

function* copies(tx: Tx, container: string, from: number, to: number) {
  const { id } = yield* requireContainer(tx, { account: ACCOUNT, container })
  const record = yield* tx.get(blobKey(id, manyName(0)))
  assert(record !== undefined)
  for (let at = from; at < to; at += 1) tx.put(blobKey(id, manyName(at)), record)
}
