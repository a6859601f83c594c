// Decodes server-sent events (HTML Living Standard, 9.2.6) from the pieces of a body. EventSource does the same, but can't
// send a token.

export type ServerEvent = {
  readonly id: string | undefined
  readonly event: string
  readonly data: string
}

/** Takes the pieces of the text in order, and returns the events that each completes. */
export function eventDecoder(): (piece: string) => readonly ServerEvent[] {
  let rest = ''
  return (piece) => {
    const blocks = (rest + piece).replaceAll('\r\n', '\n').split('\n\n')
    rest = blocks.pop() ?? ''
    return blocks.flatMap((block) => decode(block) ?? [])
  }
}

function decode(block: string): ServerEvent | undefined {
  let id: string | undefined
  let event = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'id') id = value
    else if (name === 'event') event = value
    else if (name === 'data') data.push(value)
  }
  return data.length === 0 ? undefined : { id, event, data: data.join('\n') }
}
