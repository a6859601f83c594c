// Statements that commit, and that hold the lane beyond a commit. The commit function holds the lane until its statement
// ends; a lock of the session, which the commits of that session share, holds it until the session leaves.
import type { Statement } from '../../../postgres/client.ts'
import { LANE, RESULT } from './commit-function.ts'

/** Time without a statement after which the server ends a session that holds the lane. Bodies that run alone may read. */
const ALONE_IDLE_MS_MAX = 5_000
const RETRY_IDLE_MS_MAX = 1_000

const CALL = `lazuli.commit_1(${Array.from({ length: 17 }, (_, at) => `$${at + 1}`).join()})`

const take = (idleMsMax: number): string =>
  `pg_advisory_lock(${LANE})::text || set_config('idle_session_timeout', '${idleMsMax}', false)`
/** All: where a transaction was overtaken, the lock may have been taken more than once. */
const LEAVE = `pg_advisory_unlock_all()::text || set_config('idle_session_timeout', '0', false)`

/** If a transaction is overtaken, the session holds the lane afterwards: there is no moment in which others get it. */
export const COMMIT: Statement = {
  name: 'commit',
  text: `SELECT c.*, CASE c.kind WHEN ${RESULT.overtaken} THEN ${take(RETRY_IDLE_MS_MAX)} END FROM ${CALL} c`,
}

export const ONLY_COMMIT: Statement = { name: 'only_commit', text: `SELECT * FROM ${CALL}` }

/** The join makes one row of nulls if the function returns none. */
export const COMMIT_AND_LEAVE: Statement = {
  name: 'commit_and_leave',
  text: `SELECT c.*, ${LEAVE} FROM (SELECT) one LEFT JOIN ${CALL} c ON true`,
}

export const TAKE_LANE: Statement = { name: 'take_lane', text: `SELECT ${take(ALONE_IDLE_MS_MAX)}` }

export const LEAVE_LANE: Statement = { name: 'leave_lane', text: `SELECT ${LEAVE}` }
