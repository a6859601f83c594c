// What the decoders of security tokens (DER, SPNEGO, NTLMSSP) throw for bytes that are not such a token.
// One class, so that a login catches it by name and every other error stays a mistake of ours.
export class SecurityTokenError extends Error {
  override readonly name = 'SecurityTokenError'
}
