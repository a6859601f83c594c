// The Queue service's API as a table. What is not here does not exist.
import type { Permission } from '../../auth/permission.ts'
import {
  tableOf,
  type Operation,
  type OperationTable,
  type Request,
} from '../../http/door/operation.ts'
import { QUEUE_MESSAGE_BYTES_MAX } from './queue-xml.ts'
import { ACL_BYTES_MAX } from '../shared/access-policy-xml.ts'
import { serviceOperations } from '../shared/service.ts'
import { runListQueues } from './list.ts'
import {
  runClearMessages,
  runDeleteMessage,
  runGetMessages,
  runPeekMessages,
  runPutMessage,
  runUpdateMessage,
} from './message.ts'
import {
  runCreateQueue,
  runDeleteQueue,
  runGetQueueAcl,
  runGetQueueMetadata,
  runSetQueueAcl,
  runSetQueueMetadata,
} from './queue.ts'
import { isMessage, isMessages, queueLevel, type QueueService } from './service.ts'

/** A SAS for one queue may read its metadata, but neither create nor change the queue. */
const queue = (accountSas: string | undefined): Permission => {
  return { resourceType: 'c', accountSas, serviceSas: undefined }
}
const message = (letter: string): Permission => {
  return { resourceType: 'o', accountSas: letter, serviceSas: letter }
}

const READ = ['GET', 'HEAD']

const isPeek = (request: Request) =>
  isMessages(request) && request.query.get('peekonly')?.toLowerCase() === 'true'

// prettier-ignore
export const QUEUE_OPERATIONS: readonly Operation<QueueService>[] = [
  ...serviceOperations<QueueService>(),
  { name: 'List Queues', methods: ['GET'], level: 'service', comp: 'list', writes: false,
    permission: { resourceType: 's', accountSas: 'l', serviceSas: undefined }, run: runListQueues },

  { name: 'Create Queue', methods: ['PUT'], level: 'container', writes: true,
    permission: queue('cw'), run: runCreateQueue },
  { name: 'Delete Queue', methods: ['DELETE'], level: 'container', writes: true,
    permission: queue('d'), run: runDeleteQueue },
  { name: 'Get Queue Metadata', methods: READ, level: 'container', comp: 'metadata', writes: false,
    permission: { ...queue('r'), serviceSas: 'r' }, run: runGetQueueMetadata },
  { name: 'Set Queue Metadata', methods: ['PUT'], level: 'container', comp: 'metadata', writes: true,
    permission: queue('w'), run: runSetQueueMetadata },
  { name: 'Get Queue ACL', methods: READ, level: 'container', comp: 'acl', writes: false,
    permission: queue(undefined), run: runGetQueueAcl },
  { name: 'Set Queue ACL', methods: ['PUT'], level: 'container', comp: 'acl', writes: true,
    permission: queue(undefined), bodyBytesMax: ACL_BYTES_MAX, run: runSetQueueAcl },

  { name: 'Put Message', methods: ['POST'], level: 'object', writes: true, when: isMessages,
    permission: message('a'), bodyBytesMax: QUEUE_MESSAGE_BYTES_MAX, run: runPutMessage },
  { name: 'Peek Messages', methods: ['GET'], level: 'object', writes: false, when: isPeek,
    permission: message('r'), run: runPeekMessages },
  { name: 'Get Messages', methods: ['GET'], level: 'object', writes: true, when: isMessages,
    permission: message('p'), run: runGetMessages },
  { name: 'Clear Messages', methods: ['DELETE'], level: 'object', writes: true, when: isMessages,
    permission: { ...message('d'), serviceSas: undefined }, run: runClearMessages },

  { name: 'Update Message', methods: ['PUT'], level: 'object', writes: true, when: isMessage,
    permission: message('u'), bodyBytesMax: QUEUE_MESSAGE_BYTES_MAX, run: runUpdateMessage },
  { name: 'Delete Message', methods: ['DELETE'], level: 'object', writes: true, when: isMessage,
    permission: message('p'), run: runDeleteMessage },
]

export const QUEUE_TABLE: OperationTable<QueueService> = tableOf(QUEUE_OPERATIONS, queueLevel)
