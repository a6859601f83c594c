// Locks a whole table with a blob lease. Tables only have optimistic concurrency per entity. To change several entities
// without interference, take a lease on a blob that represents the table. The lock is advisory: every writer of the
// table has to take it.
//
//   npm start                       in one terminal, then in another:
//   node examples/table-lock.mjs
//
// Set AZURE_STORAGE_CONNECTION_STRING to use another server.
import { TableClient } from '@azure/data-tables'
import { BlobServiceClient } from '@azure/storage-blob'
import { setTimeout as wait } from 'node:timers/promises'

const LEASE_S = 15 // 15 to 60. A crashed process holds the lock no longer than this.
const RENEW_MS = 5_000
const RETRY_MS = 50
const WORKERS = 4
const ROUNDS = 5

const server = process.env.AZURE_STORAGE_CONNECTION_STRING ?? 'UseDevelopmentStorage=true'
const table = TableClient.fromConnectionString(server, 'Accounts', {
  allowInsecureConnection: true, // Plain HTTP on this machine.
})
const locks = BlobServiceClient.fromConnectionString(server).getContainerClient('locks')

/** Runs `work` while holding the lock of the table. */
async function withTableLock(work) {
  const blob = locks.getBlockBlobClient(table.tableName)
  await createBlob(blob)
  const lease = blob.getBlobLeaseClient()
  while (!(await tryAcquire(lease))) await wait(RETRY_MS)
  const lost = new AbortController()
  // Renew the lease during long work. If that fails, another process may have the lock.
  const renewal = setInterval(() => lease.renewLease().catch((e) => lost.abort(e)), RENEW_MS)
  try {
    return await work(lost.signal)
  } finally {
    clearInterval(renewal)
    await lease.releaseLease()
  }
}

/** Creates the empty blob that is leased. */
async function createBlob(blob) {
  try {
    await blob.upload('', 0, { conditions: { ifNoneMatch: '*' } })
  } catch (error) {
    // It exists already (409), or is leased (412).
    if (error.statusCode !== 409 && error.statusCode !== 412) throw error
  }
}

async function tryAcquire(lease) {
  try {
    await lease.acquireLease(LEASE_S)
    return true
  } catch (error) {
    if (error.code === 'LeaseAlreadyPresent') return false
    throw error
  }
}

/** Moves 1 from one account to another. They are in two partitions, so an entity group transaction can't do it. */
async function transfer(from, to, abortSignal) {
  for (const [partitionKey, change] of [
    [from, -1],
    [to, 1],
  ]) {
    const { balance } = await table.getEntity(partitionKey, '', { abortSignal })
    const changed = { partitionKey, rowKey: '', balance: balance + change }
    await table.updateEntity(changed, 'Merge', { abortSignal }) // No ETag needed: we hold the lock.
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
