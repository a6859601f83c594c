// Block ids: up to 64 bytes that the client chooses, in base64 on the wire and in our keys.

/** Before encoding. */
export const BLOCK_ID_BYTES_MAX = 64

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * The canonical base64 of an id, with the unused bits of the last character cleared. Undefined if it isn't
 * base64.
 */
export function canonicalBlockId(text: string): string | undefined {
  if (text === '' || !BASE64.test(text)) return undefined
  return text.endsWith('=') ? Buffer.from(text, 'base64').toString('base64') : text
}

/** The number of bytes in a canonical id. */
export function blockIdBytes(id: string): number {
  const padding = id.endsWith('==') ? 2 : id.endsWith('=') ? 1 : 0
  return (id.length / 4) * 3 - padding
}
