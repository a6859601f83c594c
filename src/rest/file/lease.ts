// Lease File: acquire, change, release and break. There is no renew, since leases of files don't expire.
import { randomUUID } from 'node:crypto'
import { decodeConditions, type HeaderFields } from '../../http/protocol/header.ts'
import { decodeLeaseAction, leaseAnswer } from '../shared/lease-header.ts'
import type { Answer } from '../../http/door/operation.ts'
import { checkNoConditions } from '../../storage/shared/condition.ts'
import { invalidHeader } from '../../storage/shared/error.ts'
import { leaseFile, type FileLeaseAction } from '../../storage/file/tree/file-lease.ts'
import { INFINITE_DURATION_SECONDS } from '../../storage/shared/lease.ts'
import { validators } from '../shared/answer-header.ts'
import { afterBreaks } from './breaks.ts'
import { fileAddress, type FileCall } from './service.ts'

export async function runLeaseFile({ request, service }: FileCall): Promise<Answer> {
  checkNoConditions(decodeConditions(request.headers))
  const [address, action] = [fileAddress(request), decodeFileLeaseAction(request.headers)]
  const { node, result } = await afterBreaks(service, request, () => {
    const moment = service.moment()
    return service.kv.attempt((tx) => leaseFile(tx, address, action, moment))
  })
  const { status, headers } = leaseAnswer(result)
  return { status, headers: [...validators(node), ...headers] }
}

function decodeFileLeaseAction(headers: HeaderFields): FileLeaseAction {
  const action = decodeLeaseAction(headers, randomUUID)
  switch (action.action) {
    case 'renew':
      throw invalidHeader('x-ms-lease-action', action.action)
    case 'acquire':
      if (action.durationSeconds === INFINITE_DURATION_SECONDS) return action
      throw invalidHeader('x-ms-lease-duration', String(action.durationSeconds))
    case 'break':
      return { action: 'break' }
    default:
      return action
  }
}
