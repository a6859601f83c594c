// A server with settings, as the command would start it: for tests of what `startServer` has no option
// for. Its log is kept as text.
import { runServer, type RunningServer } from '../src/run-server.ts'
import { decodeAccountsJson } from '../src/start/account-list.ts'
import { fixedAccounts } from '../src/start/accounts.ts'
import { openLog } from '../src/start/log.ts'
import { defaultOptions, type Options } from '../src/start/options.ts'

export type RunningTestServer = RunningServer & {
  readonly blobPort: number
  now(): number
  advance(byMs: number): void
  /** What was logged; complete after close. */
  logged(): string
}

export type RunningTestOptions = Partial<Options> & {
  /** Name to keys; left out, the well-known account. */
  readonly accounts?: Readonly<Record<string, string | readonly string[]>>
  readonly folder?: string
}

/** The clock stands still until the test advances it. */
export async function runTestServer(given: RunningTestOptions = {}): Promise<RunningTestServer> {
  const { accounts, folder, ...values } = given
  const options = defaultOptions({ blobPort: 0, queuePort: 0, tablePort: 0, webPort: 0, ...values })
  let text = ''
  const stdout = {
    write: (more: string) => {
      text += more
      return true
    },
    once: () => undefined,
  }
  const log = await openLog({ options, stdout, clock: Date.now })
  let heldMs = Date.now()
  const running = await runServer({
    options,
    location: folder,
    memoryLimitBytes: undefined,
    accounts: fixedAccounts(accounts && decodeAccountsJson(accounts, 'accounts')),
    clock: () => heldMs,
    log,
    services: ['blob', 'queue', 'table'],
    webPortMayMove: true,
  })
  return {
    ...running,
    blobPort: running.endpoints[0]?.port ?? 0,
    now: () => heldMs,
    advance: (byMs) => {
      heldMs += byMs
    },
    logged: () => text,
    close: async () => {
      await running.close()
      await log.close()
    },
  }
}
