// Session binding ([MS-SMB2] 3.3.5.5.2): another connection becomes a channel of a session. A channel has its own
// signing key and shares everything else. The checks run in Samba's order, which clients expect.
import type { SmbCall } from '../call.ts'
import type { Connection, Negotiated, Session } from '../world.ts'
import { DIALECT, SIGNING } from './dialect.ts'
import { deriveSigningKey } from './key.ts'
import { createSigner, isSigned } from './sign.ts'
import { SmbError } from '../smb-error.ts'

/** As many as Samba and Windows allow; clients of Azure Files use up to four. */
const CHANNELS_MAX = 32

/** The session to bind this connection to. */
export function requireBindable(call: SmbCall, negotiated: Negotiated): Session {
  const { world, connection, header, message } = call
  if (header.sessionId === 0n) throw new SmbError('INVALID_PARAMETER')
  const session = world.sessions.get(header.sessionId)
  if (session === undefined) throw new SmbError('USER_SESSION_DELETED')
  checkSigning(session, negotiated)
  if (negotiated.dialect < DIALECT.smb300) throw new SmbError('REQUEST_NOT_ACCEPTED')
  if (!isSigned(message)) throw new SmbError('INVALID_PARAMETER')
  if (session.dialect !== negotiated.dialect || session.cipher !== negotiated.cipher) {
    throw new SmbError('INVALID_PARAMETER')
  }
  if (session.channels.has(connection)) throw new SmbError('REQUEST_NOT_ACCEPTED')
  if (session.channels.size >= CHANNELS_MAX) throw new SmbError('INSUFFICIENT_RESOURCES')
  // The session is anonymous, so no login can prove to be the same user.
  if (session.user === '') throw new SmbError('NOT_SUPPORTED')
  return session
}

/** The channels of a session can't mix AES-GMAC with the other algorithms, which can be mixed. */
function checkSigning(session: Session, { signing }: Negotiated): void {
  if (session.signing === signing) return
  if (session.signing === SIGNING.aesGmac) throw new SmbError('REQUEST_OUT_OF_SEQUENCE')
  if (signing === SIGNING.aesGmac) throw new SmbError('NOT_SUPPORTED')
}

/** The key is derived from this login, not from the session's. */
export function addChannel(
  session: Session,
  connection: Connection,
  { dialect, cipher, signing }: Negotiated,
  secret: { readonly sessionKey: Buffer; readonly preauthHash: Buffer },
): void {
  const key = deriveSigningKey({ dialect, cipher, ...secret })
  session.channels.set(connection, createSigner(signing, key))
  connection.sessions.set(session.id, session)
}
