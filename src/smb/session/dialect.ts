// What NEGOTIATE agrees on ([MS-SMB2] 2.2.3, 2.2.4): the dialect, the cipher and the signing algorithm. Ciphers have
// the names of Azure Files' settings (channelEncryption).

export const DIALECT = {
  smb202: 0x0202,
  smb210: 0x0210,
  smb300: 0x0300,
  smb302: 0x0302,
  smb311: 0x0311,
} as const

export type Dialect = (typeof DIALECT)[keyof typeof DIALECT]

/** The response to SMB1's "SMB 2.???". A second NEGOTIATE chooses the dialect. */
export const DIALECT_WILDCARD = 0x02ff

/** [MS-SMB2] 2.2.3.1.2 */
export const CIPHER = { aes128Ccm: 1, aes128Gcm: 2, aes256Ccm: 3, aes256Gcm: 4 } as const

export type CipherId = (typeof CIPHER)[keyof typeof CIPHER]

type CipherRow = {
  readonly name: string
  readonly keyBytes: 16 | 32
  /** How many of the 16 bytes of Nonce in a TRANSFORM_HEADER the cipher uses ([MS-SMB2] 2.2.41). */
  readonly nonceBytes: 11 | 12
}

export const CIPHERS: Readonly<Record<CipherId, CipherRow>> = {
  [CIPHER.aes128Ccm]: { name: 'AES-128-CCM', keyBytes: 16, nonceBytes: 11 },
  [CIPHER.aes128Gcm]: { name: 'AES-128-GCM', keyBytes: 16, nonceBytes: 12 },
  [CIPHER.aes256Ccm]: { name: 'AES-256-CCM', keyBytes: 32, nonceBytes: 11 },
  [CIPHER.aes256Gcm]: { name: 'AES-256-GCM', keyBytes: 32, nonceBytes: 12 },
}

/** [MS-SMB2] 2.2.3.1.7 */
export const SIGNING = { hmacSha256: 0, aesCmac: 1, aesGmac: 2 } as const

export type Signing = (typeof SIGNING)[keyof typeof SIGNING]

export const SIGNING_NAMES: Readonly<Record<Signing, string>> = {
  [SIGNING.hmacSha256]: 'HMAC-SHA256',
  [SIGNING.aesCmac]: 'AES-CMAC',
  [SIGNING.aesGmac]: 'AES-GMAC',
}

/** The algorithm of a dialect without SIGNING_CAPABILITIES ([MS-SMB2] 3.1.4.1). */
export function defaultSigning(dialect: Dialect): Signing {
  return dialect < DIALECT.smb300 ? SIGNING.hmacSha256 : SIGNING.aesCmac
}
