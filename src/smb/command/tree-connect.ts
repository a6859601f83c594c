// TREE_CONNECT and TREE_DISCONNECT ([MS-SMB2] 3.3.5.7, 3.3.5.8): a share of the account, or IPC$.
import { getShare } from '../../storage/file/share/share.ts'
import { requireSession, requireTree, type SmbCall, type SmbReply } from '../call.ts'
import type { Tree } from '../world.ts'
import { DIALECT } from '../session/dialect.ts'
import { endTree } from '../session/session.ts'
import { SmbError } from '../smb-error.ts'
import { checkSimpleRequest, encodeSimpleResponse } from '../wire/simple.ts'
import {
  decodeTreeConnectRequest,
  encodeTreeConnectResponse,
  SHARE_CAPABILITY,
  SHARE_FLAG,
  SHARE_TYPE,
} from '../wire/session/tree-connect.ts'

/** FILE_ALL_ACCESS: a share has no security descriptor that restricts anyone; its files do. */
const MAXIMAL_ACCESS = 0x001f_01ff
const TREES_MAX = 4_096
const SHARE_NAME_MAX = 63

export async function runTreeConnect(call: SmbCall): Promise<SmbReply> {
  const session = requireSession(call)
  const { shareName } = decodeTreeConnectRequest(call.message)
  if (shareName === undefined) throw new SmbError('BAD_NETWORK_NAME')
  if (session.trees.size >= TREES_MAX) throw new SmbError('INSUFFICIENT_RESOURCES')
  const tree = await findTree(call, shareName)
  session.trees.set(tree.id, tree)
  const isSealed = tree.kind === 'disk' && tree.isEncryptionRequired
  const isPersistent = tree.kind === 'disk' && session.dialect >= DIALECT.smb300
  const body = encodeTreeConnectResponse({
    shareType: tree.kind === 'disk' ? SHARE_TYPE.disk : SHARE_TYPE.pipe,
    shareFlags: isSealed ? SHARE_FLAG.encryptData : 0,
    capabilities: isPersistent ? SHARE_CAPABILITY.continuousAvailability : 0,
    maximalAccess: MAXIMAL_ACCESS,
  })
  return { body: [body], treeId: tree.id }
}

async function findTree(call: SmbCall, shareName: string): Promise<Tree> {
  const session = requireSession(call)
  const id = session.nextTreeId++
  if (shareName.toUpperCase() === 'IPC$') return { id, kind: 'pipe' }
  if (session.user === '') throw new SmbError('ACCESS_DENIED')
  const name = shareName.toLowerCase()
  if (name.length > SHARE_NAME_MAX) throw new SmbError('BAD_NETWORK_NAME')
  const address = { account: session.user, share: name }
  const share = await call.world.kv.read((tx) => getShare(tx, address))
  if (share === undefined || share.enabledProtocol !== 'SMB') {
    throw new SmbError('BAD_NETWORK_NAME')
  }
  const { user: account, isEncryptionRequired } = session
  const { id: shareId } = share
  const sid = session.identity?.sid
  return { id, kind: 'disk', account, share: name, shareId, sid, isEncryptionRequired }
}

export async function runTreeDisconnect(call: SmbCall): Promise<SmbReply> {
  checkSimpleRequest(call.message)
  await endTree(call.world, requireSession(call), requireTree(call))
  return { body: [encodeSimpleResponse()] }
}
