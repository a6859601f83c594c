// Lease Blob. The ETag does not change; a blob with only uncommitted blocks has none to return.
import { randomUUID } from 'node:crypto'
import { decodeLeaseAction, leaseAnswer } from '../shared/lease-header.ts'
import type { Answer } from '../../http/door/operation.ts'
import { readRule } from '../../http/door/version.ts'
import { leaseBlob } from '../../storage/blob/change.ts'
import { validators } from '../shared/answer-header.ts'
import { blobConditions } from './header.ts'
import { blobAddress, type BlobCall } from './service.ts'

export async function runLeaseBlob({ request, service }: BlobCall): Promise<Answer> {
  const action = decodeLeaseAction(request.headers, randomUUID)
  // x-ms-lease-id is part of the action here. No key is needed, since the bytes are not touched.
  const guard = { conditions: blobConditions(request), readRule: readRule(request.version) }
  const [address, moment] = [blobAddress(request), service.moment()]
  const { blob, result } = await service.kv.write((tx) =>
    leaseBlob(tx, address, guard, action, moment),
  )
  const { status, headers } = leaseAnswer(result)
  return { status, headers: blob === undefined ? headers : [...validators(blob), ...headers] }
}
