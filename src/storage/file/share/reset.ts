// Removes shares with all they have, whatever leases say, also deleted ones that could be restored. SMB clients lose
// their opens. The sweep removes the files.
import type { Entry, Step } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import { removeRange } from '../../shared/remove-range.ts'
import { deletedShareKey, pastSharesRange, shareDueKey, sharesRange } from '../keys.ts'
import type { FileKv, FileTx } from '../open/open.ts'
import { closeOpens } from './share-opens.ts'
import type { DeletedShare, Share } from './share.ts'

/** Few, because each may have thousands of opens. */
const SHARES_PER_STEP = 16

/** `names`: the account and the share; without them, those of all accounts, or all of the account. */
export async function resetShares(kv: FileKv, ...names: readonly string[]): Promise<number> {
  const count = await removeRange(kv, sharesRange(...names), dropFiles, SHARES_PER_STEP)
  return count + (await removeRange(kv, pastSharesRange(...names), dropPast))
}

function* dropFiles(tx: FileTx, { value }: Entry): Step<void> {
  const { id } = decodeRecord<Share>(value)
  yield* closeOpens(tx, id)
  tx.put(deletedShareKey(id), encodeRecord({}))
}

function* dropPast(tx: FileTx, { value }: Entry): Step<void> {
  const { id, deleted } = decodeRecord<DeletedShare>(value)
  tx.delete(shareDueKey(deleted.untilMs, id))
  tx.put(deletedShareKey(id), encodeRecord({}))
}
