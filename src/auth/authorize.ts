// Checks that an identity may run an operation: permissions, resource types, public access. authenticate has
// already refused invalid credentials.
import { missingHeader, StorageError } from '../storage/shared/error.ts'
import { authenticationFailed, ChallengeError, CHALLENGE_DEFAULT, hasChallenge } from './failure.ts'
import type { AccountSasIdentity, Identity } from './identity.ts'
import { isGranted, type Permission } from './permission.ts'
import { headerText, type AuthRequest } from './request.ts'
import type { AuthWorld } from './world.ts'

export function authorize(
  identity: Identity,
  permission: Permission,
  request: AuthRequest,
  world: AuthWorld,
): Promise<void> | void {
  if (identity.kind === 'anonymous') return authorizeAnonymous(permission, request, world)
  if (identity.kind === 'bearer') return authorizeBearer(permission, request)
  if (permission.bearer === 'only') {
    throw authenticationFailed('Only authentication scheme Bearer is supported')
  }
  if (identity.kind === 'sharedKey') return
  if (identity.kind === 'accountSas') authorizeAccountSas(identity, permission)
  else checkLetters(identity.permissions, permission.serviceSas, permission)
  if (hasTagCondition(request) && !hasPermission(identity, 't')) {
    throw new StorageError('AuthorizationPermissionMismatch')
  }
}

/**
 * A condition on tags reveals them, and permission to read or write a blob does not include its tags
 * ("Manage and find Azure Blob data with blob index tags", permissions).
 */
function hasTagCondition(request: AuthRequest): boolean {
  return request.service === 'blob' && headerText(request, 'x-ms-if-tags') !== ''
}

/**
 * Whether the caller has one of the permission letters. For rules inside an operation: with `c` but without
 * `w`, a blob may be created but not overwritten (UnauthorizedBlobOverwrite).
 */
export function hasPermission(identity: Identity, letters: string): boolean {
  if (identity.kind === 'anonymous') return false
  if (identity.kind === 'sharedKey' || identity.kind === 'bearer') return true
  return isGranted(identity.permissions, letters, false)
}

function authorizeAccountSas(identity: AccountSasIdentity, permission: Permission): void {
  if (!identity.resourceTypes.includes(permission.resourceType)) {
    throw new StorageError('AuthorizationResourceTypeMismatch')
  }
  checkLetters(identity.permissions, permission.accountSas, permission)
}

function checkLetters(
  permissions: string,
  letters: string | undefined,
  permission: Permission,
): void {
  if (letters === undefined) throw new StorageError('AuthorizationFailure')
  if (isGranted(permissions, letters, permission.all === true)) return
  throw new StorageError('AuthorizationPermissionMismatch')
}

/** Files accepts a token only with the backup intent. */
function authorizeBearer(permission: Permission, request: AuthRequest): void {
  if (permission.bearer === false) throw new StorageError('AuthorizationFailure')
  if (request.service !== 'file') return
  const intent = headerText(request, 'x-ms-file-request-intent')
  if (intent === '') throw missingHeader('x-ms-file-request-intent')
  if (intent.toLowerCase() === 'backup') return
  throw new StorageError('InvalidHeaderValue', {
    HeaderName: 'x-ms-file-request-intent',
    HeaderValue: intent,
  })
}

async function authorizeAnonymous(
  permission: Permission,
  request: AuthRequest,
  world: AuthWorld,
): Promise<void> {
  if (request.service === 'blob' && permission.anonymous !== undefined) {
    if (world.publicAccessPermitted === false) throw new StorageError('PublicAccessNotPermitted')
    const access = await world.publicAccess(request)
    const isPublic =
      access === 'container' || (access === 'blob' && permission.anonymous === 'blob')
    if (isPublic && !hasTagCondition(request)) return
  }
  throw anonymousRefusal(request, world)
}

/** Older versions and Files hide the resource instead of sending a challenge. */
function anonymousRefusal(request: AuthRequest, world: AuthWorld): StorageError {
  if (!hasChallenge(request)) return new StorageError('ResourceNotFound')
  const challenge = world.bearer?.challenge ?? CHALLENGE_DEFAULT
  return new ChallengeError('NoAuthenticationInformation', challenge)
}
