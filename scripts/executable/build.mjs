// Builds the single executable for this machine, build/lazuli-<platform>-<arch>, or in the folder that is given. It is Node
// with the package and its dependencies inside (https://nodejs.org/api/single-executable-applications.html). start.cjs
// unpacks them once.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'postject'
import { compileInto } from '../compile.mjs'

const target = resolve(process.argv[2] ?? 'build')
const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
process.chdir(root)

/** The mark in Node's binary that is changed when a program is put inside. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
/** Of dependencies: sources, types, tests and documentation. */
const LEFT_OUT =
  /\.(?:[cm]?ts|map|md|markdown|flow|h|cc?|cpp|gypi?)$|\/(?:tests?|docs?|examples?)\//

const draft = join(target, 'draft')
rmSync(draft, { recursive: true, force: true })
mkdirSync(draft, { recursive: true })
const compiled = join(draft, 'dist')
compileInto(compiled, '--declaration', 'false')

/** By the names that they have when they are unpacked. */
const files = {
  'package.json': 'package.json',
  LICENSE: 'LICENSE',
  'run.cjs': 'scripts/executable/run.cjs',
}
for (const name of globSync(['*.md', '{docs,examples}/**/*'], { exclude: isLeftAlone }))
  add(name, name)
for (const name of globSync('**/*', { cwd: compiled })) add(`dist/${name}`, join(compiled, name))
for (const folder of productionPackages()) {
  const inside = globSync('**/*', { cwd: folder, exclude: (name) => name === 'node_modules' })
  for (const name of inside.map((each) => join(folder, each))) {
    if (!LEFT_OUT.test(name)) add(name, name)
  }
}

const [id, config, blob] = ['id', 'config.json', 'blob'].map((name) => join(draft, name))
writeFileSync(id, idOfFiles())
writeFileSync(
  config,
  JSON.stringify({
    main: 'scripts/executable/start.cjs',
    output: blob,
    disableExperimentalSEAWarning: true,
    assets: { ...files, id },
  }),
)
execFileSync(process.execPath, ['--experimental-sea-config', config], { stdio: 'pipe' })
const executable = join(target, `lazuli-${process.platform}-${process.arch}`)
rmSync(executable, { force: true })
copyFileSync(process.execPath, executable)
chmodSync(executable, 0o755)
await inject(executable, 'NODE_SEA_BLOB', readFileSync(blob), { sentinelFuse: FUSE })
rmSync(draft, { recursive: true })
const mebibytes = Math.round(statSync(executable).size / 2 ** 20)
console.log(`${executable}: ${mebibytes} MiB, ${Object.keys(files).length} files`)

function isLeftAlone(name) {
  return name === 'node_modules'
}

function add(name, path) {
  if (statSync(path).isFile()) files[name] = path
}

/**
 * The folders of the dependencies and of their dependencies, relative to the root. Without the workspace, which installs
 * Node: the executable is Node already.
 */
function productionPackages() {
  const listed = execFileSync(
    'npm',
    ['ls', '--omit=dev', '--all', '--parseable', '--workspaces=false'],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  )
  const folders = listed.split('\n').map((folder) => relative(root, folder.trim()))
  return folders.filter((folder) => folder.startsWith('node_modules'))
}

/** Names the folder into which the files are unpacked: each version has one of its own. */
function idOfFiles() {
  const hash = createHash('sha256')
  for (const [name, path] of Object.entries(files))
    hash.update(`${name}\0`).update(readFileSync(path))
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  return `${version}-${hash.digest('hex').slice(0, 16)}`
}
