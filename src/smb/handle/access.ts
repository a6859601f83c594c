// The rights that an open was granted ([MS-SMB2] 2.2.13.1.1). Commands that use the open check them.
import type { FileHandle } from '../world.ts'
import { SmbError } from '../smb-error.ts'

/** For a directory the first three are FILE_LIST_DIRECTORY, FILE_ADD_FILE, FILE_ADD_SUBDIRECTORY. */
export const RIGHT = {
  readData: 0x1,
  writeData: 0x2,
  appendData: 0x4,
  readEa: 0x8,
  writeEa: 0x10,
  execute: 0x20,
  deleteChild: 0x40,
  readAttributes: 0x80,
  writeAttributes: 0x100,
  delete: 0x1_0000,
  readControl: 0x2_0000,
  writeDacl: 0x4_0000,
  writeOwner: 0x8_0000,
  synchronize: 0x10_0000,
  systemSecurity: 0x100_0000,
} as const

/** All of these rights are needed. */
export function requireRights({ open }: Pick<FileHandle, 'open'>, rights: number): void {
  if ((open.access & rights) !== rights) throw missingRight(open)
}

/** One of these rights is enough. */
export function requireAnyRight({ open }: Pick<FileHandle, 'open'>, rights: number): void {
  if ((open.access & rights) === 0) throw missingRight(open)
}

/** An open of a snapshot never has the right to change anything. */
function missingRight({ snapshot }: FileHandle['open']): SmbError {
  return new SmbError(snapshot === undefined ? 'ACCESS_DENIED' : 'MEDIA_WRITE_PROTECTED')
}
