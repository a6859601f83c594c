// Lease Share, for a share or one of its snapshots.
import { randomUUID } from 'node:crypto'
import { decodeConditions } from '../../../http/protocol/header.ts'
import { decodeLeaseAction, leaseAnswer } from '../../shared/lease-header.ts'
import type { Answer } from '../../../http/door/operation.ts'
import { checkNoConditions } from '../../../storage/shared/condition.ts'
import { leaseShare } from '../../../storage/file/share/share-change.ts'
import { validators } from '../../shared/answer-header.ts'
import { shareAddressAt, type FileCall } from '../service.ts'

export async function runLeaseShare({ request, service }: FileCall): Promise<Answer> {
  checkNoConditions(decodeConditions(request.headers))
  const action = decodeLeaseAction(request.headers, randomUUID)
  const [address, moment] = [shareAddressAt(request), service.moment()]
  const { share, result } = await service.kv.write((tx) => leaseShare(tx, address, action, moment))
  const { status, headers } = leaseAnswer(result)
  // Recorded: a released lease has no time left.
  if (result.action === 'release') headers.push('x-ms-lease-time', '0')
  return { status, headers: [...validators(share), ...headers] }
}
