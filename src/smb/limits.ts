// Limits of the protocol that several files share.

/** MaxReadSize, MaxWriteSize, MaxTransactSize: the same as Samba's. */
export const TRANSFER_BYTES_MAX = 8 * 1024 * 1024

/** The payload that one credit pays for ([MS-SMB2] 3.3.5.2.5). */
export const CREDIT_BYTES = 64 * 1024

/** Opens per session: about as many as Samba and Windows allow. */
export const HANDLES_MAX = 16_384
