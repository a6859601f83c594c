// A server with settings, as the command would start it: for tests of what `startServer` has no option
// for. Its log is kept as text.
import { runServer, type RunningServer } from '../src/run/server.ts'
import { decodeAccountsJson } from '../src/start/account/account-list.ts'
import { fixedAccounts } from '../src/start/account/accounts.ts'
import { openLog } from '../src/start/log/log.ts'
import { defaultOptions, type Options } from '../src/start/options/options.ts'
import { fixedSmbUsers } from '../src/start/account/smb-users.ts'

export type RunningTestServer = RunningServer & {
  readonly blobPort: number
  readonly filePort: number
  readonly fileEndpoint: string
  readonly smbPort: number
  /** Lets the time pass that requests wait for SMB clients. */
  endWaits(): void
  now(): number
  advance(byMs: number): void
  /** What was logged; complete after close. */
  logged(): string
}

export type RunningTestOptions = Partial<Options> & {
  /** Name to keys; left out, the well-known account. */
  readonly accounts?: Readonly<Record<string, string | readonly string[]>>
  readonly folder?: string
  /** Who logs in over SMB besides accounts. */
  readonly smbUsers?: Parameters<typeof fixedSmbUsers>[0]
  /** False: the test is the SMB client and its server: it writes what clients hold open itself. */
  readonly hasSmb?: boolean
}

/** The clock stands still until the test advances it. */
export async function runTestServer(given: RunningTestOptions = {}): Promise<RunningTestServer> {
  const { accounts: named, folder, smbUsers = [], hasSmb = true, ...values } = given
  const accounts = fixedAccounts(named && decodeAccountsJson(named, 'accounts'))
  const options = defaultOptions({
    blobPort: 0,
    queuePort: 0,
    tablePort: 0,
    filePort: 0,
    smbPort: 0,
    webPort: 0,
    ...values,
  })
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
  const waits = new Set<() => void>()
  const running = await runServer({
    options,
    location: folder,
    memoryLimitBytes: undefined,
    accounts,
    smbUsers: fixedSmbUsers(smbUsers, accounts),
    clock: () => heldMs,
    log,
    services: ['blob', 'queue', 'table', 'file', ...(hasSmb ? (['smb'] as const) : [])],
    webPortMayMove: true,
    after: (_delayMs, then) => {
      waits.add(then)
      return () => waits.delete(then)
    },
  })
  const filePort = running.endpoints[3]?.port ?? 0
  return {
    ...running,
    blobPort: running.endpoints[0]?.port ?? 0,
    filePort,
    smbPort: running.endpoints[4]?.port ?? 0,
    fileEndpoint: `http://127.0.0.1:${filePort}/devstoreaccount1`,
    endWaits: () => {
      const due = [...waits]
      waits.clear()
      for (const wait of due) wait()
    },
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
