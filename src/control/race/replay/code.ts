// Texts of TypeScript. Names of resources and clients are chosen by strangers, so every one of them goes through `quoted`.

/** A call of the program's own `send`. Values are expressions, unless their name says otherwise. */
export type Call = {
  readonly client: string
  readonly service: 'blob' | 'queue' | 'table' | 'file'
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string | undefined
}

/** A literal, in the quotes that it does not contain. */
export function quoted(text: string): string {
  const literal = JSON.stringify(text).replaceAll(/[\u2028\u2029]/g, escaped)
  if (text.includes("'") && !text.includes('"')) return literal
  return `'${literal.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

function escaped(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16)}`
}

/** On as many lines as it needs. */
export function callText(call: Call, indent = ''): string {
  const { client, service, method, target, headers, body } = call
  const values = [
    ...[client, service, method].map(quoted),
    target,
    ...(headers.length > 0 || body !== undefined ? [headersText(headers)] : []),
    ...(body === undefined ? [] : [body]),
  ]
  const line = `send(${values.join(', ')})`
  if (indent.length + line.length < LINE_MAX - AROUND) return line
  return ['send(', ...values.map((value) => `${indent}  ${value},`), `${indent})`].join('\n')
}

function headersText(headers: Call['headers']): string {
  if (headers.length === 0) return '{}'
  return `{ ${headers.map(([name, value]) => `${nameText(name)}: ${value}`).join(', ')} }`
}

function nameText(name: string): string {
  return /^[a-z]+$/.test(name) ? name : quoted(name)
}

/** `const answer1 = await `, and a comma. */
const AROUND = 22
const LINE_MAX = 98

/** A comment of as many lines as it needs. */
export function comment(text: string): readonly string[] {
  const lines: string[] = []
  let line = '//'
  for (const word of text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ').split(/ +/)) {
    if (line.length + word.length >= LINE_MAX && line !== '//') {
      lines.push(line)
      line = '//'
    }
    line += ` ${word}`
  }
  return [...lines, line]
}
