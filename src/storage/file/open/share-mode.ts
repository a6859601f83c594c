// Share modes ([MS-FSA] 2.1.5.1.2): what an open does must be shared by every other open of the file, and what
// the others do by it. Opens that touch only attributes neither conflict nor count.
import type { FileOpen } from './open.ts'
import { sharedAccessOf } from './rest-access.ts'

export function isSharingViolation(
  opens: readonly Pick<FileOpen, 'access' | 'shareAccess'>[],
  { access, shareAccess }: Pick<FileOpen, 'access' | 'shareAccess'>,
): boolean {
  const mine = sharedAccessOf(access)
  if (mine === 0) return false
  return opens.some((other) => {
    const theirs = sharedAccessOf(other.access)
    return theirs !== 0 && ((mine & ~other.shareAccess) !== 0 || (theirs & ~shareAccess) !== 0)
  })
}
