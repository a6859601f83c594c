// What the admin port tells of this server: where it is, what it has, and what it has done since it was started.
import { randomUUID } from 'node:crypto'
import type { OverviewApi, OverviewEndpoint } from '../control/overview.ts'
import { diskFreeBytes } from '../start/admin/disk-free.ts'
import type { Metrics } from '../start/admin/metrics.ts'
import { connectHost, urlOf } from '../start/host.ts'
import { connectionString, reachableUrl, type Endpoint } from '../start/log/banner.ts'
import type { Store } from '../start/store/store.ts'
import { VERSION } from '../start/version.ts'
import type { Account, Accounts } from '../storage/shared/account.ts'

export type OverviewSource = {
  readonly endpoints: readonly Endpoint[]
  /** undefined: there are no static websites. */
  readonly web: { readonly host: string; readonly port: number } | undefined
  readonly accounts: Accounts
  readonly store: Pick<Store, 'sizeBytes'>
  readonly metrics: Pick<Metrics, 'totals'>
  /** For people; undefined: in memory. */
  readonly location: string | undefined
  /** Where content is stored, if that is a folder. */
  readonly folder: string | undefined
}

export function overviewApi(source: OverviewSource): OverviewApi {
  const { endpoints, accounts, store, metrics, location, folder } = source
  const runId = randomUUID()
  return {
    async overview() {
      const [account] = accounts.names().flatMap((name) => accounts.get(name) ?? [])
      const free = folder === undefined ? undefined : await diskFreeBytes(folder)
      return {
        runId,
        version: VERSION,
        endpoints: endpointsOf(source),
        connectionString: account === undefined ? '' : connectionString(endpoints, account),
        accounts: accounts.names(),
        ...(location !== undefined && { location }),
        storeBytes: store.sizeBytes(),
        ...(free !== undefined && { diskFreeBytes: free }),
      }
    },
    traffic: () => ({ atMs: Date.now(), ...metrics.totals() }),
    keysOf(name) {
      const account = accounts.get(name)
      return account && keysOf(endpoints, account)
    },
  }
}

function endpointsOf({ endpoints, web }: OverviewSource): readonly OverviewEndpoint[] {
  const services = endpoints.map((endpoint) => ({
    service: endpoint.service,
    url: reachableUrl(endpoint),
  }))
  if (web === undefined) return services
  const protocol = endpoints.some((endpoint) => endpoint.protocol === 'https') ? 'https' : 'http'
  return [...services, { service: 'web', url: urlOf(protocol, connectHost(web.host), web.port) }]
}

/** With the real key, unlike that of the overview. */
function keysOf(endpoints: readonly Endpoint[], account: Account) {
  const keys = account.keys.map(({ text }) => text)
  const masked = connectionString(endpoints, account)
  return {
    keys,
    connectionString: masked.replace(/AccountKey=[^;]*/, () => `AccountKey=${keys[0] ?? ''}`),
  }
}
