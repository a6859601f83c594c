// One call of a client: what it asked of an object, when it began and ended, and the answer. Times are milliseconds of one
// clock. A call without an answer may have taken effect at any time since it began, or never.

export type Condition = {
  /** If-Match: an ETag or `*`. */
  readonly match?: string
  /** If-None-Match: an ETag or `*`. */
  readonly none?: string
}

/** Which fields an operation has depends on its name; see the models. */
export type Operation = {
  readonly name: string
  readonly value?: string
  readonly condition?: Condition
  /** The lease id that is sent. */
  readonly lease?: string
  /** Of an action on a lease. */
  readonly id?: string
  readonly to?: string
  readonly recursive?: boolean
  readonly seconds?: number
  readonly block?: string
  readonly blocks?: readonly string[]
  readonly position?: number
  readonly row?: string
  readonly merges?: boolean
  readonly properties?: Properties
  readonly operations?: readonly Operation[]
  readonly file?: string
  readonly slot?: number
  readonly slots?: number
  readonly replaces?: boolean
  readonly count?: number
  readonly message?: string
  readonly receipt?: string
  /** Over SMB: the client's name of an open file. */
  readonly handle?: string
  readonly access?: string
  readonly share?: string
  readonly disposition?: string
  /** How often it is used before it is closed. */
  readonly uses?: number
}

export type Properties = Readonly<Record<string, string>>

export type Row = { readonly etag?: string; readonly properties: Properties }

export type MessageAnswer = {
  readonly id: string
  readonly receipt?: string
  readonly count: number
  readonly text: string
}

export type Answer = {
  readonly status: number
  readonly code?: string
  readonly etag?: string
  readonly value?: string
  readonly metadata?: string
  readonly offset?: number
  readonly count?: number
  readonly committed?: string
  readonly uncommitted?: string
  readonly properties?: Properties
  readonly rows?: Readonly<Record<string, Row>>
  /** Of a batch: one for each of its operations, or the number of the one that failed. */
  readonly answers?: readonly Answer[]
  readonly failed?: number
  readonly names?: string
  readonly messages?: readonly MessageAnswer[]
  readonly id?: string
  readonly receipt?: string
  readonly text?: string
}

export type Call = {
  readonly number: number
  readonly client: number
  /** `kind/name`; the kind has a model. */
  readonly object: string
  readonly operation: Operation
  readonly began: number
  /** When the answer came, or when the client gave up. */
  readonly ended: number
  readonly answer?: Answer
  /** Why there is no answer. */
  readonly failure?: string
}

/** What a history is about; its first line. */
export type HistoryHead = {
  readonly seed: number
  readonly clients: number
  /** How far the server's clock may be from the client's, in either direction. */
  readonly slackMs: number
  readonly services: readonly string[]
  /** Whether faults were asked for. */
  readonly faults: boolean
}

export type History = { readonly head: HistoryHead; readonly calls: readonly Call[] }
