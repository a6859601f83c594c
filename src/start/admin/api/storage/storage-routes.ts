// Data by the admin port: requests for a service's own handlers, without a connection, in the name of the account's owner; and
// SAS URLs. The rules, errors and entries of the journal are those of any other client.
import { signedHead } from '../../../../http/client/signed-head.ts'
import type { ServiceName } from '../../../../auth/request.ts'
import type { Exchange, RequestHandler } from '../../../../http/protocol/exchange.ts'
import type { Account, Accounts } from '../../../../storage/shared/account.ts'
import { ApiError, contentRoute, route, type ApiRoute } from '../route.ts'
import { about, answer, anyText, choice, integer, optional, record, text } from '../schema.ts'
import { passedExchange, passedHead } from './passed-exchange.ts'
import { serviceSas } from './service-sas.ts'

export type OfferedService = {
  readonly handler: RequestHandler
  /** `http://127.0.0.1:10000` */
  readonly url: URL
}

/** The services of a server. */
export type StorageParts = {
  readonly accounts: Accounts
  /** undefined: the server does not offer it. */
  service(name: ServiceName): OfferedService | undefined
  /** The clock by which signatures are judged. */
  wallClock(): number
  /** The clock by which a SAS expires. */
  sasClock(): number
}

const SERVICES = ['blob', 'queue', 'table', 'file'] as const
const PATH = 'storage/{service}/{account}/{path}'
const SAS_SECONDS_MAX = 10 * 365 * 86_400

const sasTerms = record({
  service: choice(SERVICES),
  account: text,
  path: about(text, 'container or container/blob, share/directory/file, queue or table; not percent-encoded.'),
  permissions: about(text, 'Letters as Azure has them, such as rw.'),
  expiresInSeconds: integer(1, SAS_SECONDS_MAX),
  snapshot: optional(text),
  versionId: optional(text),
}) // prettier-ignore

const sasAnswer = answer({
  url: anyText,
  sas: about(anyText, 'The query alone.'),
  expiresAt: anyText,
})

// prettier-ignore
export function storageRoutes(storage: StorageParts): readonly ApiRoute[] {
  const pass = (exchange: Exchange, params: Params): Promise<void> => passOn(storage, exchange, params)
  return [
    contentRoute({ method: 'GET', path: PATH, isChange: takesMessages,
      description: 'Sends the request, with its query and headers, to a service (blob, queue, table or file) as the owner of the account, and answers what it answers. '
        + 'The type of stored content is in x-lazuli-content-type. Getting messages of a queue counts as a change.', run: pass }),
    contentRoute({ method: 'PUT', path: PATH, description: 'The same for a request that creates or changes.', run: pass }),
    contentRoute({ method: 'POST', path: PATH, description: 'The same for a request that adds or asks.', run: pass }),
    contentRoute({ method: 'PATCH', path: PATH, description: 'The same for a request that merges an entity.', run: pass }),
    contentRoute({ method: 'DELETE', path: PATH, description: 'The same for a request that deletes.', run: pass }),
    route({ method: 'POST', path: 'sas', description: "Makes a service SAS with the account's key.", body: sasTerms, answer: sasAnswer,
      run: ({ body }) => {
        const account = accountOf(storage, body.account)
        const { url } = offered(storage, body.service)
        const expiresAtMs = storage.sasClock() + body.expiresInSeconds * 1_000
        const sas = serviceSas(account, body, expiresAtMs)
        const path = body.path.split('/').map(encodeURIComponent).join('/')
        return { url: `${url.origin}/${account.name}/${path}?${sas}`, sas, expiresAt: new Date(expiresAtMs).toISOString() }
      } }),
  ]
}

type Params = Readonly<Record<string, string>>

async function passOn(storage: StorageParts, outer: Exchange, params: Params): Promise<void> {
  const name = SERVICES.find((each) => each === params.service)
  if (name === undefined)
    throw new ApiError(404, `the services are ${SERVICES.join(', ')}, not ${shown(params.service)}`)
  const account = accountOf(storage, params.account ?? '')
  const { handler, url } = offered(storage, name)
  // Still encoded; the names before it may be, too.
  const target = /^(?:\/[^/?]*){3}(.*)$/s.exec(outer.head.target)?.[1] ?? ''
  const nowMs = storage.wallClock()
  const head = signedHead(name, account, passedHead(outer.head, { target, host: url.host, nowMs }))
  await handler.handle(passedExchange(outer, head, { secure: url.protocol === 'https:' }))
}

function accountOf({ accounts }: StorageParts, name: string): Account {
  const account = accounts.get(name)
  if (account === undefined) throw new ApiError(404, `there is no account ${shown(name)}`)
  return account
}

function offered(storage: StorageParts, name: ServiceName): OfferedService {
  const service = storage.service(name)
  if (service === undefined)
    throw new ApiError(404, `this server does not offer the ${name} service`)
  return service
}

function shown(text = ''): string {
  return text.slice(0, 100)
}

/** Get Messages makes messages invisible: the only GET of Azure Storage that changes something. */
function takesMessages({ head: { target } }: Exchange): boolean {
  const [path = '', query = ''] = target.split(/\?(.*)/s)
  const [, , , service, , , last] = path.split('/').map(decodeURIComponent)
  if (service !== 'queue' || last === undefined) return false
  const peeks = new URLSearchParams(query.toLowerCase()).getAll('peekonly')
  return peeks.length === 0 || peeks.some((value) => value !== 'true')
}
