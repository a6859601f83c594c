// What the HTTP layer needs from the File service: its Server header and stored policies.
import type { AuthRequest } from '../../auth/request.ts'
import type { StoredPolicy } from '../../auth/world.ts'
import { getShare } from '../../storage/file/share/share.ts'
import { storedPolicy } from '../shared/access-policy.ts'
import type { FileService } from './service.ts'

export const FILE_SERVER_HEADER = 'Windows-Azure-File/1.0 Microsoft-HTTPAPI/2.0'

export async function fileAccessPolicy(
  service: Pick<FileService, 'kv'>,
  request: AuthRequest,
  id: string,
): Promise<StoredPolicy | undefined> {
  const address = { account: request.account, share: request.path[0] ?? '' }
  const share = await service.kv.read((tx) => getShare(tx, address))
  return storedPolicy(share?.policies ?? [], id)
}
