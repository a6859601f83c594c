// A pop receipt contains the id of a message and the sequence number that its last get or update assigned. So a
// stale receipt, or that of another message, is recognized without a separate record. Opaque to clients: the
// base64 of '{sequence}:{message id}'.

export type PopReceipt = { readonly messageId: string; readonly sequence: number }

const PLAIN = /^(0|[1-9]\d{0,15}):([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/

export function encodePopReceipt({ messageId, sequence }: PopReceipt): string {
  return Buffer.from(`${sequence}:${messageId}`, 'latin1').toString('base64')
}

/** Undefined for a text that can't be a receipt of any message. */
export function decodePopReceipt(text: string): PopReceipt | undefined {
  const bytes = Buffer.from(text, 'base64')
  const [, sequence, messageId] = PLAIN.exec(bytes.toString('latin1')) ?? []
  if (messageId === undefined || bytes.toString('base64') !== text) return undefined
  return Number.isSafeInteger(Number(sequence))
    ? { messageId, sequence: Number(sequence) }
    : undefined
}
