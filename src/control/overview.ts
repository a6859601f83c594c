// What the admin port tells of a server as a whole.

export type Overview = {
  /** Differs each time that the server is started. */
  readonly runId: string
  readonly version: string
  readonly endpoints: readonly OverviewEndpoint[]
  /** Without keys, except for the well-known one. */
  readonly connectionString: string
  readonly accounts: readonly string[]
  /** undefined: in memory. */
  readonly location?: string
  readonly storeBytes: number
  readonly diskFreeBytes?: number
}

export type OverviewEndpoint = {
  readonly service: 'blob' | 'queue' | 'table' | 'file' | 'dfs' | 'smb' | 'web'
  readonly url: string
}

export type AccountKeys = {
  readonly keys: readonly string[]
  readonly connectionString: string
}

/** Since the server was started. Two looks at it give rates. */
export type Traffic = {
  /** When it was read, by the machine's clock. */
  readonly atMs: number
  /** Over HTTP. */
  readonly requestCount: number
  /** Over HTTP and SMB, and in parts of batches. */
  readonly conflictCount: number
  /** How many requests took so long, without those in the rows before. The last row has no bound. */
  readonly durations: readonly { readonly upToMs?: number; readonly count: number }[]
}

export interface OverviewApi {
  overview(): Promise<Overview>
  traffic(): Traffic
  /** undefined: there is no such account. */
  keysOf(account: string): AccountKeys | undefined
}
