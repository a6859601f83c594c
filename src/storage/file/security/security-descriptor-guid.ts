// GUIDs in the packet form ([MS-DTYP] 2.3.4.2): the first three fields are little-endian.

export function decodeGuid(bytes: Uint8Array): string {
  const hex = (from: number, to: number) => Buffer.from(bytes.subarray(from, to)).toString('hex')
  const little = (from: number, to: number) =>
    Buffer.from(bytes.subarray(from, to)).reverse().toString('hex')
  return [little(0, 4), little(4, 6), little(6, 8), hex(8, 10), hex(10, 16)].join('-')
}

/** The text must pass `isGuid`. */
export function encodeGuid(guid: string): Uint8Array {
  const parts = guid.split('-').map((part) => Buffer.from(part, 'hex'))
  return Buffer.concat(parts.map((part, i) => (i < 3 ? part.reverse() : part)))
}

export function isGuid(text: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)
}
