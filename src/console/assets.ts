// The files of the console. In a clone: the modules and style sheets of the page, and the libraries that it uses; in the
// package, scripts/console.mjs has joined and compressed them. All names are in a table that is made once, so no path of a
// request ever reaches the disk.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { withoutTypes } from './without-types.ts'

export type Asset = {
  readonly type: string
  /** In quotes. */
  readonly etag: string
  readonly bytes: Buffer
  readonly gzipped: Buffer
  /** Smaller, but takes too long to be made while somebody waits. */
  readonly brotli?: Buffer
  readonly headers?: readonly string[]
}

export type Assets = {
  /** Below /console/. */
  readonly names: readonly string[]
  get(name: string): Promise<Asset | undefined>
}

const HERE = fileURLToPath(new URL('.', import.meta.url))
/** `.ts` in a clone, `.js` in the package. */
export const EXTENSION = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
const IS_BUILT = EXTENSION === '.js'

/** What the browser's import map knows: the package, and the file beside its main one that browsers load. */
const VENDORED: readonly { specifier: string; file: string; name: string; after?: string }[] = [
  { specifier: 'preact', file: 'preact.module.js', name: 'preact.js' },
  { specifier: 'preact/hooks', file: 'hooks.module.js', name: 'preact-hooks.js' },
  { specifier: '@preact/signals', file: 'signals.module.js', name: 'signals.js' },
  { specifier: '@preact/signals-core', file: 'signals-core.module.js', name: 'signals-core.js' },
  { specifier: 'htm', file: 'htm.module.js', name: 'htm.js' },
  // The module is not minified, and twice as large as this script for pages without modules.
  { specifier: 'uplot', file: 'uPlot.iife.min.js', name: 'uplot.js', after: '\nexport default uPlot\n' }, // prettier-ignore
]

/** Bare names of modules to their URLs, in a clone. */
export const IMPORT_MAP: Readonly<Record<string, string>> | undefined = IS_BUILT
  ? undefined
  : Object.fromEntries(
      VENDORED.map(({ specifier, name }) => [specifier, `/console/vendor/${name}`]),
    )

const TYPES: Readonly<Record<string, string>> = {
  '.ts': 'text/javascript; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

type Source = { readonly path: string; readonly after?: string }

export function openAssets(): Assets {
  const sources = new Map([...ownSources(), ...(IS_BUILT ? [] : vendoredSources())])
  const made = new Map<string, { readonly changedMs: number; readonly asset: Asset }>()
  return {
    names: [...sources.keys()],
    async get(name) {
      const source = sources.get(name)
      if (source === undefined) return undefined
      // In a clone, a file may have changed.
      const changedMs = statSync(source.path).mtimeMs
      const known = made.get(name)
      if (known?.changedMs === changedMs) return known.asset
      const asset = await readAsset(source)
      made.set(name, { changedMs, asset })
      return asset
    },
  }
}

function* ownSources(): Generator<readonly [string, Source]> {
  for (const folder of IS_BUILT ? ['page'] : ['page', 'browse']) {
    for (const entry of readdirSync(join(HERE, folder), { recursive: true, encoding: 'utf8' })) {
      const path = join(HERE, folder, entry)
      if (isServed(entry)) yield [`${folder}/${entry.replaceAll('\\', '/')}`, { path }]
    }
  }
}

function isServed(name: string): boolean {
  return !/\.(test|d)\.ts$/.test(name) && TYPES[extensionOf(name)] !== undefined
}

function* vendoredSources(): Generator<readonly [string, Source]> {
  const { resolve } = createRequire(import.meta.url)
  for (const { specifier, file, name, after } of VENDORED) {
    const path = join(dirname(resolve(specifier)), file)
    yield [`vendor/${name}`, { path, ...(after !== undefined && { after }) }]
  }
  yield ['vendor/uplot.css', { path: join(dirname(resolve('uplot')), 'uPlot.min.css') }]
}

async function readAsset({ path, after = '' }: Source): Promise<Asset> {
  // Maps of sources are not served.
  const text = readFileSync(path, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n') + after
  const code = path.endsWith('.ts') ? await withoutTypes(text) : text
  const asset = assetOf(TYPES[extensionOf(path)] ?? '', Buffer.from(code))
  const brotli = `${path}.br`
  return existsSync(brotli) ? { ...asset, brotli: readFileSync(brotli) } : asset
}

export function assetOf(type: string, bytes: Buffer, headers: readonly string[] = []): Asset {
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  return { type, etag: `"${hash}"`, bytes, gzipped: gzipSync(bytes, { level: 9 }), headers }
}

function extensionOf(name: string): string {
  return name.slice(name.lastIndexOf('.'))
}
