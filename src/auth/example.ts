// Fixtures of this folder's tests: an account, a clock, and requests built from a URL and headers as a front end
// builds them, including requests that the Azure SDKs signed.
import { accountKey, type Account } from '../storage/shared/account.ts'
import { StorageError } from '../storage/shared/error.ts'
import { wwwAuthenticate } from './failure.ts'
import type { AuthRequest, ServiceName } from './request.ts'
import type { AuthWorld } from './world.ts'

export const ACCOUNT = 'devstoreaccount1'
export const KEYS = ['a2V5MS1rZXkxLWtleTEta2V5MQ==', 'a2V5Mi1rZXkyLWtleTIta2V5Mg==']
export const AUTH_NOW_MS = Date.UTC(2026, 0, 15, 12)

const account: Account = { name: ACCOUNT, keys: KEYS.map(accountKey) }

export const AUTH_WORLD: AuthWorld = {
  accounts: { get: (name) => (name === ACCOUNT ? account : undefined), names: () => [ACCOUNT] },
  nowMs: AUTH_NOW_MS,
  wallNowMs: AUTH_NOW_MS,
  accessPolicy: async () => undefined,
  publicAccess: async () => undefined,
}

export type Sent = {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Host style if the host begins with the account, otherwise path style. */
export function authRequest(
  service: ServiceName,
  sent: Sent,
  more: Partial<AuthRequest> = {},
): AuthRequest {
  const url = new URL(sent.url)
  const rawPath = sent.url.slice(url.origin.length).split('?')[0] ?? ''
  const pathStyle = !url.host.startsWith(ACCOUNT)
  const segments = rawPath.split('/').slice(pathStyle ? 2 : 1)
  const [container = '', ...rest] = segments.map(decodeURIComponent)
  const path = rest.length === 0 || rest[0] === '' ? [container] : [container, rest.join('/')]
  const headers = Object.entries(sent.headers ?? {}).map(([name, value]) => [
    name.toLowerCase(),
    value,
  ])
  return {
    service,
    method: sent.method ?? 'GET',
    headers: Object.fromEntries(headers),
    account: ACCOUNT,
    rawPath,
    pathStyle,
    path: container === '' ? [] : path,
    query: queryOf(url.search.slice(1)),
    version: sent.headers?.['x-ms-version'] ?? '2025-01-05',
    secure: true,
    remoteAddress: '203.0.113.7',
    ...more,
  }
}

function queryOf(search: string): Map<string, string> {
  const query = new Map<string, string[]>()
  for (const part of search.split('&').filter((text) => text !== '')) {
    const [name = '', value = ''] = part.split('=', 2).map(decodeURIComponent)
    const values = query.get(name.toLowerCase()) ?? []
    query.set(name.toLowerCase(), [...values, value].sort())
  }
  return new Map([...query].map(([name, values]) => [name, values.join(',')]))
}

/** The outcome as one line: 'ok', or the status, code and detail of the error. */
export async function outcome(run: () => unknown): Promise<string> {
  try {
    await run()
    return 'ok'
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    const detail = error.details['AuthenticationErrorDetail'] ?? ''
    const challenge = wwwAuthenticate(error) === undefined ? '' : ' challenge'
    return `${error.status} ${error.code}${challenge} ${detail.split('\n')[0] ?? ''}`.trim()
  }
}
