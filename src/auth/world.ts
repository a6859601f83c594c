// What authentication asks of the world outside a request: accounts, clocks, stored access
// policies and public access. Passed in, so that the rules stay free of storage and of time.
import type { Accounts } from '../storage/shared/account.ts'
import type { BearerValidator } from './token/bearer.ts'
import type { AuthRequest } from './request.ts'

/** A stored access policy; what it leaves open, the SAS must say. */
export type StoredPolicy = {
  readonly startMs?: number | undefined
  readonly expiryMs?: number | undefined
  readonly permissions?: string | undefined
}

export type AuthWorld = {
  readonly accounts: Accounts
  /** The service's clock, which users may hold and advance: for the times of a SAS. */
  readonly nowMs: number
  /** The clock that clients see: for the date of Shared Key requests and the times of tokens. */
  readonly wallNowMs: number
  /** The policy `id` of the container, queue, table or share that the request addresses. */
  accessPolicy(request: AuthRequest, id: string): Promise<StoredPolicy | undefined>
  publicAccess(request: AuthRequest): Promise<'container' | 'blob' | undefined>
  /** false: public access is disabled for the whole account. */
  readonly publicAccessPermitted?: boolean
  /** Absent: tokens are not accepted. */
  readonly bearer?: BearerValidator | undefined
}
