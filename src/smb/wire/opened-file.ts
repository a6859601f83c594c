// The fields of a file that CREATE, CLOSE, the information classes and directory entries have in common, in their order.

/** Times are FILETIME, sizes bytes. */
export type OpenedFile = {
  readonly creationTime: bigint
  readonly lastAccessTime: bigint
  readonly lastWriteTime: bigint
  readonly changeTime: bigint
  readonly allocationSize: number
  readonly endOfFile: number
  readonly fileAttributes: number
}

export function writeTimes(bytes: Buffer, at: number, file: OpenedFile): void {
  bytes.writeBigUInt64LE(file.creationTime, at)
  bytes.writeBigUInt64LE(file.lastAccessTime, at + 8)
  bytes.writeBigUInt64LE(file.lastWriteTime, at + 16)
  bytes.writeBigUInt64LE(file.changeTime, at + 24)
}

/** 52 bytes. */
export function writeOpenedFile(bytes: Buffer, at: number, file: OpenedFile): void {
  writeTimes(bytes, at, file)
  bytes.writeBigUInt64LE(BigInt(file.allocationSize), at + 32)
  bytes.writeBigUInt64LE(BigInt(file.endOfFile), at + 40)
  bytes.writeUInt32LE(file.fileAttributes, at + 48)
}
