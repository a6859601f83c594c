// A server started as the command starts it, for tests of settings that `startServer` has no option for. Its log is
// collected as text.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Membership } from '../src/run/cluster/membership.ts'
import type { FileService } from '../src/rest/file/service.ts'
import { runServer, type RunningServer } from '../src/run/server.ts'
import { decodeAccountsJson } from '../src/start/account/account-list.ts'
import { fixedAccounts } from '../src/start/account/accounts.ts'
import { openLog } from '../src/start/log/log.ts'
import { defaultOptions, type Options } from '../src/start/options/options.ts'
import { fixedSmbUsers } from '../src/start/account/smb-users.ts'

export type RunningTestServer = RunningServer & {
  readonly file: FileService
  readonly blobPort: number
  readonly queuePort: number
  readonly tablePort: number
  readonly filePort: number
  readonly dfsPort: number
  readonly fileEndpoint: string
  readonly smbPort: number
  /** Ends the time that requests wait for SMB clients. */
  endWaits(): void
  now(): number
  advance(byMs: number): void
  /** The log so far; complete after close. */
  logged(): string
}

export type RunningTestOptions = Partial<Options> & {
  /** Account names and their keys; the well-known account if left out. */
  readonly accounts?: Parameters<typeof decodeAccountsJson>[0] & object
  readonly folder?: string
  /** Stores the data in a new folder, which `close` removes. */
  readonly onDisk?: boolean
  /** The users who can log in over SMB, besides the accounts. */
  readonly smbUsers?: Parameters<typeof fixedSmbUsers>[0]
  /** False: there is no SMB server; the test itself writes the records of what SMB clients have open. */
  readonly hasSmb?: boolean
  /** The server is a node of a cluster. */
  readonly membership?: Membership
}

export type RunTestServer = (options: RunningTestOptions) => Promise<RunningTestServer>

let runOther: RunTestServer | undefined

/** For tests that run again with something else in place of a server. */
export function setTestServer(run: RunTestServer): void {
  runOther = run
}

/** Starts a server whose clock stands still until the test advances it. */
export async function runTestServer(
  testOptions: RunningTestOptions = {},
): Promise<RunningTestServer> {
  if (runOther !== undefined) return runOther(testOptions)
  const {
    accounts: named,
    onDisk = false,
    smbUsers = [],
    hasSmb = true,
    membership,
    ...rest
  } = testOptions
  const { folder = onDisk ? await mkdtemp(join(tmpdir(), 'lazuli-test-')) : undefined, ...values } =
    rest
  const accounts = fixedAccounts(named && decodeAccountsJson(named, 'accounts'))
  const options = defaultOptions({
    blobPort: 0,
    queuePort: 0,
    tablePort: 0,
    filePort: 0,
    dfsPort: 0,
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
    services: [
      'blob',
      'queue',
      'table',
      'file',
      'dfs',
      ...(hasSmb ? (['smb'] as const) : []),
      'web',
    ],
    mayMove: ['web'],
    ...(membership !== undefined && { membership }),
    after: (_delayMs, then) => {
      waits.add(then)
      return () => waits.delete(then)
    },
  })
  const portOf = (name: string): number =>
    running.endpoints.find(({ service }) => service === name)?.port ?? 0
  const filePort = portOf('file')
  return {
    ...running,
    get file() {
      return running.files.service()
    },
    blobPort: portOf('blob'),
    queuePort: portOf('queue'),
    tablePort: portOf('table'),
    filePort,
    dfsPort: portOf('dfs'),
    smbPort: portOf('smb'),
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
      if (onDisk && folder !== undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}
