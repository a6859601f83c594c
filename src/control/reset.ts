// Reset, as people ask for it: checks the scope, and writes analytics logs first, so that none appears afterwards.
import type { FileKv } from '../storage/file/open/open.ts'
import { resetStore, type ResetScope } from '../storage/reset.ts'
import type { Accounts } from '../storage/shared/account.ts'
import type { ResetApi, Scope } from './api.ts'
import { ControlError } from './control-error.ts'

export type ResetWorld = {
  readonly accounts: Pick<Accounts, 'names'>
  readonly kv: FileKv
  /** That of the File service; throws while another node serves the files. */
  filesKv(): FileKv
  readonly analytics: { flush(): Promise<void>; forget(): void }
}

const SERVICES = ['blob', 'queue', 'table', 'file'] as const
const FIELDS: ReadonlySet<string> = new Set(['account', 'service', 'container'])

export function resetApi({ accounts, kv, filesKv, analytics }: ResetWorld): ResetApi {
  return {
    async reset(scope = {}) {
      const scopes = decodeScope(scope, accounts.names())
      // Fails before anything is removed.
      const files = scopes.some(({ services }) => services.includes('file')) ? filesKv() : kv
      await analytics.flush()
      let removedCount = 0
      for (const each of scopes) removedCount += await resetStore(files, each)
      analytics.forget()
      return { removedCount }
    },
  }
}

function decodeScope(scope: Scope, accounts: readonly string[]): readonly ResetScope[] {
  const { account, service, container } = scope
  for (const field of Object.keys(scope)) {
    if (!FIELDS.has(field)) {
      throw new ControlError(`${field} is not part of a scope: account, service, container`, field)
    }
  }
  if (account !== undefined && !accounts.includes(account)) {
    const known = accounts.join(', ')
    throw new ControlError(`there is no account "${account}"; there is ${known}`, 'account')
  }
  if (service !== undefined && !SERVICES.includes(service)) {
    throw new ControlError(`service must be blob, queue, table or file`, 'service')
  }
  if (container === undefined) return [{ services: service ? [service] : SERVICES, account }]
  if (typeof container !== 'string' || container === '') {
    throw new ControlError('container must be the name of one', 'container')
  }
  if (service === undefined) {
    throw new ControlError(
      'container needs a service, since each may have one of that name',
      'service',
    )
  }
  const owners = account === undefined ? accounts : [account]
  return owners.map((owner) => ({ services: [service], account: owner, name: container }))
}
