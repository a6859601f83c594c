// What people see of the running SMB server besides its records.
import type { SmbWorld } from './world.ts'

export type SmbView = {
  readonly sessionCount: number
  /** Who has logged in with the session of an open; undefined while the open waits for its client. */
  userOf(openId: number): string | undefined
}

export function viewOfSmb({ sessions, handles }: Pick<SmbWorld, 'sessions' | 'handles'>): SmbView {
  return {
    get sessionCount() {
      return sessions.size
    },
    userOf(openId) {
      const session = handles.get(BigInt(openId))?.session
      return session?.identity?.name ?? session?.user
    },
  }
}
