// What the HTTP layer needs from the Queue service: its Server header and stored policies.
import type { AuthRequest } from '../../auth/request.ts'
import type { StoredPolicy } from '../../auth/world.ts'
import { getQueue } from '../../storage/queue/queue.ts'
import { storedPolicy } from '../shared/access-policy.ts'
import type { QueueService } from './service.ts'

export const QUEUE_SERVER_HEADER = 'Windows-Azure-Queue/1.0 Microsoft-HTTPAPI/2.0'

export async function queueAccessPolicy(
  service: QueueService,
  request: AuthRequest,
  id: string,
): Promise<StoredPolicy | undefined> {
  const address = { account: request.account, queue: request.path[0] ?? '' }
  const queue = await service.kv.read((tx) => getQueue(tx, address))
  return storedPolicy(queue?.policies ?? [], id)
}
