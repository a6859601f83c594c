// Whether the server can be reached, as its stream shows.
import { signal } from '../library.ts'

/** `refused`: the server answers, but not to this page. */
export type ConnectionState = 'connecting' | 'live' | 'disconnected' | 'refused'

export const connection = signal<ConnectionState>('connecting')

/** Differs after each start of the server: what the page knows of the run before is void. */
export const runId = signal<string | undefined>(undefined)

/** The server's first account, which names leave out where there is little room. */
export const firstAccount = signal<string | undefined>(undefined)
