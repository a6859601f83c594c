// The head of a request that the server sends to one of its own services in the name of an account, signed with the account's key.
import { signedPaths } from '../../auth/shared-key/canonical.ts'
import { stringToSign } from '../../auth/shared-key/shared-key.ts'
import { sign } from '../../auth/signature.ts'
import type { ServiceName } from '../../auth/request.ts'
import type { Account } from '../../storage/shared/account.ts'
import { parseQuery } from '../protocol/query.ts'
import { parseRequestHead, type RequestHead } from '../protocol/request-head.ts'

/** What the server speaks with itself. */
export const OWN_VERSION = '2025-11-05'

/** `unsigned` has a date and a version. */
export function signedHead(
  service: ServiceName,
  { name: account, keys }: Account,
  unsigned: RequestHead,
): RequestHead {
  const key = keys[0]?.secret
  if (key === undefined) throw new Error(`the account ${account} has no key`)
  const { method, headers, target } = unsigned
  const [rawPath = '', query = ''] = target.split(/\?(.*)/s)
  const version = headers['x-ms-version']
  const request = {
    service, account, method, headers, rawPath,
    pathStyle: true,
    path: [],
    query: parseQuery(query),
    version: typeof version === 'string' ? version : OWN_VERSION,
    secure: true,
    remoteAddress: '127.0.0.1',
  } // prettier-ignore
  const signature = sign(key, stringToSign(request, 'SharedKey', signedPaths(request)[0] ?? '/'))
  return parseRequestHead(`${unsigned.text}Authorization: SharedKey ${account}:${signature}\r\n`)
}
