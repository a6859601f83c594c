// Texts for people, made of stored bytes: JSON with indents, rows of CSV, and bytes in hexadecimal. Pure.

/** Only blanks change: a number keeps all its digits. undefined: it is not JSON. */
export function prettyJson(text: string): string | undefined {
  try {
    JSON.parse(text)
  } catch {
    return undefined
  }
  let [made, indent] = ['', 0]
  const line = (): string => `\n${'  '.repeat(indent)}`
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]|[,:]|[^\s[\]{},:"]+/g)) {
    if (token === '}' || token === ']') {
      indent -= 1
      made += /[[{]$/.test(made) ? token : line() + token
      continue
    }
    made += /[[{]$/.test(made) ? line() + token : token
    if (token === '{' || token === '[') indent += 1
    else if (token === ',') made += line()
    else if (token === ':') made += ' '
  }
  return made
}

/** RFC 4180, with commas, semicolons or tabs, whichever the first line has most of. */
export function parseCsv(text: string, rowsMax: number): readonly (readonly string[])[] {
  const separator = separatorOf(text)
  const rows: string[][] = []
  let [row, cell, isQuoted]: [string[], string, boolean] = [[], '', false]
  for (let at = 0; at < text.length && rows.length < rowsMax; at += 1) {
    const character = text[at] ?? ''
    if (isQuoted) {
      if (character !== '"') cell += character
      else if (text[at + 1] === '"') [cell, at] = [`${cell}"`, at + 1]
      else isQuoted = false
    } else if (character === '"' && cell === '') isQuoted = true
    else if (character === separator) [row, cell] = [[...row, cell], '']
    else if (character === '\n') {
      rows.push([...row, cell.replace(/\r$/, '')])
      ;[row, cell] = [[], '']
    } else cell += character
  }
  if (rows.length < rowsMax && (cell !== '' || row.length > 0)) rows.push([...row, cell])
  return rows
}

function separatorOf(text: string): string {
  const line = text.split('\n', 1)[0] ?? ''
  const counted = [',', ';', '\t'].map((each) => [each, line.split(each).length] as const)
  return counted.reduce((best, each) => (each[1] > best[1] ? each : best))[0]
}

const PER_LINE = 16

export function hexOf(part: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < part.length; at += PER_LINE) {
    const bytes = [...part.subarray(at, at + PER_LINE)]
    const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const text = bytes
      .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·'))
      .join('')
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(PER_LINE * 3 - 1)}  ${text}`)
  }
  return lines.join('\n')
}
