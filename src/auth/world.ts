// What authentication needs besides the request: accounts, clocks, stored access policies and public access. It is
// passed in, so that the rules depend on neither storage nor clocks.
import type { Accounts } from '../storage/shared/account.ts'
import type { BearerValidator } from './token/bearer.ts'
import type { AuthRequest } from './request.ts'

/** A stored access policy. The SAS must have the fields that the policy leaves out. */
export type StoredPolicy = {
  readonly startMs?: number | undefined
  readonly expiryMs?: number | undefined
  readonly permissions?: string | undefined
}

export type AuthWorld = {
  readonly accounts: Accounts
  /** For the times of a SAS: the service's clock, but without what people do with it while it runs (control/clock.ts). */
  readonly nowMs: number
  /** The machine's clock, as clients see it: for the date of Shared Key requests and the times of tokens. */
  readonly wallNowMs: number
  /** The policy `id` of the container, queue, table or share that the request addresses. */
  accessPolicy(request: AuthRequest, id: string): Promise<StoredPolicy | undefined>
  publicAccess(request: AuthRequest): Promise<'container' | 'blob' | undefined>
  /** false: public access is disabled for the whole account. */
  readonly publicAccessPermitted?: boolean
  /** Absent: tokens are not accepted. */
  readonly bearer?: BearerValidator | undefined
}
