// --cors, --containers, --queues, --tables and --shares: what every account has when the server is ready. Runs at each
// start, so everything is done again without harm.
import type { Step, Tx } from '../kv/kv.ts'
import type { Options } from '../start/options/options.ts'
import { errorReason, StartError } from '../start/start-error.ts'
import type { Store } from '../start/store/store.ts'
import { createContainer } from '../storage/blob/container/container.ts'
import { createShare } from '../storage/file/share/share-change.ts'
import { createQueue } from '../storage/queue/queue.ts'
import { StorageError } from '../storage/shared/error.ts'
import { changeServiceProperties } from '../storage/shared/service/service.ts'
import type { CorsRule } from '../storage/shared/service/service-properties.ts'
import { createTable } from '../storage/table/table.ts'

type Wanted = Pick<Options, 'cors' | 'containers' | 'queues' | 'tables' | 'shares'>

type Prepared = Pick<Store, 'kv' | 'newId' | 'moment'>

export async function prepareAccounts(
  store: Prepared,
  accounts: readonly string[],
  wanted: Wanted,
): Promise<void> {
  for (const account of accounts) {
    for (const [what, body] of bodiesOf(store, account, wanted)) await runOnce(store, what, body)
  }
}

type Body = (tx: Tx) => Step<unknown>

async function runOnce({ kv }: Prepared, what: string, body: Body): Promise<void> {
  try {
    await kv.write(body)
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    if (error.code.endsWith('AlreadyExists')) return
    throw new StartError(`${what} cannot be created: ${errorReason(error)}`, 1, error)
  }
}

function bodiesOf(
  { newId, moment }: Prepared,
  account: string,
  { cors, containers, queues, tables, shares }: Wanted,
): readonly (readonly [string, Body])[] {
  const created = () => ({ id: newId(), metadata: [] })
  const body = <T>(names: readonly string[], what: string, of: (name: string) => T) =>
    names.map((name) => [`--${what} ${name}`, of(name)] as const)
  return [
    ...body(containers, 'containers', (container): Body => {
      const [address, made, now] = [{ account, container }, created(), moment()]
      return (tx) => createContainer(tx, address, made, now)
    }),
    ...body(queues, 'queues', (queue): Body => {
      const made = created()
      return (tx) => createQueue(tx, { account, queue }, made)
    }),
    ...body(tables, 'tables', (table): Body => {
      const id = newId()
      return (tx) => createTable(tx, { account, table }, id)
    }),
    ...body(shares, 'shares', (share): Body => {
      const [made, now] = [{ ...created(), provision: {} }, moment()]
      return (tx) => createShare(tx, { account, share }, made, now)
    }),
    ...(cors.length === 0 ? [] : SERVICES).map((service): readonly [string, Body] => {
      const update = { cors: [ruleOf(cors)] }
      return ['--cors', (tx) => changeServiceProperties(tx, { account, service }, update)]
    }),
  ]
}

const SERVICES = ['blob', 'queue', 'table', 'file'] as const

/** The only one, also after a restart. */
function ruleOf(allowedOrigins: readonly string[]): CorsRule {
  return {
    allowedOrigins,
    allowedMethods: ['DELETE', 'GET', 'HEAD', 'MERGE', 'POST', 'PATCH', 'OPTIONS', 'PUT'],
    allowedHeaders: ['*'],
    exposedHeaders: ['*'],
    maxAgeInSeconds: 86_400,
  }
}
