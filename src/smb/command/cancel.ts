// CANCEL ([MS-SMB2] 3.3.5.16). It has no response and uses no message id, so it is not in the table of commands. It may
// be unsigned even if signing is required, but a signature must be correct.
import type { Connection, Session } from '../world.ts'
import { isSigned } from '../session/sign.ts'
import type { Smb2Header } from '../wire/header.ts'

export function isCancelGenuine(
  connection: Connection,
  { sessionId }: Smb2Header,
  message: Buffer,
  sealedBy: Session | undefined,
): boolean {
  if (sealedBy !== undefined || !isSigned(message)) return true
  const signer = connection.sessions.get(sessionId)?.channels.get(connection)
  return signer?.check(message) === true
}
