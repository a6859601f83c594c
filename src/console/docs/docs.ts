// The documentation as pages of the admin port: the Markdown files of the repository, which the package has, too. A page is
// rendered when somebody asks for it, and has no scripts.
import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { dirname, join } from 'node:path/posix'
import { assetOf, EXTENSION, type Asset } from '../assets.ts'
import { pageOf, type NavGroup } from './document.ts'
import { findDocFiles, INDEX, type DocFile, type DocFiles } from './files.ts'
import { linkGroups, renderMarkdown } from './markdown.ts'

export type Docs = {
  /** By URL. */
  readonly urls: readonly string[]
  get(url: string): Asset | undefined
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const STYLE_URL = '/docs/style.css'
/** The colors of the console, and the pages; in the package, they are one file (scripts/compile.mjs). */
const STYLES = (EXTENSION === '.ts' ? ['../page/style/base.css', 'style.css'] : ['style.css']).map(
  (name) => fileURLToPath(new URL(name, import.meta.url)),
)

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

const IMAGES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  svg: 'image/svg+xml',
}

export function openDocs(root = ROOT): Docs {
  const files = findDocFiles(root)
  const made = new Map<string, { readonly changedMs: number; readonly asset: Asset }>()
  const changedMs = (...paths: readonly string[]): number =>
    Math.max(...paths.map((path) => statSync(path).mtimeMs))
  const cached = (url: string, changed: number, make: () => Asset): Asset => {
    const known = made.get(url)
    if (known?.changedMs === changed) return known.asset
    const asset = make()
    made.set(url, { changedMs: changed, asset })
    return asset
  }
  return {
    urls: [...files.byUrl.keys(), STYLE_URL],
    get(asked) {
      const url = asked === '/docs' ? '/docs/' : asked
      if (url === STYLE_URL) return cached(url, changedMs(...STYLES), styleAsset)
      const file = files.byUrl.get(url)
      if (file === undefined) return undefined
      // In a clone, a page may have changed, and so may the index, from which all pages have their navigation.
      const changed = changedMs(join(root, file.path), join(root, INDEX))
      return cached(url, changed, () => readAsset(root, files, file, url))
    },
  }
}

function styleAsset(): Asset {
  const text = STYLES.map((path) => readFileSync(path, 'utf8')).join('\n')
  return assetOf('text/css; charset=utf-8', Buffer.from(text))
}

function readAsset(root: string, files: DocFiles, file: DocFile, url: string): Asset {
  const image = IMAGES[extensionOf(file.path)]
  if (image !== undefined) return withPolicy(image, readFileSync(join(root, file.path)))
  const text = markdownOf(root, file)
  const { title, html } = renderMarkdown(text, (target) => resolve(files, file.path, target))
  const page = pageOf({ title, html, url, nav: navOf(root, files) })
  return withPolicy('text/html; charset=utf-8', Buffer.from(page))
}

function withPolicy(type: string, bytes: Buffer): Asset {
  return assetOf(type, bytes, ['Content-Security-Policy', POLICY])
}

/** Programs and lists of folders become pages, too. */
function markdownOf(root: string, { path, entries }: DocFile): string {
  if (entries !== undefined) {
    const lines = entries.map((name) => `- [${titleOf(root, path, name)}](<${name}>)`)
    return `# ${path}\n\n${lines.join('\n')}\n`
  }
  const text = readFileSync(join(root, path), 'utf8')
  return path.endsWith('.md') ? text : `# ${path}\n\n${fenced(text, extensionOf(path))}`
}

/** The heading of a page, the name of anything else. */
function titleOf(root: string, folder: string, name: string): string {
  if (!name.endsWith('.md')) return name
  return /^# (.+)$/m.exec(readFileSync(join(root, folder, name), 'utf8'))?.[1] ?? name
}

function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text.trimEnd()}\n${fence}\n`
}

function navOf(root: string, files: DocFiles): readonly NavGroup[] {
  const index = readFileSync(join(root, INDEX), 'utf8')
  return linkGroups(index).map(({ title, links }) => ({
    title,
    links: links.flatMap(({ text, target }) => {
      const url = resolve(files, INDEX, target)
      return url === undefined ? [] : [{ text, url }]
    }),
  }))
}

/** The URL of a link on a page. Links to what is neither on the web nor in the documentation lead nowhere. */
function resolve(files: DocFiles, page: string, target: string): string | undefined {
  if (/^https?:/i.test(target) || target.startsWith('#')) return target
  if (/^[a-z][a-z\d+.-]*:|^\/\//i.test(target)) return undefined
  const [path = '', anchor] = target.split('#', 2)
  const folder = page.endsWith('/') ? page : dirname(page)
  const url = files.urlOf(join(folder, decodeURI(path)))
  return url !== undefined && anchor !== undefined ? `${url}#${anchor}` : url
}

function extensionOf(path: string): string {
  return /\.([a-z\d]+)$/.exec(path)?.[1] ?? ''
}
