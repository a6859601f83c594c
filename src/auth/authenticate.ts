// Authenticates a request: who sent it. An Authorization header wins over a signature in the query. Without
// either, the request is anonymous, and authorize decides whether that is enough.
import type { Account } from '../storage/shared/account.ts'
import { StorageError } from '../storage/shared/error.ts'
import { authenticateAccountSas } from './sas/account-sas.ts'
import { authenticationFailed } from './failure.ts'
import type { BearerIdentity, Identity, UserDelegationSasIdentity } from './identity.ts'
import { queryField, type AuthRequest } from './request.ts'
import { authenticateServiceSas } from './sas/service-sas.ts'
import { authenticateSharedKey } from './shared-key/shared-key.ts'
import { authenticateUserDelegationSas } from './sas/user-delegation-sas.ts'
import type { AuthWorld } from './world.ts'

const ANONYMOUS: Identity = { kind: 'anonymous' }

export function authenticate(request: AuthRequest, world: AuthWorld): Promise<Identity> | Identity {
  const account = world.accounts.get(request.account)
  if (account === undefined) throw new StorageError('ResourceNotFound')
  const { query } = request
  if (query.has('sduoid')) return authenticateDelegatedUser(request, account, world)
  const authorization = request.headers.authorization
  if (authorization !== undefined) {
    return authenticateHeader(request, authorization, account, world)
  }
  if (query.has('sig') || query.has('sv')) return authenticateSas(request, account, world)
  return ANONYMOUS
}

function authenticateHeader(
  request: AuthRequest,
  authorization: string,
  account: Account,
  world: AuthWorld,
): Promise<Identity> | Identity {
  const space = authorization.indexOf(' ')
  const scheme = authorization.slice(0, Math.max(space, 0)).toLowerCase()
  const credential = authorization.slice(space + 1).trim()
  if (scheme === 'sharedkey' || scheme === 'sharedkeylite') {
    const name = scheme === 'sharedkey' ? 'SharedKey' : 'SharedKeyLite'
    return authenticateSharedKey(request, name, credential, account, world.wallNowMs)
  }
  if (scheme === 'bearer') return authenticateBearer(request, credential, world)
  throw new StorageError('InvalidAuthenticationInfo')
}

function authenticateBearer(
  request: AuthRequest,
  token: string,
  world: AuthWorld,
): Promise<BearerIdentity> | BearerIdentity {
  if (world.bearer === undefined) {
    throw authenticationFailed('Authentication scheme Bearer is not supported.')
  }
  return world.bearer.validate(request, token, world.wallNowMs)
}

/** Only an account SAS has services and resource types, and only a user delegation SAS has a key. */
function authenticateSas(
  request: AuthRequest,
  account: Account,
  world: AuthWorld,
): Promise<Identity> | Identity {
  const { query } = request
  if (query.has('ss') || query.has('srt')) {
    return authenticateAccountSas(request, account, world.nowMs)
  }
  if (query.has('skoid')) return authenticateUserDelegationSas(request, account, world.nowMs)
  return authenticateServiceSas(request, account, world)
}

/** A user delegation SAS for one user (`sduoid`) is valid only together with that user's own token. */
async function authenticateDelegatedUser(
  request: AuthRequest,
  account: Account,
  world: AuthWorld,
): Promise<UserDelegationSasIdentity> {
  const identity = authenticateUserDelegationSas(request, account, world.nowMs)
  const token = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (token === undefined) {
    throw authenticationFailed('The signed delegated user must authenticate with a bearer token.')
  }
  const { claims } = await authenticateBearer(request, token, world)
  const tenant = queryField(request, 'skdutid') || identity.tenantId
  if (claims['oid'] !== queryField(request, 'sduoid') || claims['tid'] !== tenant) {
    throw new StorageError('AuthorizationFailure')
  }
  return identity
}
