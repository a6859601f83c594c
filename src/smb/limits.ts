// The bounds of the protocol that several parts know.

/** MaxReadSize, MaxWriteSize, MaxTransactSize: as Samba's. */
export const TRANSFER_BYTES_MAX = 8 * 1024 * 1024

/** What one credit pays for ([MS-SMB2] 3.3.5.2.5). */
export const CREDIT_BYTES = 64 * 1024

/** Opens of one session: about as many as Samba and Windows let it have. */
export const HANDLES_MAX = 16_384
