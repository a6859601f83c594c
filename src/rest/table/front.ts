// The Table service as the front door sees it: its name, and what authentication asks of its tables.
import type { AuthRequest } from '../../auth/request.ts'
import type { StoredPolicy } from '../../auth/world.ts'
import { getTable } from '../../storage/table/table.ts'
import { storedPolicy } from '../shared/access-policy.ts'
import type { TableService } from './service.ts'

export const TABLE_SERVER_HEADER = 'Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0'

/** No table has a longer name; the cut keeps keys short and finds nothing either. */
const NAME_LENGTH_MAX = 63

export async function tableAccessPolicy(
  service: Pick<TableService, 'kv'>,
  { account, path, query }: AuthRequest,
  id: string,
): Promise<StoredPolicy | undefined> {
  const [addressed = ''] = path
  // A batch is sent to no table; which one the SAS is for, it says itself.
  const name = addressed.startsWith('$') ? (query.get('tn') ?? '') : addressed
  const address = { account, table: name.slice(0, NAME_LENGTH_MAX + 1) }
  const table = await service.kv.read((tx) => getTable(tx, address))
  return storedPolicy(table?.policies ?? [], id)
}
