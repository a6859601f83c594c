// What clients write. A value names itself and its length, `3.17.64`: the bytes are the name, repeated. So every byte that is
// read tells which write it comes from, and a torn one shows. A content is a list of values, separated by spaces.

/** The length is the last part of its name. */
export function lengthOf(content: string): number {
  return listOf(content).reduce((sum, value) => sum + lengthOfValue(value), 0)
}

export function listOf(content: string): readonly string[] {
  return content === '' ? [] : content.split(' ')
}

function lengthOfValue(value: string): number {
  const length = Number(value.slice(value.lastIndexOf('.') + 1))
  return Number.isSafeInteger(length) && length > 0 && length <= LENGTH_MAX ? length : 0
}

const LENGTH_MAX = 1 << 22

export function bytesOf(content: string): Buffer {
  return Buffer.concat(
    listOf(content).map((value) => Buffer.alloc(lengthOfValue(value), `${value} `, 'latin1')),
  )
}

/** The content whose bytes these are; if they are torn, a text that says where, which no model explains. */
export function contentOf(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  const values: string[] = []
  for (let at = 0; at < text.length;) {
    const end = text.indexOf(' ', at)
    const value = end < 0 ? '' : text.slice(at, end)
    const length = lengthOfValue(value)
    if (length === 0 || text.slice(at, at + length) !== bytesOf(value).toString('latin1'))
      return [...values, `torn@${at}:${encodeURIComponent(text.slice(at, at + 24))}`].join(' ')
    values.push(value)
    at += length
  }
  return values.join(' ')
}
