// NEGOTIATE ([MS-SMB2] 3.3.5.3, 3.3.5.4): dialect, cipher and signing algorithm, once for each connection.
import { encodeNegTokenInit2, MECHANISM } from '../../auth/smb/spnego.ts'
import type { SmbCall, SmbReply } from '../call.ts'
import type { Connection, Negotiated, SmbWorld } from '../world.ts'
import { CREDIT_BYTES, TRANSFER_BYTES_MAX } from '../limits.ts'
import { SECURITY_MODE } from '../session/security-mode.ts'
import {
  CIPHER,
  defaultSigning,
  DIALECT,
  DIALECT_WILDCARD,
  SIGNING,
  type CipherId,
  type Dialect,
  type Signing,
} from '../session/dialect.ts'
import { extendPreauthHash, PREAUTH_HASH_START } from '../session/key.ts'
import { DropConnection, SmbError } from '../smb-error.ts'
import { encodeFiletime } from '../wire/filetime.ts'
import {
  decodeNegotiateRequest,
  decodeSmb1Negotiate,
  encodeNegotiateResponse,
  type NegotiateRequest,
} from '../wire/session/negotiate.ts'
import {
  encodeEncryptionContext,
  encodePreauthContext,
  encodeSigningContext,
  type NegotiateContext,
} from '../wire/session/negotiate-context.ts'

export const CAPABILITY = {
  leasing: 0x2,
  largeMtu: 0x4,
  multiChannel: 0x8,
  persistentHandles: 0x10,
  encryption: 0x40,
} as const

/** Best first. Azure Files leaves out 3.0.2 and 2.0.2, which differ from 3.0 and 2.1 only in what they lack. */
const DIALECTS: readonly Dialect[] = [
  DIALECT.smb311,
  DIALECT.smb302,
  DIALECT.smb300,
  DIALECT.smb210,
  DIALECT.smb202,
]
const CIPHERS: readonly CipherId[] = [
  CIPHER.aes128Gcm,
  CIPHER.aes256Gcm,
  CIPHER.aes128Ccm,
  CIPHER.aes256Ccm,
]
const SIGNINGS: readonly Signing[] = [SIGNING.aesGmac, SIGNING.aesCmac, SIGNING.hmacSha256]
const SHA_512 = 1
const SALT_BYTES = 32

export function chooseDialect(offered: readonly number[]): Dialect | undefined {
  return DIALECTS.find((each) => offered.includes(each))
}

export function runNegotiate(call: SmbCall): SmbReply {
  const { connection, world, message } = call
  if (connection.negotiated !== undefined) throw new DropConnection('a second NEGOTIATE')
  const request = decodeNegotiateRequest(message)
  const dialect = chooseDialect(request.dialects)
  if (dialect === undefined) throw new SmbError('NOT_SUPPORTED')
  const negotiated = negotiate(world, request, dialect)
  connection.negotiated = negotiated
  const body = encodeNegotiateResponse({
    ...responseOf(world, negotiated),
    contexts: dialect === DIALECT.smb311 ? contextsOf(world, request, negotiated) : [],
  })
  const hash = extendPreauthHash(PREAUTH_HASH_START, message)
  return {
    body: [body],
    encoded: (sent) => {
      connection.preauthHash = extendPreauthHash(hash, ...sent)
    },
  }
}

/** A client that also speaks SMB1 ([MS-SMB2] 3.3.5.3) has to negotiate again with SMB2, or gets 2.0.2 at once. */
export function answerSmb1Negotiate(
  connection: Connection,
  world: SmbWorld,
  message: Buffer,
): Buffer {
  const names = decodeSmb1Negotiate(message)
  const { securityMode } = modeOf(world)
  if (names.includes('SMB 2.???')) {
    const capabilities = CAPABILITY.leasing | CAPABILITY.largeMtu
    const response = responseOf(world, { dialect: DIALECT_WILDCARD, capabilities, securityMode })
    return encodeNegotiateResponse({ ...response, contexts: [] })
  }
  if (!names.includes('SMB 2.002')) throw new DropConnection('SMB1 only')
  connection.negotiated = negotiate(world, SMB1_REQUEST, DIALECT.smb202)
  return encodeNegotiateResponse({ ...responseOf(world, connection.negotiated), contexts: [] })
}

