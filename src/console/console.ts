// The console: a page on the admin port that shows and steers the server, and the documentation. This side only hands out
// files; the page gets all its data from the JSON API, which checks access. The files say nothing about the data, so anyone
// may load them.
import type { Exchange } from '../http/protocol/exchange.ts'
import { openAssets, type Asset } from './assets.ts'
import type { Docs } from './docs/docs.ts'
import { openDocument } from './document.ts'

export type ConsoleHandler = (exchange: Exchange) => Promise<void>

export function consoleHandler(): ConsoleHandler {
  const assets = openAssets()
  const document = openDocument(assets)
  let docs: Promise<Docs> | undefined
  const found = async (path: string): Promise<Asset | undefined> => {
    if (!isDocs(path)) return assets.get(path.replace(/^\/console\//, ''))
    docs ??= import('./docs/docs.ts').then(({ openDocs }) => openDocs())
    return (await docs).get(path)
  }
  return async (exchange) => {
    const { method, target } = exchange.head
    const path = target.split('?', 1)[0] ?? ''
    const asset = path === '/' ? await document() : await found(path)
    if (asset === undefined) answerText(exchange, 404, NOT_FOUND)
    else if (method !== 'GET' && method !== 'HEAD')
      answerText(exchange, 405, 'Only GET and HEAD are allowed.', ['Allow', 'GET, HEAD'])
    else answerAsset(exchange, asset)
  }
}

const NOT_FOUND = 'Not found. The console is at /, the documentation at /docs/'

function isDocs(path: string): boolean {
  return path === '/docs' || path.startsWith('/docs/')
}

const SAFE = [
  'X-Content-Type-Options',
  'nosniff',
  'Referrer-Policy',
  'no-referrer',
  'Cross-Origin-Opener-Policy',
  'same-origin',
  'Cross-Origin-Resource-Policy',
  'same-origin',
]

/** As HTTP names them, the best first. */
const NAMES = { brotli: 'br', gzipped: 'gzip' } as const
const ENCODINGS = ['brotli', 'gzipped'] as const

function answerAsset(exchange: Exchange, asset: Asset): void {
  const { type, etag, headers = [] } = asset
  const sent = exchange.head.headers
  // The page may be of another version after a restart, so browsers ask each time; mostly the answer is 304.
  const common = ['ETag', etag, 'Cache-Control', 'no-cache', 'Vary', 'Accept-Encoding', ...SAFE]
  common.push(...headers)
  if (tagsOf(sent['if-none-match']).includes(etag)) return exchange.answer(304, [common])
  const coding = ENCODINGS.find(
    (each) => asset[each] && accepts(sent['accept-encoding'], NAMES[each]),
  )
  const body = (coding && asset[coding]) ?? asset.bytes
  common.push('Content-Type', type, 'Content-Length', String(body.length))
  if (coding !== undefined) common.push('Content-Encoding', NAMES[coding])
  exchange.answer(200, [common], exchange.head.method === 'HEAD' ? undefined : body)
}

function tagsOf(text = ''): readonly string[] {
  return text.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
}

function accepts(header: string | readonly string[] | undefined, name: string): boolean {
  const offers = String(header ?? '').split(',')
  return offers.some((offer) => {
    const [own = '', ...terms] = offer.split(';').map((part) => part.trim().toLowerCase())
    return own === name && !terms.some((term) => /^q=0(\.0*)?$/.test(term))
  })
}

function answerText(
  exchange: Exchange,
  status: number,
  text: string,
  more: readonly string[] = [],
): void {
  const bytes = Buffer.from(`${text}\n`)
  const headers = ['Content-Type', 'text/plain; charset=utf-8', 'Cache-Control', 'no-store']
  headers.push('Content-Length', String(bytes.length), ...SAFE, ...more)
  exchange.answer(status, [headers], exchange.head.method === 'HEAD' ? undefined : bytes)
}
