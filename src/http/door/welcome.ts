// What somebody sees who opens the address of a service in a browser: what this is, and where the console is. Clients of
// the API never get it: they send an account, a query or credentials, or accept something else than HTML.
import type { Accounts } from '../../storage/shared/account.ts'
import type { HostRule } from '../protocol/allowed-host.ts'
import type { Exchange, RequestHandler } from '../protocol/exchange.ts'
import { xmlEscape } from '../protocol/xml.ts'

export type Welcome = {
  /** "Blob" */
  readonly title: string
  readonly accounts: Accounts
  readonly acceptsHost: HostRule
  /** undefined if there is no admin port, or not yet. */
  consoleUrl(): string | undefined
}

export function withWelcome(handler: RequestHandler, welcome: Welcome): RequestHandler {
  return {
    ...handler,
    handle: (exchange) =>
      isBrowserAtRoot(exchange, welcome) ? answer(exchange, welcome) : handler.handle(exchange),
  }
}

function isBrowserAtRoot(exchange: Exchange, { accounts, acceptsHost }: Welcome): boolean {
  const { method, target, headers } = exchange.head
  if (target !== '/' || (method !== 'GET' && method !== 'HEAD')) return false
  if (!/\btext\/html\b/.test(headers.accept ?? '')) return false
  const isApi = Object.keys(headers).some((name) => name.startsWith('x-ms-'))
  if (isApi || headers.authorization !== undefined || headers.host === undefined) return false
  // http://account.blob.localhost/ is the root of an account.
  if (accounts.get(headers.host.split('.', 1)[0] ?? '') !== undefined) return false
  return !exchange.onLoopback || acceptsHost(headers.host)
}

/** The page needs nothing: no script, no style, no image, and no frame around it. */
const SECURITY = [
  'Content-Security-Policy', "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options', 'nosniff',
  'Referrer-Policy', 'no-referrer',
  'Cache-Control', 'no-store',
] // prettier-ignore

async function answer(exchange: Exchange, { title, consoleUrl }: Welcome): Promise<void> {
  const page = Buffer.from(pageOf(title, consoleUrl()))
  const headers = [
    'Content-Type',
    'text/html; charset=utf-8',
    'Content-Length',
    String(page.length),
  ]
  if (exchange.head.method === 'HEAD') exchange.answer(200, [headers, SECURITY])
  else exchange.answer(200, [headers, SECURITY], page)
}

function pageOf(title: string, consoleUrl: string | undefined): string {
  const url = consoleUrl === undefined ? undefined : xmlEscape(consoleUrl)
  const link = `<p>People use the console: <a href="${url}/">${url}/</a></p>\n`
  return (
    '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n' +
    `<title>Lazuli: ${title} service</title>\n` +
    `<h1>Lazuli</h1>\n<p>This is the ${title} service of Azure Storage, for programs that use its API.</p>\n` +
    (url === undefined ? '' : link) +
    '</html>\n'
  )
}
