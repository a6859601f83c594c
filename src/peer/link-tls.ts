// TLS between nodes. Both sides prove that they know the secret of the cluster, and everything in between is encrypted, by
// TLS 1.3 with a pre-shared key (RFC 8446, 2.2) and a fresh key exchange. There are no certificates.
import { hkdfSync } from 'node:crypto'
import {
  createSecureContext,
  type ConnectionOptions,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls'

/** Ends a handshake without a pre-shared key; whoever chooses that is not a node. */
export class NotANode extends Error {}

const IDENTITY = 'lazuli'
const KEY_BYTES = 32

/** A pre-shared key goes with SHA-256 only (RFC 8446, 4.2.11). */
const COMMON = { minVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256' } as const

export function acceptingTls(secret: Buffer): TlsOptions {
  const psk = keyOf(secret)
  return { ...COMMON, pskCallback: (_socket, identity) => (identity === IDENTITY ? psk : null) }
}

export function connectingTls(secret: Buffer): ConnectionOptions {
  const psk = keyOf(secret)
  return {
    // No authority is trusted. Made once: a context per connection doubles the time of the handshake.
    secureContext: createSecureContext({ ...COMMON, ca: [] }),
    pskCallback: () => ({ psk, identity: IDENTITY }),
    // A server without the key could offer a certificate instead. Node calls this only then.
    checkServerIdentity: () => new NotANode('the other side did not use the key of the cluster'),
  }
}

function keyOf(secret: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'lazuli connections between nodes', KEY_BYTES))
}

/** The kernel finds nodes that vanished. */
const KEEP_ALIVE_MS = 10_000

/** After the handshake. A client that has finished sending may still wait for its answer. */
export function keepOpen(socket: TLSSocket): void {
  socket.allowHalfOpen = true
  socket.setNoDelay(true)
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
}
