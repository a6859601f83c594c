// SMB2_FILEID, [MS-SMB2] 2.2.14.1: the persistent half survives a reconnect, the volatile half is the index of the open
// in its session.

export type FileId = { readonly persistent: bigint; readonly volatile: bigint }

const ALL_ONES = 0xffffffffffffffffn

export function decodeFileId(buffer: Buffer, at: number): FileId {
  return { persistent: buffer.readBigUInt64LE(at), volatile: buffer.readBigUInt64LE(at + 8) }
}

export function writeFileId(buffer: Buffer, at: number, fileId: FileId): void {
  buffer.writeBigUInt64LE(fileId.persistent, at)
  buffer.writeBigUInt64LE(fileId.volatile, at + 8)
}

/** In a related part of a compound it means the open of the previous part; in some IOCTLs, no file at all. */
export function isFileIdAllOnes(fileId: FileId): boolean {
  return fileId.persistent === ALL_ONES && fileId.volatile === ALL_ONES
}
