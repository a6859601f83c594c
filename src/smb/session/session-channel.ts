// Session binding ([MS-SMB2] 3.3.5.5.2): a further connection becomes a channel of a session. It has a signing key of
// its own and shares everything else. Which refusal comes first is Samba's order, which its clients expect.
import type { SmbCall } from '../call.ts'
import type { Connection, Negotiated, Session } from '../world.ts'
import { DIALECT, SIGNING } from './dialect.ts'
import { deriveSigningKey } from './key.ts'
import { createSigner, isSigned } from './sign.ts'
import { SmbError } from '../smb-error.ts'

/** As many as Samba and Windows have; Azure Files' clients use up to four. */
const CHANNELS_MAX = 32

/** The session that this connection is to be a channel of. */
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
  // Nobody is logged in, so nobody can prove to be the same.
  if (session.user === '') throw new SmbError('NOT_SUPPORTED')
  return session
}

/** AES-GMAC does not go together with the others; those may be mixed. */
function checkSigning(session: Session, { signing }: Negotiated): void {
  if (session.signing === signing) return
  if (session.signing === SIGNING.aesGmac) throw new SmbError('REQUEST_OUT_OF_SEQUENCE')
  if (signing === SIGNING.aesGmac) throw new SmbError('NOT_SUPPORTED')
}

/** The key is made from what this login gave, not from the session's. */
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
