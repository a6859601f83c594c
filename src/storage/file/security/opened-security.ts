// Reads the security descriptor of an open file, and replaces sections of it.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { setNodeProperties } from '../tree/file-properties.ts'
import { checkOwner } from './identity-access.ts'
import type { FileOpen, FileTx } from '../open/open.ts'
import { requireOpened } from '../open/opened-node.ts'
import { requirePermission } from './permission.ts'
import { mergeDescriptor, SECTION } from './security-descriptor-section.ts'
import {
  decodeSecurityDescriptor,
  encodeSecurityDescriptor,
  type SecurityDescriptor,
} from './security-descriptor.ts'
import type { Moment } from '../../../node/moment.ts'
import type { ShareAddress } from '../share/share.ts'

type SecurityChange = {
  /** The SID of the user; undefined for the account itself. */
  readonly self: string | undefined
  readonly next: SecurityDescriptor
  readonly sections: number
}

export function* permissionOf(
  tx: ReadTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  open: FileOpen,
): Step<Uint8Array> {
  const { node, view } = yield* requireOpened(tx, address, open)
  return yield* requirePermission(tx, view.shareId, node.permissionKey)
}

export function* replaceSections(
  tx: FileTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  open: FileOpen,
  { self, next, sections }: SecurityChange,
  moment: Moment,
): Step<void> {
  const opened = yield* requireOpened(tx, address, open)
  const { node, view } = opened
  const stored = yield* requirePermission(tx, view.shareId, node.permissionKey)
  const old = decodeSecurityDescriptor(stored)
  if ((sections & SECTION.owner) !== 0) checkOwner(self, next.owner, old.owner)
  const descriptorBytes = encodeSecurityDescriptor(mergeDescriptor(old, next, sections))
  const properties = { permission: { descriptorBytes } }
  yield* setNodeProperties(tx, opened, { properties }, moment)
}
