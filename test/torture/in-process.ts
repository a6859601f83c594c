// Requests to a server in this process, without a connection: nothing but the server decides what happens when.
import { ownClient, type OwnWorld } from '../../src/run/seed/own-client.ts'
import { NoAnswer } from '../../src/torture/drive/recorder.ts'
import type { Send } from '../../src/torture/drive/kind.ts'
import { fixedAccounts } from '../../src/start/account/accounts.ts'
import { ACCOUNT } from '../harness.ts'

export function sendTo(handlers: OwnWorld['handlers']): Send {
  const client = ownClient({ handlers, accounts: fixedAccounts(), wallClock: Date.now })
  return async ({ service, method, path, headers, body }) => {
    const [resource = '', query = ''] = path.slice(1).split(/\?(.*)/s)
    const answer = await client({
      service,
      account: ACCOUNT,
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
