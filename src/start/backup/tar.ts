// The format of tar files, POSIX.1-1988 (ustar): a header of 512 bytes for each file, then its bytes, filled up to 512; two empty
// headers at the end. Sizes from 8 GiB on are in base 256, as GNU tar writes and reads them.

export const TAR_BLOCK_BYTES = 512

export type TarHeader = { readonly name: string; readonly lengthBytes: number }

const NAME = [0, 100] as const
const SIZE = [124, 12] as const
const CHECKSUM = [148, 8] as const
const OCTAL_MAX = 8 ** 11 - 1

export function encodeTarHeader({ name, lengthBytes }: TarHeader): Buffer {
  const header = Buffer.alloc(TAR_BLOCK_BYTES)
  header.write(name, NAME[0], NAME[1], 'utf8')
  header.write('0000600\0', 100, 'latin1')
  header.write('0000000\0', 108, 'latin1')
  header.write('0000000\0', 116, 'latin1')
  writeSize(header, lengthBytes)
  header.write('00000000000\0', 136, 'latin1')
  header.write('0', 156, 'latin1')
  header.write('ustar\u000000', 257, 'latin1')
  header.write(`${octal(checksumOf(header), 6)}\0 `, CHECKSUM[0], 'latin1')
  return header
}

function writeSize(header: Buffer, lengthBytes: number): void {
  const [at, length] = SIZE
  if (lengthBytes <= OCTAL_MAX) {
    header.write(`${octal(lengthBytes, length - 1)}\0`, at, 'latin1')
    return
  }
  header[at] = 0x80
  header.writeBigUInt64BE(BigInt(lengthBytes), at + length - 8)
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}

/** The sum of all bytes, with spaces in place of the checksum. */
function checksumOf(header: Buffer): number {
  const [from, length] = CHECKSUM
  return header.reduce((sum, byte, at) => sum + (at >= from && at < from + length ? 32 : byte), 0)
}

/** undefined at the end of the file, 'damaged' if it is no header. */
export function decodeTarHeader(header: Buffer): TarHeader | 'damaged' | undefined {
  if (header.every((byte) => byte === 0)) return undefined
  const checksum = textAt(header, CHECKSUM)
  if (!/^ *[0-7]+ *$/.test(checksum) || Number.parseInt(checksum.trim(), 8) !== checksumOf(header))
    return 'damaged'
  return { name: textAt(header, NAME), lengthBytes: readSize(header) }
}

function readSize(header: Buffer): number {
  const [at, length] = SIZE
  if (header[at] === 0x80) return Number(header.readBigUInt64BE(at + length - 8))
  return Number.parseInt(textAt(header, SIZE), 8)
}

function textAt(header: Buffer, [at, length]: readonly [number, number]): string {
  const bytes = header.subarray(at, at + length)
  const end = bytes.indexOf(0)
  return bytes.toString('utf8', 0, end < 0 ? length : end)
}

/** How many bytes a file of this length takes, without its header. */
export function tarBytes(lengthBytes: number): number {
  return Math.ceil(lengthBytes / TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES
}
