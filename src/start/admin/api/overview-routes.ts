// The server as a whole: where it is, what it does, and the keys of its accounts for whoever may control it.
import type { AccountKeys, Overview, OverviewApi, Traffic } from '../../../control/overview.ts'
import { ApiError, route, type ApiRoute } from './route.ts'
import { about, answer, anyText, choice, integer, list, number, optional, type Schema } from './schema.ts' // prettier-ignore

const overview: Schema<Overview> = answer({
  runId: about(anyText, 'Differs each time that the server is started.'),
  version: anyText,
  endpoints: list(
    answer({
      service: choice(['blob', 'queue', 'table', 'file', 'dfs', 'smb', 'web']),
      url: anyText,
    }),
  ),
  connectionString: about(anyText, 'Without keys, except for the well-known one.'),
  accounts: list(anyText),
  location: optional(anyText, 'Missing: in memory.'),
  storeBytes: integer(0),
  diskFreeBytes: optional(integer(0)),
})

const traffic: Schema<Traffic> = answer({
  atMs: about(number(0), "By the machine's clock."),
  requestCount: about(integer(0), 'Over HTTP.'),
  conflictCount: about(integer(0), 'Over HTTP and SMB, and in parts of batches.'),
  durations: about(
    list(answer({ upToMs: optional(number(0), 'Missing: no bound.'), count: integer(0) })),
    'How many requests took so long, without those in the rows before.',
  ),
})

const accountKeys: Schema<AccountKeys> = answer({ keys: list(anyText), connectionString: anyText })

// prettier-ignore
export function overviewRoutes(api: OverviewApi): readonly ApiRoute[] {
  return [
    route({ method: 'GET', path: 'overview', description: 'Where the server is and what it has.', answer: overview, run: () => api.overview() }),
    route({ method: 'GET', path: 'traffic', description: 'Counters since the server was started.', answer: traffic, run: () => api.traffic() }),
    // Not a GET: keys are only for those who may control the server.
    route({ method: 'POST', path: 'accounts/{name}/keys', description: 'The keys of an account.', answer: accountKeys,
      run: ({ params }) => {
        const keys = api.keysOf(params['name'] ?? '')
        if (keys === undefined) throw new ApiError(404, `there is no account ${params['name']}`)
        return keys
      } }),
  ]
}
