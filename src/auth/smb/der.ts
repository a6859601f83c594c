// The subset of DER (X.690) that SPNEGO needs: one-byte tags and definite lengths. Reading stays within the given
// bytes and is not recursive, so that a hostile token costs no more than its own length.
import { SecurityTokenError } from './security-token-error.ts'

export const DER_TAG = {
  octetString: 0x04,
  objectIdentifier: 0x06,
  enumerated: 0x0a,
  generalString: 0x1b,
  sequence: 0x30,
  application0: 0x60,
} as const

export type DerElement = {
  readonly tag: number
  readonly content: Buffer
  /** Tag, length and content as sent; the mechListMIC is computed over them. */
  readonly whole: Buffer
}

/** More than any valid token has. */
const CHILD_COUNT_MAX = 64
const LENGTH_BYTES_MAX = 4

/** [n] of the context-specific class, constructed. */
export function contextTag(number: number): number {
  return 0xa0 + number
}

/** The element at the start of `bytes`; whatever follows is ignored. */
export function readDer(bytes: Buffer): DerElement {
  const [tag, first] = bytes
  if (tag === undefined || first === undefined) throw new SecurityTokenError('DER: truncated')
  if ((tag & 0x1f) === 0x1f) throw new SecurityTokenError('DER: a tag of more than one byte')
  const lengthBytes = first < 0x80 ? 0 : first - 0x80
  if (first === 0x80 || lengthBytes > LENGTH_BYTES_MAX) {
    throw new SecurityTokenError('DER: an indefinite or oversized length')
  }
  const start = 2 + lengthBytes
  if (start > bytes.length) throw new SecurityTokenError('DER: truncated')
  const contentBytes = lengthBytes === 0 ? first : bytes.readUIntBE(2, lengthBytes)
  const end = start + contentBytes
  if (end > bytes.length) throw new SecurityTokenError('DER: the length exceeds the bytes')
  return { tag, content: bytes.subarray(start, end), whole: bytes.subarray(0, end) }
}

export function readDerAs(bytes: Buffer, tag: number): DerElement {
  const element = readDer(bytes)
  if (element.tag !== tag) throw new SecurityTokenError('DER: unexpected tag')
  return element
}

export function readDerChildren(content: Buffer): readonly DerElement[] {
  const children: DerElement[] = []
  for (let rest = content; rest.length > 0;) {
    if (children.length === CHILD_COUNT_MAX) throw new SecurityTokenError('DER: too many elements')
    const child = readDer(rest)
    children.push(child)
    rest = rest.subarray(child.whole.length)
  }
  return children
}

export function encodeDer(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  return Buffer.concat([Buffer.of(tag), encodeLength(content.length), content])
}

function encodeLength(lengthBytes: number): Buffer {
  if (lengthBytes < 0x80) return Buffer.of(lengthBytes)
  const digits = Buffer.alloc(LENGTH_BYTES_MAX)
  digits.writeUInt32BE(lengthBytes)
  const significant = digits.subarray(digits.findIndex((digit) => digit !== 0))
  return Buffer.concat([Buffer.of(0x80 + significant.length), significant])
}
