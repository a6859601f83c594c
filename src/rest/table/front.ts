// What the HTTP layer needs from the Table service: its Server header and stored policies.
import type { AuthRequest } from '../../auth/request.ts'
import type { StoredPolicy } from '../../auth/world.ts'
import { getTable } from '../../storage/table/table.ts'
import { storedPolicy } from '../shared/access-policy.ts'
import type { TableService } from './service.ts'

export const TABLE_SERVER_HEADER = 'Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0'

/** A longer name is cut, to keep keys short; it still matches no table. */
const NAME_LENGTH_MAX = 63

export async function tableAccessPolicy(
  service: Pick<TableService, 'kv'>,
  { account, path, query }: AuthRequest,
  id: string,
): Promise<StoredPolicy | undefined> {
  const [addressed = ''] = path
  // The path of a batch has no table; `tn` says which one the SAS is for.
  const name = addressed.startsWith('$') ? (query.get('tn') ?? '') : addressed
  const address = { account, table: name.slice(0, NAME_LENGTH_MAX + 1) }
  const table = await service.kv.read((tx) => getTable(tx, address))
  return storedPolicy(table?.policies ?? [], id)
}
