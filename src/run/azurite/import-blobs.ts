// Imports containers and blobs: the bytes with the requests that clients send, so that the same rules hold; then the
// times, leases and states by rules of their own (storage/blob/import.ts).
import {
  importSnapshot,
  finishContainerImport,
  finishImport,
  leaseImported,
} from '../../storage/blob/import.ts'
import type { ImportedBlob } from '../../storage/blob/import.ts'
import type { StoredTier } from '../../storage/blob/access-tier.ts'
import { checkTierOfType, decodeAccessTier } from '../../storage/blob/tier.ts'
import { StorageError } from '../../storage/shared/error.ts'
import type { CopyState } from '../../storage/shared/copy/copy-state.ts'
import { parseTimestamp } from '../../storage/shared/etag.ts'
import type { BlobDocument, ContainerDocument, CopyDocument } from './document.ts'
import { leaseOf } from './lease.ts'
import { putContent } from './put-content.ts'
import { metadataHeaders, policiesXml, send, unlessRefused, type Importing } from './world.ts'

/** Returns whether it is there. */
export async function importContainer(
  into: Importing,
  container: ContainerDocument,
): Promise<boolean> {
  const { account, name, metadata, publicAccess, policies } = container
  const what = `container ${account}/${name}`
  const request = { service: 'blob', account, path: [name], method: 'PUT' } as const
  const access = { 'x-ms-blob-public-access': publicAccess }
  const headers = { ...metadataHeaders(metadata), ...access }
  const isThere = await unlessRefused(into, what, () =>
    send(into, { ...request, query: { restype: 'container' }, headers }),
  )
  if (!isThere) return false
  const query = { restype: 'container', comp: 'acl' }
  const body = policiesXml(policies)
  if (policies.length > 0)
    await unlessRefused(into, `access policies of ${what}`, () =>
      send(into, { ...request, query, headers: access, body }),
    )
  into.report.count('containers')
  return true
}

/** After its blobs. */
export async function finishContainer(
  into: Importing,
  container: ContainerDocument,
): Promise<void> {
  const { account, name, modifiedMs } = container
  const lease = usableLease(into, container.lease, `container ${account}/${name}`)
  const finished = { modifiedMs, ...(lease && { lease }) }
  await into.kv.write((tx) => finishContainerImport(tx, { account, container: name }, finished))
}

/** One after the other: they pass through the blob that they are snapshots of. */
export async function importBlobSnapshot(into: Importing, blob: BlobDocument): Promise<void> {
  const what = `snapshot ${blob.snapshot} of blob ${pathOf(blob)}`
  const stamp = parseTimestamp(blob.snapshot)
  if (stamp === undefined) return into.report.leaveOut(what, 'its time has more than milliseconds')
  const isPut = await unlessRefused(into, what, () => putContent(into, blob))
  if (!isPut) return
  const at = { stamp, newId: into.newId() }
  const { nowMs } = into.moment()
  await into.kv.write((tx) =>
    importSnapshot(tx, addressOf(blob), importedOf(into, blob), at, nowMs),
  )
  into.report.count('snapshots')
}

export async function importBlob(into: Importing, blob: BlobDocument): Promise<void> {
  const what = `blob ${pathOf(blob)}`
  const isPut = await unlessRefused(into, what, () => putContent(into, blob))
  if (!isPut) return
  const imported = importedOf(into, blob)
  const { nowMs } = into.moment()
  await into.kv.write((tx) => finishImport(tx, addressOf(blob), imported, nowMs))
  into.report.count('blobs')
}

/** After its uncommitted blocks, which a lease would keep out. */
export async function importLease(into: Importing, blob: BlobDocument): Promise<void> {
  const lease = usableLease(into, blob.lease, `blob ${pathOf(blob)}`)
  if (lease === undefined) return
  const { nowMs } = into.moment()
  await into.kv.write((tx) => leaseImported(tx, addressOf(blob), lease, nowMs))
}

export function pathOf({
  account,
  container,
  blob,
}: Pick<BlobDocument, 'account' | 'container' | 'blob'>) {
  return `${account}/${container}/${blob}`
}

function addressOf({ account, container, blob }: BlobDocument) {
  return { account, container, blob }
}

function usableLease(into: Importing, document: ContainerDocument['lease'], what: string) {
  const lease = leaseOf(document)
  if (lease !== 'invalid') return lease
  into.report.leaveOut(`lease of ${what}`, `its id ${document.id} is not a GUID`)
  return undefined
}

function importedOf(into: Importing, blob: BlobDocument): ImportedBlob {
  const { createdMs, modifiedMs, contentMd5, isSealed } = blob
  const tier = tierOf(into, blob)
  const copy = blob.copy && copyState(blob.copy)
  if (blob.copy !== undefined && copy === undefined) {
    into.report.leaveOut(`state of the copy to ${pathOf(blob)}`, `it is ${blob.copy.status}`)
  }
  return {
    createdMs,
    modifiedMs,
    ...(contentMd5 !== undefined && { contentMd5 }),
    ...(tier && { tier }),
    ...(isSealed && { isSealed }),
    ...(copy && { copy }),
  }
}

/** Azurite's copies are complete within their request. */
function copyState({
  id,
  source,
  status,
  progress,
  completedMs,
}: CopyDocument): CopyState | undefined {
  const [copiedBytes = 0, totalBytes = 0] = progress.split('/').map(Number)
  if (status !== 'success' && status !== 'aborted' && status !== 'failed') return undefined
  return {
    id,
    source,
    status,
    copiedBytes,
    totalBytes,
    ...(completedMs !== undefined && { completedMs }),
  }
}

function tierOf(into: Importing, blob: BlobDocument): StoredTier | undefined {
  if (blob.tier === undefined) return undefined
  try {
    const name = decodeAccessTier(blob.tier)
    if (blob.type === 'BlockBlob' || blob.type === 'PageBlob') checkTierOfType(name, blob.type)
    return { name, setMs: blob.tierSetMs ?? blob.modifiedMs }
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    into.report.leaveOut(`tier ${blob.tier} of ${pathOf(blob)}`, error.code)
    return undefined
  }
}
