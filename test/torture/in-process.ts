// Requests to a server in this process, without a connection: nothing but the server decides what happens when.
import { ownClient, type OwnWorld } from '../../src/run/seed/own-client.ts'
import type { FileService } from '../../src/rest/file/service.ts'
import { NoAnswer } from '../../src/torture/drive/recorder.ts'
import type { Send } from '../../src/torture/drive/kind.ts'
import { fixedAccounts } from '../../src/start/account/accounts.ts'
import { LAKE } from '../datalake/fixture.ts'
import { ACCOUNT } from '../harness.ts'
import { smbRulesOf } from './smb-rules.ts'

type Server = {
  readonly handlers: OwnWorld['handlers'] & { readonly dfs: OwnWorld['handlers']['blob'] }
  /** Of the node that is the home of the files. */
  readonly file: FileService
}

export function sendTo(server: Server): Send {
  const { handlers } = server
  let smb: Send | undefined
  const world = { accounts: fixedAccounts(), wallClock: Date.now }
  const plain = ownClient({ handlers, ...world })
  // Both sign alike.
  const lake = ownClient({ handlers: { ...handlers, blob: handlers.dfs }, ...world })
  return async (request) => {
    const { service, method, path, headers, body } = request
    if (service === 'smb') {
      smb ??= smbRulesOf(server.file)
      return smb(request)
    }
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
