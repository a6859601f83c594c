// Finds the account of a request. In path style it is the first segment (`/devstoreaccount1/c/b`), in host
// style the first label of the host (`devstoreaccount1.blob.localhost`). Whichever names an existing account
// wins, so no flag is needed. The suffix `-secondary` is the read-only endpoint.
import type { IncomingHttpHeaders } from 'node:http'
import type { Accounts } from '../../storage/shared/account.ts'
import { StorageError } from '../../storage/shared/error.ts'

type Address = {
  readonly account: string
  readonly secondary: boolean
  readonly pathStyle: boolean
  /** The path without the account, still encoded, without its first slash. */
  readonly resource: string
}

const SECONDARY = '-secondary'

/** `fallback` names the account if neither the host nor the path does. */
export function addressOf(
  accounts: Accounts,
  host: string | undefined,
  rawPath: string,
  pathStyleOnly: boolean,
  fallback?: () => string | undefined,
): Address {
  const label = pathStyleOnly ? undefined : firstLabel(host)
  const named = label === undefined ? undefined : knownAccount(accounts, label)
  if (named !== undefined) return { ...named, pathStyle: false, resource: rawPath.slice(1) }

  const end = rawPath.indexOf('/', 1)
  const segment = end < 0 ? rawPath.slice(1) : rawPath.slice(1, end)
  const account = knownAccount(accounts, segment)
  if (account === undefined) {
    const signed = knownAccount(accounts, fallback?.() ?? '')
    if (signed !== undefined) return { ...signed, pathStyle: false, resource: rawPath.slice(1) }
    const message = `The account '${printable(segment)}' does not exist on this server.`
    throw new StorageError('ResourceNotFound', {}, message)
  }
  return { ...account, pathStyle: true, resource: end < 0 ? '' : rawPath.slice(end + 1) }
}

/**
 * The account that the headers name. When @azure/storage-file-share 12 and @azure/storage-file-datalake 12 rename, they drop
 * the account from the path (`PUT /share/new`) and sign the path without it.
 */
export function accountFromHeaders(headers: IncomingHttpHeaders): string | undefined {
  const signer = /^sharedkey(?:lite)? +([^:\s]+):/i.exec(headers.authorization ?? '')?.[1]
  if (signer !== undefined) return signer
  const moved = headers['x-ms-rename-source']
  if (typeof moved === 'string') return /^\/([^/?#]+)\/[^/?#]+\//.exec(moved)?.[1]
  const source = headers['x-ms-file-rename-source']
  if (typeof source !== 'string') return undefined
  return /^https?:\/\/[^/?#]+\/([^/?#]+)/i.exec(source)?.[1]
}

function knownAccount(accounts: Accounts, name: string) {
  if (accounts.get(name) !== undefined) return { account: name, secondary: false }
  if (!name.endsWith(SECONDARY)) return undefined
  const primary = name.slice(0, -SECONDARY.length)
  return accounts.get(primary) === undefined ? undefined : { account: primary, secondary: true }
}

/** Undefined for a host of one label. */
function firstLabel(host: string | undefined): string | undefined {
  const dot = host === undefined ? -1 : host.indexOf('.')
  return dot <= 0 ? undefined : host?.slice(0, dot).toLowerCase()
}

function printable(text: string): string {
  return text.slice(0, 64).replace(/[^\w.-]/g, '?')
}
