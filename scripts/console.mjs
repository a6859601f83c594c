// Joins and minifies the modules and style sheets of the console for the published package: three small files instead of a
// hundred, compressed already. From a clone, the console serves its sources.
import { buildSync } from 'esbuild'
import { copyFileSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync } from 'node:zlib'

const source = join(dirname(fileURLToPath(import.meta.url)), '../src/console')

const COMMON = { bundle: true, minify: true, write: false, charset: 'utf8', legalComments: 'none' }

/** Writes main.js, main.css and icon.svg into a folder, and what has to be compressed also as .br. */
export function buildConsole(folder) {
  mkdirSync(folder, { recursive: true })
  const script = buildSync({
    ...COMMON,
    entryPoints: [join(source, 'page/main.ts')],
    format: 'esm',
    target: 'es2023',
  })
  const sheets = globSync('{page,browse}/**/*.css', { cwd: source }).toSorted()
  const imports = [...sheets.map((name) => `./${name}`), 'uplot/dist/uPlot.min.css']
  const contents = imports.map((name) => `@import '${name}';`).join('\n')
  const style = buildSync({ ...COMMON, stdin: { contents, resolveDir: source, loader: 'css' } })
  write(join(folder, 'main.js'), script.outputFiles[0].contents)
  write(join(folder, 'main.css'), style.outputFiles[0].contents)
  copyFileSync(join(source, 'page/icon.svg'), join(folder, 'icon.svg'))
}

function write(path, bytes) {
  writeFileSync(path, bytes)
  writeFileSync(`${path}.br`, brotliCompressSync(bytes))
}
