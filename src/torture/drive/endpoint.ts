// Which servers a run is about: connection strings, or URLs of Blob services.
import { usageError } from '../../start/start-error.ts'
import type { Endpoints } from './connection.ts'
import { SERVICES, type Service } from './kind.ts'

/** The well-known account of development; public by design. */
const ACCOUNT = 'devstoreaccount1'
/** The one of Lazuli with a hierarchical namespace; it has the same key. */
const LAKE_ACCOUNT = 'devlake1'
const KEY =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='

const FIELDS: Readonly<Record<Service, string>> = {
  blob: 'BlobEndpoint',
  queue: 'QueueEndpoint',
  table: 'TableEndpoint',
  file: 'FileEndpoint',
  dfs: 'DfsEndpoint',
  smb: 'SmbEndpoint',
}

/** How far the port of each service is from that of the Blob service. */
const PORTS: Readonly<Record<Service, number>> = {
  blob: 0,
  queue: 1,
  table: 2,
  file: 3,
  dfs: 5,
  smb: 445,
}

export function endpointsOf(connectionString: string): Endpoints {
  const fields = new Map(
    connectionString
      .split(';')
      .filter((part) => part.includes('='))
      .map((part) => {
        const at = part.indexOf('=')
        return [part.slice(0, at).trim(), part.slice(at + 1).trim()] as const
      }),
  )
  if (fields.get('UseDevelopmentStorage') === 'true') return endpointsAt('http://127.0.0.1:10000')
  const [account, key] = [fields.get('AccountName'), fields.get('AccountKey')]
  if (account === undefined || key === undefined)
    throw usageError('--connectionString must have AccountName, AccountKey and endpoints')
  const urls = SERVICES.flatMap((service) => {
    const url = fields.get(FIELDS[service])
    return url === undefined ? [] : [[service, checkedUrl(url, '--connectionString')] as const]
  })
  if (urls.length === 0)
    throw usageError('--connectionString has none of BlobEndpoint, QueueEndpoint, TableEndpoint, FileEndpoint, DfsEndpoint and SmbEndpoint') // prettier-ignore
  return { account, key, urls: Object.fromEntries(urls) }
}

/** The Blob service is there; the other services are at the ports that follow, as by default. */
export function endpointsAt(text: string): Endpoints {
  const url = new URL(checkedUrl(text, '--url'))
  const first = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const urls = SERVICES.map((service) => {
    if (service === 'smb') return [service, `smb://${url.hostname}:${first + PORTS.smb}`] as const
    const account = service === 'dfs' ? LAKE_ACCOUNT : ACCOUNT
    return [
      service,
      `${url.protocol}//${url.hostname}:${first + PORTS[service]}/${account}`,
    ] as const
  })
  return { account: ACCOUNT, lakeAccount: LAKE_ACCOUNT, key: KEY, urls: Object.fromEntries(urls) }
}

function checkedUrl(text: string, flag: string): string {
  if (!/^(https?|smb):\/\//.test(text) || !URL.canParse(text))
    throw usageError(`${flag} must have URLs such as http://127.0.0.1:10000, not ${text}`)
  return text.replace(/\/+$/, '')
}
