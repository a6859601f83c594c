// A second resource named by a request: the source of a copy or a rename, the target of a hard link. It is resolved,
// authenticated and authorized as if the client had sent a request for it.
import { authenticate } from '../../auth/authenticate.ts'
import { authorize } from '../../auth/authorize.ts'
import type { Permission } from '../../auth/permission.ts'
import type { AuthRequest, ServiceName } from '../../auth/request.ts'
import { addressOf } from '../../http/door/address.ts'
import type { Call, Request } from '../../http/door/operation.ts'
import { parseQuery } from '../../http/protocol/query.ts'
import { resolvePath } from '../../http/door/resource-path.ts'
import type { Accounts } from '../../storage/shared/account.ts'
import type { ContentService } from './service.ts'

type Origin = {
  readonly request: Request
  readonly accounts: Accounts
  readonly pathStyleOnly: boolean
}

type Sent = {
  readonly service: ServiceName
  readonly method: string
  readonly headers: AuthRequest['headers']
  /** The account to use if the URL names none. */
  readonly fallbackAccount?: string
}

// The URL class can't be used: it resolves dots and escapes in the path.
const URL_PARTS = /^(https?):\/\/([^/?#]+)([^?#]*)(?:\?([^#]*))?/i

export function requestOfUrl(origin: Origin, text: string, sent: Sent): AuthRequest | undefined {
  const [, protocol, host, path = '', search = ''] = URL_PARTS.exec(text) ?? []
  if (protocol === undefined || host === undefined) return undefined
  const { service, method, headers, fallbackAccount } = sent
  const { version, remoteAddress } = origin.request
  const rawPath = path === '' ? '/' : path
  const elsewhere = fallbackAccount === undefined ? undefined : () => fallbackAccount
  const address = addressOf(origin.accounts, host, rawPath, origin.pathStyleOnly, elsewhere)
  const query = parseQuery(search)
  return {
    service,
    method,
    headers,
    account: address.account,
    rawPath,
    pathStyle: address.pathStyle,
    path: resolvePath(service, address.resource, { query, headers, version }),
    query,
    version,
    secure: protocol.toLowerCase() === 'https',
    remoteAddress,
  }
}

/** The account key or a token is valid for both resources. */
export async function authorizeOther(
  { identity, service }: Call<Pick<ContentService, 'world'>>,
  otherRequest: AuthRequest,
  permission: Permission,
): Promise<void> {
  if (identity.kind === 'sharedKey' || identity.kind === 'bearer') return
  const world = service.world()
  await authorize(await authenticate(otherRequest, world), permission, otherRequest, world)
}
