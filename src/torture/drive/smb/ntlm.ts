// The client's half of an NTLMv2 login, as raw NTLMSSP ([MS-NLMP] 2.2.1, 3.3.2). Only its hash functions are the server's.
import { createHmac, randomBytes } from 'node:crypto'
import { ntHashOf, ntowfV2 } from '../../../auth/smb/ntlm.ts'

/** Unicode, NTLM, extended session security, 128 bits; no key exchange: the base key is that of the session. */
const FLAGS = 0x2208_8235

export function ntlmNegotiate(): Buffer {
  const message = Buffer.alloc(40)
  message.write('NTLMSSP\0\x01', 'latin1')
  message.writeUInt32LE(FLAGS, 12)
  return message
}

export type Login = { readonly user: string; readonly password: string }

export function ntlmAuthenticate(
  challenge: Buffer,
  { user, password }: Login,
): { readonly token: Buffer; readonly sessionKey: Buffer } {
  const key = ntowfV2(ntHashOf(password), user, '')
  const blob = Buffer.concat([Buffer.of(1, 1), Buffer.alloc(14), randomBytes(8), Buffer.alloc(4)])
  const proof = hmacMd5(key, challenge.subarray(24, 32), blob)
  const fields = [Buffer.alloc(0), Buffer.concat([proof, blob]), Buffer.alloc(0), Buffer.from(user, 'utf16le'), Buffer.alloc(0), Buffer.alloc(0)] // prettier-ignore
  return { token: layOut(fields), sessionKey: hmacMd5(key, proof) }
}

function hmacMd5(key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
  return createHmac('md5', key).update(Buffer.concat(parts)).digest()
}

/** 2.2.1.3: the fields follow a header that says where they are. */
function layOut(fields: readonly Buffer[]): Buffer {
  const header = Buffer.alloc(88)
  header.write('NTLMSSP\0\x03', 'latin1')
  let offset = header.length
  for (const [index, field] of fields.entries()) {
    header.writeUInt16LE(field.length, 12 + index * 8)
    header.writeUInt16LE(field.length, 14 + index * 8)
    header.writeUInt32LE(offset, 16 + index * 8)
    offset += field.length
  }
  header.writeUInt32LE(FLAGS, 60)
  return Buffer.concat([header, ...fields])
}
