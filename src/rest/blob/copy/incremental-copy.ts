// Incremental Copy Blob: a snapshot of a page blob becomes a snapshot of the destination.
import { randomUUID } from 'node:crypto'
import type { Answer } from '../../../http/door/operation.ts'
import { incrementalCopy } from '../../../storage/blob/copy/incremental-copy.ts'
import { NO_CONDITIONS } from '../../../storage/shared/condition.ts'
import { StorageError } from '../../../storage/shared/error.ts'
import { validators } from '../../shared/answer-header.ts'
import { resolveSource } from '../../shared/copy/source.ts'
import { versionHeaders } from '../answer.ts'
import { blobGuard } from '../header.ts'
import { blobAddress, blobAddressAt, type BlobCall } from '../service.ts'

export async function runIncrementalCopyBlob(call: BlobCall): Promise<Answer> {
  const { request, service } = call
  const [address, guard] = [blobAddress(request), blobGuard(request)]
  const source = await resolveSource(call)
  // The state of a blob on another server that a difference would start from is unknown.
  if (source.kind === 'remote' || source.service !== 'blob') {
    throw new StorageError('InvalidSourceBlobUrl')
  }
  const from = blobAddressAt(source.readRequest)
  if (from.at === undefined) throw new StorageError('IncrementalCopySourceMustBeSnapshot')
  if (!('snapshot' in from.at)) throw new StorageError('InvalidSourceBlobUrl')
  const state = { id: randomUUID(), source: source.text }
  const read = { address: from, conditions: NO_CONDITIONS, encryption: {} }
  const newIds = [service.newId(), service.newId()] as const
  const moment = service.moment()
  const copy = { guard, source: read, state, newIds }
  const blob = await service.kv.write((tx) => incrementalCopy(tx, address, copy, moment))
  // Azure always answers before it has finished (Incremental Copy Blob, x-ms-copy-status); clients poll.
  const headers = ['x-ms-copy-id', state.id, 'x-ms-copy-status', 'pending']
  return { status: 202, headers: [...validators(blob), ...versionHeaders(blob), ...headers] }
}
