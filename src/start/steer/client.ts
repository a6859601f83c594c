// Asks the admin port of a running server. Whatever goes wrong is one line that says what to do.
import { ControlError } from '../../control/control-error.ts'
import { errorReason, StartError } from '../start-error.ts'
import { wrapText } from '../text-table.ts'

export type AskedServer = { readonly adminUrl: string; readonly token: string | undefined }

export type SteerCall = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below /api/. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export async function askServer(server: AskedServer, call: SteerCall): Promise<unknown> {
  const answer = await send(server, call)
  return decodeJson(server, await answer.text())
}

/** The data of each server-sent event, with its name. */
export async function* eventsOf(
  server: AskedServer,
  call: SteerCall,
  signal: AbortSignal,
): AsyncGenerator<{ readonly name: string; readonly data: unknown }> {
  const answer = await send(server, call, signal)
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of answer.body ?? []) {
    text += decoder.decode(bytes, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1]
      const name = /^event: (.*)$/m.exec(block)?.[1] ?? 'message'
      if (data !== undefined) yield { name, data: decodeJson(server, data) }
    }
  }
}

async function send(
  server: AskedServer,
  { method, path, query = {}, body }: SteerCall,
  signal?: AbortSignal,
): Promise<Response> {
  const { adminUrl, token } = server
  const url = `${adminUrl.replace(/\/+$/, '')}/api/${path}?${new URLSearchParams(query).toString()}`
  const headers = {
    ...(method === 'POST' && { 'Content-Type': 'application/json' }),
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
  }
  let answer: Response
  try {
    const sent = method === 'POST' ? { body: JSON.stringify(body ?? {}) } : {}
    answer = await fetch(url, { method, headers, ...sent, ...(signal && { signal }) })
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    throw new StartError(
      `no server answers at ${adminUrl}: ${errorReason(cause)}; start one, or name its admin port with --adminUrl`,
    )
  }
  if (answer.ok) return answer
  throw refusal(server, answer.status, await answer.text())
}

type Refused = { readonly error?: { readonly field?: string; readonly message?: string } }

function refusal(server: AskedServer, status: number, text: string): Error {
  const { error } = decodeJson(server, text) as Refused
  const message = [error?.field, error?.message ?? `it answers ${status}`].filter(Boolean).join(' ')
  // Races have a paragraph each.
  if (status === 409) return new ControlError(paragraphsOf(message))
  if (status !== 401) return new StartError(message)
  return new StartError(
    `${message}; give the token of ${server.adminUrl} with --controlToken or LAZULI_CONTROL_TOKEN`,
  )
}

const PARAGRAPH_WIDTH = 100

function paragraphsOf(message: string): string {
  return message
    .split('\n')
    .flatMap((line) => wrapText(line, PARAGRAPH_WIDTH))
    .join('\n')
}

function decodeJson({ adminUrl }: AskedServer, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new StartError(
      `what answers at ${adminUrl} is not the admin port of this version of Lazuli; name it with --adminUrl`,
    )
  }
}
