// The one HTML document of the console, with the policy that keeps it from running or loading anything that is not ours.
import { createHash } from 'node:crypto'
import { assetOf, EXTENSION, IMPORT_MAP, type Asset, type Assets } from './assets.ts'

const MAP = IMPORT_MAP && JSON.stringify({ imports: IMPORT_MAP })
const MAP_HASH = MAP && ` 'sha256-${createHash('sha256').update(MAP).digest('base64')}'`

const POLICY = [
  "default-src 'none'",
  `script-src 'self'${MAP_HASH ?? ''}`,
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** Made at the first request. */
export function openDocument(assets: Assets): () => Promise<Asset> {
  let made: Asset | undefined
  return async () => {
    made ??= assetOf('text/html; charset=utf-8', Buffer.from(htmlOf(assets.names)), [
      'Content-Security-Policy',
      POLICY,
    ])
    return made
  }
}

function htmlOf(names: readonly string[]): string {
  const sheets = names.filter((name) => name.endsWith('.css')).sort()
  // Otherwise, the browser would find them one import after another.
  const modules = names.filter((name) => name.endsWith('.js') || name.endsWith(EXTENSION))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Lazuli</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="/console/page/icon.svg">
${sheets.map((name) => `<link rel="stylesheet" href="/console/${name}">`).join('\n')}
${MAP === undefined ? '' : `<script type="importmap">${MAP}</script>`}
${modules.map((name) => `<link rel="modulepreload" href="/console/${name}">`).join('\n')}
<script type="module" src="/console/page/main${EXTENSION}"></script>
</head>
<body><noscript>The console needs JavaScript. What it shows is also at /api/openapi.json.</noscript></body>
</html>
`
}
