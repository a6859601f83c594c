// The server state that the RPC pipes of IPC$ show: the shares and the users of the caller's account.
import { scanAll } from '../../kv/scan.ts'
import { decodeKey } from '../../kv/key.ts'
import { prefixRange } from '../../kv/kv.ts'
import { decodeRecord } from '../../kv/record.ts'
import { shareKeyPrefix } from '../../storage/file/keys.ts'
import type { Share } from '../../storage/file/share/share.ts'
import { domainSidOf } from '../../storage/file/security/smb-identity.ts'
import { requireSession, type SmbCall } from '../call.ts'
import type { SmbWorld } from '../world.ts'
import type { RpcWorld } from './interface.ts'
import type { LsaAccount } from './lsa-name.ts'

const SCAN_COUNT = 1_000
const DISK = 0

/** With the shares as of the opening of the pipe. */
export async function rpcWorldOf(call: SmbCall): Promise<RpcWorld> {
  const { user } = requireSession(call)
  const { world } = call
  const entries = await world.kv.read((tx) =>
    scanAll(tx, prefixRange(shareKeyPrefix(user, '')), SCAN_COUNT),
  )
  const shares = entries
    .filter(({ value }) => decodeRecord<Share>(value).enabledProtocol === 'SMB')
    .map(({ key }) => ({ name: String(decodeKey(key)[2]), comment: '', type: DISK }))
  return {
    serverName: world.names.nbName,
    shares: () => shares,
    nowMs: () => world.moment().nowMs,
    lsa: () => lsaAccountOf(world, user),
  }
}

/** The account is the domain of its users. Users of other accounts are not visible. */
function lsaAccountOf({ users }: SmbWorld, account: string): LsaAccount {
  const sid = domainSidOf(account)
  const own = users?.identities().filter((each) => each.sid.startsWith(`${sid}-`)) ?? []
  return { domain: { name: account, sid }, users: own }
}