const CLIENT_GUID_BYTES = 16

/** An SMB1 NEGOTIATE has none of these fields. */
const SMB1_REQUEST: NegotiateRequest = {
  securityMode: 0,
  capabilities: 0,
  clientGuid: Buffer.alloc(CLIENT_GUID_BYTES),
  dialects: [DIALECT.smb202],
  contexts: undefined,
}

function negotiate(world: SmbWorld, request: NegotiateRequest, dialect: Dialect): Negotiated {
  const { contexts } = request
  if (contexts !== undefined && !contexts.preauthIntegrity.hashAlgorithms.includes(SHA_512)) {
    if (dialect === DIALECT.smb311) throw new SmbError('SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP')
  }
  const cipher = cipherOf(world, request, dialect)
  const offered = dialect === DIALECT.smb311 ? contexts?.signingAlgorithms : undefined
  return {
    dialect,
    // Not Buffer.from: a slice of its pool would keep the whole pool alive, for each connection.
    clientGuid: Buffer.alloc(CLIENT_GUID_BYTES, request.clientGuid),
    clientCapabilities: request.capabilities,
    clientSecurityMode: request.securityMode,
    capabilities: capabilitiesOf(dialect, cipher),
    ...modeOf(world),
    cipher,
    signing: SIGNINGS.find((each) => offered?.includes(each)) ?? defaultSigning(dialect),
  }
}

function cipherOf(
  { settings }: SmbWorld,
  { capabilities, contexts }: NegotiateRequest,
  dialect: Dialect,
): CipherId | undefined {
  if (settings.encryption === 'off' || dialect < DIALECT.smb300) return undefined
  if (dialect === DIALECT.smb311) return CIPHERS.find((each) => contexts?.ciphers?.includes(each))
  return (capabilities & CAPABILITY.encryption) !== 0 ? CIPHER.aes128Ccm : undefined
}

/** 3.1.1 has a context for the cipher, and the bit stays unset. */
function capabilitiesOf(dialect: Dialect, cipher: CipherId | undefined): number {
  const all = CAPABILITY.leasing | CAPABILITY.largeMtu
  if (dialect === DIALECT.smb202) return 0
  if (dialect === DIALECT.smb210) return all
  const isBit = dialect !== DIALECT.smb311 && cipher !== undefined
  return (
    all |
    CAPABILITY.multiChannel |
    CAPABILITY.persistentHandles |
    (isBit ? CAPABILITY.encryption : 0)
  )
}

function modeOf({ settings }: SmbWorld): { readonly securityMode: number } {
  const required = settings.signing === 'required' ? SECURITY_MODE.signingRequired : 0
  return { securityMode: SECURITY_MODE.signingEnabled | required }
}

function responseOf(
  world: SmbWorld,
  {
    dialect,
    capabilities,
    securityMode,
  }: { readonly dialect: number; readonly capabilities: number; readonly securityMode: number },
) {
  const transferMaxBytes = dialect === DIALECT.smb202 ? CREDIT_BYTES : TRANSFER_BYTES_MAX
  return {
    securityMode,
    dialect,
    serverGuid: world.serverGuid,
    capabilities,
    transactMaxBytes: transferMaxBytes,
    readMaxBytes: transferMaxBytes,
    writeMaxBytes: transferMaxBytes,
    systemTime: encodeFiletime(world.moment().nowMs),
    securityBuffer: encodeNegTokenInit2([MECHANISM.ntlmssp]),
  }
}

function contextsOf(
  world: SmbWorld,
  { contexts }: NegotiateRequest,
  { cipher, signing }: Negotiated,
): NegotiateContext[] {
  return [
    encodePreauthContext(SHA_512, world.random(SALT_BYTES)),
    ...(contexts?.ciphers === undefined ? [] : [encodeEncryptionContext(cipher ?? 0)]),
    ...(contexts?.signingAlgorithms === undefined ? [] : [encodeSigningContext(signing)]),
  ]
}
