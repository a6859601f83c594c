// How a blob is encrypted, and what a request must specify to use it: a key that the client sends with each
// request and that is never stored, or an encryption scope, whose key the service stores. Azure calls both
// "customer specified encryption" and has the same errors for them.
import type { ReadTx, Step } from '../../kv/kv.ts'
import { ACCOUNT_ENCRYPTION_KEY, requireEncryptionScope } from '../shared/encryption-scope.ts'
import { invalidHeader, StorageError } from '../shared/error.ts'

/** Only the SHA-256 of a customer's key is stored, in base64. */
export type BlobEncryption = { readonly keySha256: string } | { readonly scope: string }

export type RequestEncryption = {
  readonly customerKey?: { readonly sha256: string }
  /** x-ms-encryption-scope */
  readonly scope?: string
}

/** Set when the container is created; it can't be changed later. */
export type ContainerEncryption = {
  readonly defaultEncryptionScope?: string
  readonly denyEncryptionScopeOverride?: boolean
}

/**
 * read: Get Blob, Get Blob Properties, Query Blob Contents. write: operations that change a blob but not its
 * bytes, such as Set Blob Metadata and Snapshot Blob. append: operations that add bytes to a blob, such as
 * Append Block, Put Page and Put Block. Lease, tags, tier, HTTP headers and Delete Blob need no key.
 */
export type EncryptionUse = 'read' | 'write' | 'append'

const NO_POLICY: ContainerEncryption = {}

/** The encryption of a new blob, whatever that of the blob it replaces. */
export function encryptionForWrite(
  request: RequestEncryption,
  container: ContainerEncryption,
): BlobEncryption | undefined {
  checkRequest(request)
  const ofContainer = container.defaultEncryptionScope ?? ACCOUNT_ENCRYPTION_KEY
  const scope = request.scope ?? ofContainer
  const isOverride = request.customerKey !== undefined || scope !== ofContainer
  if (container.denyEncryptionScopeOverride === true && isOverride) {
    throw new StorageError('RequestForbiddenByContainerEncryptionPolicy')
  }
  if (request.customerKey !== undefined) return { keySha256: request.customerKey.sha256 }
  return scope === ACCOUNT_ENCRYPTION_KEY ? undefined : { scope }
}

/** The same for a blob that is created without bytes: the scope must exist, though its key isn't needed yet. */
export function* requireEncryptionForWrite(
  tx: ReadTx,
  account: string,
  request: RequestEncryption,
  container: ContainerEncryption,
): Step<BlobEncryption | undefined> {
  const encryption = encryptionForWrite(request, container)
  if (encryption !== undefined && 'scope' in encryption) {
    yield* requireEncryptionScope(tx, account, encryption.scope)
  }
  return encryption
}

/** Checks that the request may use an existing blob. A write without a scope uses the container's default scope. */
export function checkEncryption(
  stored: BlobEncryption | undefined,
  request: RequestEncryption,
  use: EncryptionUse,
  container: ContainerEncryption = NO_POLICY,
): void {
  const given =
    use === 'read' ? encryptionForRead(stored, request) : encryptionForWrite(request, container)
  if (stored === undefined && given === undefined) return
  if (stored === undefined) throw new StorageError('BlobDoesNotUseCustomerSpecifiedEncryption')
  if (given === undefined) throw new StorageError('BlobUsesCustomerSpecifiedEncryption')
  checkEncryptedAs(stored, given)
}

/** Bytes that are added to a blob must be encrypted like its other bytes. */
export function checkEncryptedAs(
  stored: BlobEncryption | undefined,
  given: BlobEncryption | undefined,
): void {
  if (isSameEncryption(stored, given)) return
  throw new StorageError('BlobCustomerSpecifiedEncryptionMismatch')
}

/** Scopes are transparent to reads: they don't name one. */
function encryptionForRead(
  stored: BlobEncryption | undefined,
  request: RequestEncryption,
): BlobEncryption | undefined {
  checkRequest(request)
  if (request.customerKey !== undefined) return { keySha256: request.customerKey.sha256 }
  return stored !== undefined && 'scope' in stored ? stored : undefined
}

function checkRequest({ customerKey, scope }: RequestEncryption): void {
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
