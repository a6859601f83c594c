// Requests to a server in this process, without a connection: nothing but the server decides what happens when.
import { ownClient, type OwnWorld } from '../../src/run/seed/own-client.ts'
import { NoAnswer } from '../../src/torture/drive/recorder.ts'
import type { Send } from '../../src/torture/drive/kind.ts'
import { fixedAccounts } from '../../src/start/account/accounts.ts'
import { LAKE } from '../datalake/fixture.ts'
import { ACCOUNT } from '../harness.ts'

type Handlers = OwnWorld['handlers'] & { readonly dfs: OwnWorld['handlers']['blob'] }

export function sendTo(handlers: Handlers): Send {
  const world = { accounts: fixedAccounts(), wallClock: Date.now }
  const plain = ownClient({ handlers, ...world })
  // Both sign alike.
  const lake = ownClient({ handlers: { ...handlers, blob: handlers.dfs }, ...world })
  return async ({ service, method, path, headers, body }) => {
    if (service === 'smb') throw new Error('SMB needs a connection')
    const [resource = '', query = ''] = path.slice(1).split(/\?(.*)/s)
    const answer = await (service === 'dfs' ? lake : plain)({
      service: service === 'dfs' ? 'blob' : service,
      account: service === 'dfs' ? LAKE : ACCOUNT,
      method,
      path: [decodeURIComponent(resource)],
      query: Object.fromEntries(new URLSearchParams(query)),
      ...(headers !== undefined && { headers }),
      ...(body !== undefined && { body }),
    }).catch((error: unknown): never => {
      throw error instanceof Error && /was not answered/.test(error.message) ? new NoAnswer('no answer') : error // prettier-ignore
    })
    return { ...answer, headers: Object.fromEntries(answer.headers) }
  }
}
