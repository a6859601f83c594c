// A pop receipt names a message and the sequence number that its last get or update gave it. So the latest
// one is told from a stale one without a record of its own, and from another message's. Opaque to clients:
//
//   16 bytes   the message's id
//    8 bytes   the sequence number, big-endian

export type PopReceipt = { readonly messageId: string; readonly sequence: number }

const LENGTH_BYTES = 24

export function encodePopReceipt({ messageId, sequence }: PopReceipt): string {
  const bytes = Buffer.alloc(LENGTH_BYTES)
  bytes.write(messageId.replaceAll('-', ''), 0, 'hex')
  bytes.writeUInt32BE(Math.floor(sequence / 2 ** 32), 16)
  bytes.writeUInt32BE(sequence % 2 ** 32, 20)
  return bytes.toString('base64')
}

/** undefined for a text that no message of any queue has ever had. */
export function decodePopReceipt(text: string): PopReceipt | undefined {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== LENGTH_BYTES || bytes.toString('base64') !== text) return undefined
  const sequence = Number(bytes.readBigUInt64BE(16))
  if (!Number.isSafeInteger(sequence)) return undefined
  const hex = bytes.toString('hex', 0, 16)
  return { messageId: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'), sequence }
}
