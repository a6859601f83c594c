// Refusals. Most are plain StorageErrors. A challenge also carries a WWW-Authenticate value, and its status is
// always 401, even where the same code means 400 elsewhere (InvalidAuthenticationInfo).
import { ERRORS, StorageError } from '../storage/shared/error.ts'
import type { AuthRequest } from './request.ts'

/** Clients read the tenant from authorization_uri and the scope from resource_id. */
export const CHALLENGE_DEFAULT =
  'Bearer authorization_uri=https://login.microsoftonline.com/common/oauth2/authorize ' +
  'resource_id=https://storage.azure.com'

/** Blob, queue and table answer with a challenge from this version on; Files never does. */
const CHALLENGE_VERSION = '2019-12-12'

export class ChallengeError extends StorageError {
  override readonly status = 401
  readonly wwwAuthenticate: string

  constructor(
    code: 'NoAuthenticationInformation' | 'InvalidAuthenticationInfo',
    wwwAuthenticate: string,
    detail?: string,
  ) {
    const details = detail === undefined ? {} : { AuthenticationErrorDetail: detail }
    super(code, details, ERRORS.NoAuthenticationInformation[1])
    this.wwwAuthenticate = wwwAuthenticate
  }
}

/** The WWW-Authenticate header that belongs to an error, if any. */
export function wwwAuthenticate(error: unknown): string | undefined {
  return error instanceof ChallengeError ? error.wwwAuthenticate : undefined
}

export function hasChallenge(request: AuthRequest): boolean {
  return request.service !== 'file' && request.version >= CHALLENGE_VERSION
}

export function authenticationFailed(detail: string): StorageError {
  return new StorageError('AuthenticationFailed', { AuthenticationErrorDetail: detail })
}
