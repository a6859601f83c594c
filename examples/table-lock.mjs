// A lock over a whole table. Tables have only optimistic concurrency, entity by entity; who must change many
// entities with nobody in between takes a lease on a blob that stands for the table. The lease binds only
// those who ask for it: everyone who writes to the table has to.
//
//   npm start                       in one terminal, and in another:
//   node examples/table-lock.mjs    or with AZURE_STORAGE_CONNECTION_STRING for another server
import { TableClient } from '@azure/data-tables'
import { BlobServiceClient } from '@azure/storage-blob'
import { setTimeout as wait } from 'node:timers/promises'

const LEASE_S = 15 // 15 to 60. A process that dies holds the lock no longer than this.
const RENEW_MS = 5_000
const RETRY_MS = 50
const WORKERS = 4
const ROUNDS = 5

const server = process.env.AZURE_STORAGE_CONNECTION_STRING ?? 'UseDevelopmentStorage=true'
const table = TableClient.fromConnectionString(server, 'Accounts', {
  allowInsecureConnection: true, // Plain http, to this machine.
})
const locks = BlobServiceClient.fromConnectionString(server).getContainerClient('locks')

/** Runs `work` while nobody else has the table's lock. */
async function withTableLock(work) {
  const blob = locks.getBlockBlobClient(table.tableName)
  await makeBlob(blob)
  const lease = blob.getBlobLeaseClient()
  while (!(await isAcquired(lease))) await wait(RETRY_MS)
  const lost = new AbortController()
  // Work that takes longer than the lease renews it; once that fails, somebody else may have the lock.
  const renewal = setInterval(() => lease.renewLease().catch((e) => lost.abort(e)), RENEW_MS)
  try {
    return await work(lost.signal)
  } finally {
    clearInterval(renewal)
    await lease.releaseLease()
  }
}

/** There must be a blob to lease; an empty one will do, whoever makes it. */
async function makeBlob(blob) {
  try {
    await blob.upload('', 0, { conditions: { ifNoneMatch: '*' } })
  } catch (error) {
    // Somebody has made it (409), or has leased it already (412).
    if (error.statusCode !== 409 && error.statusCode !== 412) throw error
  }
}

async function isAcquired(lease) {
  try {
    await lease.acquireLease(LEASE_S)
    return true
  } catch (error) {
    if (error.code === 'LeaseAlreadyPresent') return false
    throw error
  }
}

/** Moves 1 from an account to another: two partitions, so no transaction of the table could do it. */
async function transfer(from, to, abortSignal) {
  for (const [partitionKey, change] of [
    [from, -1],
    [to, 1],
  ]) {
    const { balance } = await table.getEntity(partitionKey, '', { abortSignal })
    const changed = { partitionKey, rowKey: '', balance: balance + change }
    await table.updateEntity(changed, 'Merge', { abortSignal }) // No ETag: the lock is enough.
  }
}

await table.createTable()
await locks.createIfNotExists()
await table.upsertEntity({ partitionKey: 'a', rowKey: '', balance: 100 })
await table.upsertEntity({ partitionKey: 'b', rowKey: '', balance: 0 })

async function worker() {
  for (let round = 0; round < ROUNDS; round++) {
    await withTableLock((signal) => transfer('a', 'b', signal))
  }
}
await Promise.all(Array.from({ length: WORKERS }, worker))

for (const account of ['a', 'b']) {
  const { balance } = await table.getEntity(account, '')
  // a: 80, b: 20. Without the lock, some transfers would be lost.
  process.stdout.write(`${account}: ${balance}\n`)
}
