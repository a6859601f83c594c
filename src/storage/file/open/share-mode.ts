// Share modes ([MS-FSA] 2.1.5.1.2): every other open of the file must share the access of a new open, and the new open
// must share theirs. Opens for attributes only never conflict.
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
