// What all generated tests begin and end with.

export const PROGRAM_START = `import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { startServer, type LazuliServer } from 'lazuli'
`

export const PROGRAM_END = `
type Service = 'blob' | 'queue' | 'table' | 'file'
type Answer = { readonly etag: string; readonly text: string }

/** Sends requests as one of several clients. A header names the client, so that the server can tell them apart. */
function sendTo(server: LazuliServer) {
  const sas = accountSas(server.connectionString)
  return async (
    client: string,
    service: Service,
    method: string,
    target: string,
    headers: Readonly<Record<string, string>> = {},
    body?: string,
  ): Promise<Answer> => {
    const json =
      service === 'table' ? { accept: 'application/json', 'content-type': 'application/json' } : {}
    const answer = await fetch(
      \`\${server[\`\${service}Endpoint\`]}\${target}\${target.includes('?') ? '&' : '?'}\${sas}\`,
      {
        method,
        headers: { 'x-ms-version': '2024-11-04', 'x-lazuli-client': client, ...json, ...headers },
        ...(body !== undefined && { body }),
      },
    )
    const text = await answer.text()
    assert(answer.ok || client !== 'set-up', \`\${method} \${target}: \${answer.status} \${text}\`)
    return { etag: answer.headers.get('etag') ?? '', text }
  }
}

/** The id and the receipt of the message in an answer, as Delete Message and Update Message want them. */
function messageIn({ text }: Answer): string {
  const field = (name: string): string => new RegExp(\`<\${name}>(.*?)</\${name}>\`).exec(text)?.[1] ?? ''
  return \`\${field('MessageId')}?popreceipt=\${encodeURIComponent(field('PopReceipt'))}\`
}

/** A shared access signature that allows everything, so that requests need no signatures of their own. */
function accountSas(connectionString: string): string {
  const part = (name: string): string => new RegExp(\`\${name}=([^;]+)\`).exec(connectionString)?.[1] ?? ''
  const [permissions, expiry, version] = ['rwdlacup', '2999-01-01T00:00:00Z', '2018-11-09']
  const fields = [part('AccountName'), permissions, 'bqtf', 'sco', '', expiry, '', '', version, '']
  const key = Buffer.from(part('AccountKey'), 'base64')
  const signature = createHmac('sha256', key).update(fields.join('\\n')).digest('base64')
  return new URLSearchParams({
    sv: version, ss: 'bqtf', srt: 'sco', sp: permissions, se: expiry, sig: signature,
  }).toString()
}
`
