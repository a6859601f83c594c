// Create Path for files and directories, and in flat containers for files and the blobs that stand for directories there.
// Missing parents are created with it.
import type { Step, Tx } from '../../kv/kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import type { Moment } from '../../node/moment.ts'
import type { BlobContent } from '../blob/content/content.ts'
import { requireEncryptionForWrite } from '../blob/encryption.ts'
import { checkMayExpire, expiryMs, scheduleExpiry, type Expiry } from '../blob/expiry.ts'
import type { BlobGuard } from '../blob/guard.ts'
import { blobKey } from '../blob/keys.ts'
import { blobPlaceOf } from '../blob/past/past.ts'
import { withFolderMark } from '../blob/path/link.ts'
import { checkPutBlob, replaceBlob, type PutTarget, type Replacement } from '../blob/put.ts'
import type { Blob } from '../blob/record.ts'
import type { ContentHeaders } from '../shared/content-headers.ts'
import { StorageError } from '../shared/error.ts'
import { runLeaseAction, type Lease } from '../shared/lease.ts'
import { indexLease } from '../shared/leased.ts'
import type { Metadata } from '../shared/metadata.ts'
import type { NewAccess } from '../blob/access/acl-change.ts'
import { checkAclOfFile } from '../blob/access/acl.ts'
import { blobOfPath, type PathAddress } from './path-address.ts'

export type CreatePath = {
  readonly kind: 'file' | 'directory'
  /** `blobtype=appendblob`: appended data needs no flush. */
  readonly isAppendBlob?: boolean
  readonly guard: BlobGuard
  /** The caller may create paths but not replace them. */
  readonly createOnly: boolean
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly access?: NewAccess
  readonly expiry?: Expiry
  /** The path is created with a lease. */
  readonly lease?: { readonly proposedId: string; readonly durationSeconds: number }
  readonly encryptionContext?: string
  /** For the map of an append blob. */
  readonly newId: number
}

export function* createPath(
  tx: Tx,
  pathAddress: PathAddress,
  create: CreatePath,
  moment: Moment,
): Step<Blob> {
  const address = blobOfPath(pathAddress, 'write')
  const { guard, createOnly, kind, access } = create
  if (kind === 'file' && access?.acl !== undefined) checkAclOfFile(access.acl)
  const target = yield* checkPutBlob(tx, address, { guard, createOnly }, moment.nowMs)
  checkKind(target, kind)
  if (create.expiry !== undefined) checkMayExpire(kind === 'directory')
  const requested = guard.encryption ?? {}
  const { account } = address
  const encryption = yield* requireEncryptionForWrite(tx, account, requested, target.container)
  const isDirectory = kind === 'directory'
  const put = {
    headers: create.headers,
    metadata: isDirectory ? withFolderMark(create.metadata) : create.metadata,
    ...(encryption && { encryption }),
    creation: { ...(pathAddress.actor && { actor: pathAddress.actor }), ...(access && { access }) },
  }
  const blob = yield* replaceBlob(tx, address, target, put, newContent(create, moment), moment)
  return finish(tx, account, target, blob, create, moment)
}

function checkKind({ stored, located }: PutTarget, kind: CreatePath['kind']): void {
  if (located === undefined) return
  if (located.names.length === 0) throw new StorageError('PathConflict')
  const current = stored?.blob.path
  if (current === undefined) return
  if ((current.isDirectory === true) !== (kind === 'directory')) {
    throw new StorageError('PathConflict')
  }
}

/** A file that replaces another one is new; a directory that is there stays. */
function newContent(
  { kind, isAppendBlob, newId, encryptionContext }: CreatePath,
  { nowMs }: Moment,
): Replacement {
  const context = encryptionContext === undefined ? {} : { encryptionContext }
  if (kind === 'directory')
    return { type: 'BlockBlob', content: NO_BYTES, ...context, bytes: EMPTY }
  const file = { isLakeFile: true, createdMs: nowMs, ...context } as const
  if (isAppendBlob === true) {
    const content = { lengthBytes: 0, map: newId }
    return { type: 'AppendBlob', blockCount: 0, content, ...file }
  }
  return { type: 'BlockBlob', content: NO_BYTES, ...file, bytes: EMPTY }
}

const NO_BYTES: BlobContent = { lengthBytes: 0, inline: true }
const EMPTY = new Uint8Array(0)

/** The lease and the expiry that the path is created with. */
function finish(
  tx: Tx,
  account: string,
  target: PutTarget,
  created: Blob,
  { lease: wanted, expiry }: CreatePath,
  { nowMs }: Moment,
): Blob {
  if (wanted === undefined && expiry === undefined) return created
  const name = created.path?.id ?? target.name
  const key = blobKey(target.containerId, name)
  let blob = created
  if (wanted !== undefined) {
    const lease = acquired(created.lease, wanted, nowMs)
    blob = { ...blob, ...(lease && { lease }) }
    indexLease(tx, key, lease)
  }
  const expiresMs = expiry && expiryMs(expiry, created.createdMs, nowMs)
  if (expiresMs !== undefined) blob = { ...blob, expiresMs }
  scheduleExpiry(tx, blobPlaceOf({ account }, { ...target, name }), blob)
  tx.put(key, encodeRecord(blob, EMPTY))
  return blob
}

function acquired(
  lease: Lease | undefined,
  { proposedId, durationSeconds }: NonNullable<CreatePath['lease']>,
  nowMs: number,
): Lease | undefined {
  const acquire = { action: 'acquire', proposedId, newId: proposedId, durationSeconds } as const
  return runLeaseAction(lease, acquire, nowMs).lease
}
