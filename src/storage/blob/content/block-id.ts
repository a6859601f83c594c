// Block ids: up to 64 bytes of the client's choice, on the wire and in our keys as base64.

/** Before encoding. */
export const BLOCK_ID_BYTES_MAX = 64

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** The one base64 form of an id: spare bits of its last character don't count. Undefined if it is none. */
export function canonicalBlockId(text: string): string | undefined {
  if (text === '' || !BASE64.test(text)) return undefined
  return text.endsWith('=') ? Buffer.from(text, 'base64').toString('base64') : text
}

/** How many bytes a canonical id encodes. */
export function blockIdBytes(id: string): number {
  const padding = id.endsWith('==') ? 2 : id.endsWith('=') ? 1 : 0
  return (id.length / 4) * 3 - padding
}
