// What the HTTP layer needs from the Blob service: its Server header, stored policies and public access.
import type { AuthRequest } from '../../auth/request.ts'
import type { StoredPolicy } from '../../auth/world.ts'
import { getContainer, type Container } from '../../storage/blob/container/container.ts'
import { storedPolicy } from '../shared/access-policy.ts'
import type { BlobService } from './service.ts'

export const BLOB_SERVER_HEADER = 'Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0'

export async function blobAccessPolicy(
  service: Pick<BlobService, 'kv'>,
  request: AuthRequest,
  id: string,
): Promise<StoredPolicy | undefined> {
  const container = await containerOf(service, request)
  return container && storedPolicy(container.policies, id)
}

export async function blobPublicAccess(service: Pick<BlobService, 'kv'>, request: AuthRequest) {
  return (await containerOf(service, request))?.publicAccess
}

function containerOf(
  service: Pick<BlobService, 'kv'>,
  request: AuthRequest,
): Promise<Container | undefined> {
  const address = { account: request.account, container: request.path[0] ?? '' }
  return service.kv.read((tx) => getContainer(tx, address))
}
