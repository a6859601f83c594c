// Creates a session from its login: its keys, and whether it requires signing and encryption.
import type { SmbIdentity } from '../../storage/file/security/smb-identity.ts'
import type { Connection, Negotiated, Session, SmbWorld } from '../world.ts'
import { deriveSessionKeys } from './key.ts'
import { SECURITY_MODE } from './security-mode.ts'
import { createSigner } from './sign.ts'
import { SmbError } from '../smb-error.ts'
import { createDecryptor, createEncryptor } from './transform.ts'

export type NewSession = {
  readonly id: bigint
  readonly user: string
  readonly identity: SmbIdentity | undefined
  readonly sessionKey: Buffer
  readonly preauthHash: Buffer
  /** From the SESSION_SETUP. */
  readonly securityMode: number
}

/** Per connection: terminal servers have one session for each user. */
const SESSIONS_MAX = 1_024

export function createSession(
  world: SmbWorld,
  connection: Connection,
  negotiated: Negotiated,
  { id, user, identity, sessionKey, preauthHash, securityMode }: NewSession,
): Session {
  if (connection.sessions.size >= SESSIONS_MAX) throw new SmbError('INSUFFICIENT_RESOURCES')
  const { settings } = world
  const { dialect, cipher, signing, clientGuid } = negotiated
  const keys = deriveSessionKeys({ dialect, cipher, sessionKey, preauthHash })
  const { encryption, decryption } = keys
  const hasCipher = cipher !== undefined && encryption !== undefined && decryption !== undefined
  // Azure Files does the same if secure transfer is required.
  if (settings.encryption === 'required' && !hasCipher) throw new SmbError('ACCESS_DENIED')
  const session: Session = {
    id,
    user,
    identity,
    dialect,
    clientGuid,
    signing,
    signingKey: keys.signing,
    cipher,
    encryptor: hasCipher ? createEncryptor(cipher, encryption, id) : undefined,
    decryptor: hasCipher ? createDecryptor(cipher, decryption) : undefined,
    isSigningRequired:
      settings.signing === 'required' || (securityMode & SECURITY_MODE.signingRequired) !== 0,
    isEncryptionRequired: settings.encryption === 'required',
    channels: new Map([[connection, createSigner(signing, keys.signing)]]),
    trees: new Map(),
    handles: new Map(),
    nextTreeId: 1,
    isValid: true,
  }
  world.sessions.set(id, session)
  connection.sessions.set(id, session)
  return session
}

/** Not guessable, unique in this process, and 32 bits long, as some clients expect. */
export function newSessionId({ sessions, random }: SmbWorld, { logins }: Connection): bigint {
  for (;;) {
    const id = BigInt(random(4).readUInt32LE())
    if (id !== 0n && !sessions.has(id) && !logins.has(id)) return id
  }
}
