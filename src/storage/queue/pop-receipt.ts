// A pop receipt names a message and the sequence number that its last get or update gave it. So the latest
// one is told from a stale one without a record of its own, and from another message's. Opaque to clients: the
// base64 of '{sequence}:{message id}'.

export type PopReceipt = { readonly messageId: string; readonly sequence: number }

const PLAIN = /^(0|[1-9]\d{0,15}):([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/

export function encodePopReceipt({ messageId, sequence }: PopReceipt): string {
  return Buffer.from(`${sequence}:${messageId}`, 'latin1').toString('base64')
}

/** undefined for a text that no message of any queue has ever had. */
export function decodePopReceipt(text: string): PopReceipt | undefined {
  const bytes = Buffer.from(text, 'base64')
  const [, sequence, messageId] = PLAIN.exec(bytes.toString('latin1')) ?? []
  if (messageId === undefined || bytes.toString('base64') !== text) return undefined
  return Number.isSafeInteger(Number(sequence))
    ? { messageId, sequence: Number(sequence) }
    : undefined
}
