// What a blob is encrypted with and what a request must say of it: a key that the client sends with each
// request and that is never stored, or a scope, whose key the service has. To Azure both are "customer
// specified encryption", with the same errors.
import type { ReadTx, Step } from '../../kv/kv.ts'
import { ACCOUNT_ENCRYPTION_KEY, requireEncryptionScope } from '../shared/encryption-scope.ts'
import { invalidHeader, StorageError } from '../shared/error.ts'

/** Of a customer's key only the SHA-256 is kept, in base64. */
export type BlobEncryption = { readonly keySha256: string } | { readonly scope: string }

export type RequestEncryption = {
  readonly customerKey?: { readonly sha256: string }
  /** x-ms-encryption-scope */
  readonly scope?: string
}

/** How a container was created; it can't be changed. */
export type ContainerEncryption = {
  readonly defaultEncryptionScope?: string
  readonly denyEncryptionScopeOverride?: boolean
}

/**
 * read: Get Blob, Get Blob Properties, Query Blob Contents; write: what changes a blob and leaves its
 * bytes, as Set Blob Metadata and Snapshot Blob; append: what adds bytes to those that are there, as
 * Append Block, Put Page and Put Block. Lease, tags, tier, HTTP headers and Delete Blob need no key.
 */
export type EncryptionUse = 'read' | 'write' | 'append'

const NO_POLICY: ContainerEncryption = {}

/** What a blob that is made anew is encrypted with, whatever the one in its place was. */
export function encryptionForWrite(
  asked: RequestEncryption,
  container: ContainerEncryption,
): BlobEncryption | undefined {
  checkAsked(asked)
  const ofContainer = container.defaultEncryptionScope ?? ACCOUNT_ENCRYPTION_KEY
  const scope = asked.scope ?? ofContainer
  const isOverride = asked.customerKey !== undefined || scope !== ofContainer
  if (container.denyEncryptionScopeOverride === true && isOverride) {
    throw new StorageError('RequestForbiddenByContainerEncryptionPolicy')
  }
  if (asked.customerKey !== undefined) return { keySha256: asked.customerKey.sha256 }
  return scope === ACCOUNT_ENCRYPTION_KEY ? undefined : { scope }
}

/** The same for a blob that is made without bytes: a scope has to be there, though nobody needs its key yet. */
export function* requireEncryptionForWrite(
  tx: ReadTx,
  account: string,
  asked: RequestEncryption,
  container: ContainerEncryption,
): Step<BlobEncryption | undefined> {
  const encryption = encryptionForWrite(asked, container)
  if (encryption !== undefined && 'scope' in encryption) {
    yield* requireEncryptionScope(tx, account, encryption.scope)
  }
  return encryption
}

/** Whether a request may use a blob that is there. A write that names no scope means the container's. */
export function checkEncryption(
  stored: BlobEncryption | undefined,
  asked: RequestEncryption,
  use: EncryptionUse,
  container: ContainerEncryption = NO_POLICY,
): void {
  const given =
    use === 'read' ? encryptionForRead(stored, asked) : encryptionForWrite(asked, container)
  if (stored === undefined && given === undefined) return
  if (stored === undefined) throw new StorageError('BlobDoesNotUseCustomerSpecifiedEncryption')
  if (given === undefined) throw new StorageError('BlobUsesCustomerSpecifiedEncryption')
  checkEncryptedAs(stored, given)
}

/** Bytes that are added to a blob are encrypted as the others are, or nobody could read them. */
export function checkEncryptedAs(
  stored: BlobEncryption | undefined,
  given: BlobEncryption | undefined,
): void {
  if (isSameEncryption(stored, given)) return
  throw new StorageError('BlobCustomerSpecifiedEncryptionMismatch')
}

/** Scopes are transparent to reads, which name none. */
function encryptionForRead(
  stored: BlobEncryption | undefined,
  asked: RequestEncryption,
): BlobEncryption | undefined {
  checkAsked(asked)
  if (asked.customerKey !== undefined) return { keySha256: asked.customerKey.sha256 }
  return stored !== undefined && 'scope' in stored ? stored : undefined
}

function checkAsked({ customerKey, scope }: RequestEncryption): void {
  if (customerKey === undefined || scope === undefined) return
  throw invalidHeader('x-ms-encryption-scope', scope)
}

export function isSameEncryption(
  a: BlobEncryption | undefined,
  b: BlobEncryption | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b
  if ('scope' in a) return 'scope' in b && a.scope === b.scope
  return 'keySha256' in b && a.keySha256 === b.keySha256
}
