// The dependencies of the Queue service's operations, and the addresses of queues and messages in a request.
import type { Call, Level, Request } from '../../http/door/operation.ts'
import { StorageError } from '../../storage/shared/error.ts'
import type { ReusedName } from '../../storage/shared/held-name.ts'
import { checkQueueName } from '../../storage/shared/name.ts'
import type { QueueAddress } from '../../storage/queue/queue.ts'
import { reusedName } from '../shared/held-name.ts'
import type { AccountService } from '../shared/service.ts'

export type QueueService = AccountService & { newId(): number }

export type QueueCall = Call<QueueService>

/** `/{queue}`, without `restype`; then `/{queue}/messages` and `/{queue}/messages/{id}`. */
export function queueLevel(request: Request): Level {
  const [queue, rest] = request.path
  if (queue === undefined) return 'service'
  if (rest === undefined) return 'container'
  if (!isMessages(request) && !isMessage(request)) throw new StorageError('InvalidUri')
  return 'object'
}

/** Whether the path addresses all messages of a queue. */
export function isMessages({ path }: Request): boolean {
  return path[1] === 'messages' || path[1] === 'messages/'
}

const MESSAGE = /^messages\/([^/]+)\/?$/

/** Whether the path addresses one message. */
export function isMessage({ path }: Request): boolean {
  return MESSAGE.test(path[1] ?? '')
}

export function queueAddress(request: Request): QueueAddress {
  const queue = request.path[0] ?? ''
  checkQueueName(queue)
  return { account: request.account, queue }
}

export function queueName(service: QueueService, request: Request): ReusedName {
  const { account, queue } = queueAddress(request)
  return reusedName(service, 'queue', account, queue)
}

const GUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** An id that is not a GUID belongs to no message. */
export function messageIdOf({ path }: Request): string {
  const id = MESSAGE.exec(path[1] ?? '')?.[1]?.toLowerCase() ?? ''
  if (!GUID.test(id)) throw new StorageError('MessageNotFound')
  return id
}
