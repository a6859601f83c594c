// The files that the documentation consists of, and their URLs. They are found once, so no path of a request ever reaches
// the disk.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path/posix'

export type DocFile = {
  /** From the root of the repository or of the package. */
  readonly path: string
  /** Of a folder: the names in it, folders with a slash behind them. */
  readonly entries?: readonly string[]
}

export type DocFiles = {
  /** By URL. */
  readonly byUrl: ReadonlyMap<string, DocFile>
  /** undefined: the path is none of the documentation. */
  urlOf(path: string): string | undefined
}

export const INDEX = 'docs/README.md'

/** Pages beside docs/, and what they link to. */
const BESIDE = [
  'README.md',
  'SECURITY.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'LICENSE',
]

/** None if there is no index: an image may leave them out. */
export function findDocFiles(root: string): DocFiles {
  if (!existsSync(join(root, INDEX))) return { byUrl: new Map(), urlOf: () => undefined }
  const there = new Set(readdirSync(root))
  const files = BESIDE.filter((name) => there.has(name)).map((path): DocFile => ({ path }))
  for (const folder of ['docs', 'examples']) {
    if (there.has(folder)) files.push(...filesIn(root, folder))
  }
  const urls = new Map(files.map(({ path }) => [path, urlOfPath(path)]))
  return {
    byUrl: new Map(files.map((file) => [urls.get(file.path) ?? '', file])),
    urlOf: (path) => urls.get(path) ?? urls.get(path.replace(/\/*$/, '/')),
  }
}

/** A folder's path ends with a slash. */
function* filesIn(root: string, folder: string): Generator<DocFile> {
  const entries: string[] = []
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const { name } = entry
    if (name.startsWith('.') || name === 'node_modules') continue
    const path = join(folder, name)
    if (entry.isDirectory()) yield* filesIn(root, path)
    else if (entry.isFile()) yield { path }
    else continue
    entries.push(entry.isDirectory() ? `${name}/` : name)
  }
  yield { path: `${folder}/`, entries: entries.sort() }
}

function urlOfPath(path: string): string {
  if (path === INDEX) return '/docs/'
  const page = path.replace(/\.md$/, '')
  const place = page.startsWith('docs/') ? `/${page}` : `/docs/repository/${page}`
  // The index has the place of the folder.
  return place === '/docs/' ? '/docs/repository/docs/' : encodeURI(place)
}
