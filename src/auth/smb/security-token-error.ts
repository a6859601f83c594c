// Thrown by the decoders of security tokens (DER, SPNEGO, NTLMSSP) for malformed bytes. A login catches only this
// class, so that any other error still surfaces as a bug.
export class SecurityTokenError extends Error {
  override readonly name = 'SecurityTokenError'
}
