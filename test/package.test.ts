// The published package, installed as a user installs it and run by users' versions of Node: the oldest supported one,
// if this machine has it, and the one that Lazuli is developed with.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { rawRequest, xmlTexts } from './harness.ts'
import { copyExampleProjects, EXAMPLE_PROJECTS } from './package/example-projects.ts'
import { OLD_TYPE_PROJECTS, TYPE_PROJECTS, type TypeProject } from './package/type-projects.ts'
import {
  cleanUp,
  createContainer,
  getBlob,
  putBlob,
  run,
  startServerProcess,
  stop,
  tempFolder,
  type Ended,
} from './server-process.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOLDER = tempFolder('package')
const APP = join(FOLDER, 'app')
const BIN = join(APP, 'node_modules', '.bin')

after(cleanUp)

type Packed = { readonly filename: string; readonly files: readonly { readonly path: string }[] }

function isPacked(value: unknown): value is readonly [Packed] {
  return Array.isArray(value) && value.length === 1
}

/** Runs npm in a folder outside of this checkout. */
function npm(cwd: string, ...args: string[]): Promise<Ended> {
  return run({ program: ['npm'], args, cwd })
}

async function pack(): Promise<Packed> {
  const ended = await npm(ROOT, 'pack', '--json', '--pack-destination', FOLDER)
  assert.equal(ended.code, 0, ended.stderr)
  const packed: unknown = JSON.parse(ended.stdout.slice(ended.stdout.indexOf('[')))
  assert(isPacked(packed))
  return packed[0]
}

const OFFLINE = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED|E50\d/
// By default, npm tries for more than a minute to reach a registry that is not there.
const RETRIES = [
  '--fetch-retries=2',
  '--fetch-retry-mintimeout=500',
  '--fetch-retry-maxtimeout=2000',
]
const INSTALL_QUIETLY = [
  '--ignore-scripts=false',
  '--prefer-offline',
  '--no-audit',
  '--no-fund',
  ...RETRIES,
]

/** Installs the package; returns the reason if that is impossible. */
async function install(tarball: string): Promise<string | undefined> {
  mkdirSync(APP)
  writeFileSync(join(APP, 'package.json'), '{ "type": "module", "private": true }')
  const ended = await npm(APP, 'install', '--omit=dev', ...INSTALL_QUIETLY, tarball)
  return offlineReason(ended)
}

/** undefined if npm has installed everything; fails if it could not for another reason. */
function offlineReason({ code, stderr }: Ended): string | undefined {
  if (code === 0) return undefined
  const offline = OFFLINE.exec(stderr)
  assert(offline !== null, stderr)
  return `the npm registry can't be reached (${offline[0]})`
}

const packed = await pack()
const missing = await install(join(FOLDER, packed.filename))

test('the tarball holds the compiled program and the documentation, and no sources or tests', () => {
  const paths = packed.files.map(({ path }) => path)
  const isServed = (path: string) =>
    /^dist\/console\/(page\/(main\.css|.*\.br|icon\.svg)|docs\/style\.css)$|^(docs|examples)\//.test(
      path,
    )
  const besides = paths.filter((path) => !/^dist\/.*\.js$/.test(path) && !isServed(path)).toSorted()
  const pages = ['ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md'] // prettier-ignore
  const library = ['dist/server.cjs', 'dist/server.d.cts', 'dist/server.d.ts']
  assert.deepEqual(besides, [...pages, ...library, 'package.json'])
  assert.deepEqual(paths.filter((path) => /^dist\/.*(\.test\.|conformance)/.test(path)), []) // prettier-ignore
  const threads = ['dist/extent/hash/hash-thread.js', 'dist/query/run/query-thread.js']
  const page = ['dist/console/page/main.js', 'dist/console/page/main.css', 'dist/console/docs/style.css', 'docs/README.md'] // prettier-ignore
  for (const path of ['dist/main.js', 'dist/server.js', ...threads, ...page]) {
    assert(paths.includes(path), path)
  }
})

describe('the package is installed', { skip: missing ?? false }, () => {
  test('without a Node of its own, and without a compiler', () => {
    const modules = join(APP, 'node_modules')
    assert(!existsSync(join(modules, 'node')))
    assert(!existsSync(join(modules, 'typescript')))
    for (const name of ['lmdb', 'msgpackr-extract']) {
      assert(!existsSync(join(modules, name, 'build')), `${name} was built`)
    }
  })

  test('as the commands lazuli and azurite', () => {
    const commands = ['azurite', 'azurite-blob', 'azurite-queue', 'azurite-table', 'lazuli']
    assert.deepEqual(commands.filter((name) => !readdirSync(BIN).includes(name)), []) // prettier-ignore
    const { mode } = statSync(join(APP, 'node_modules', 'lazuli', 'dist', 'main.js'))
    assert.equal(mode & 0o111, 0o111)
  })

  for (const project of TYPE_PROJECTS) {
    test(`with types: ${project.name}`, () => checkTypes(APP, ROOT, project))
  }
})

/** The example projects, with what they need from npm: 220 MB. */
describe('the package in projects with', { skip: missing ?? false }, async () => {
  const folder = join(FOLDER, 'examples')
  copyExampleProjects(folder, join(FOLDER, packed.filename))
  const skip = offlineReason(await npm(folder, 'install', ...INSTALL_QUIETLY)) ?? false
  const nodes = [...systemNode(), ...nodeOf(dirname(process.execPath))]
  for (const { name, runsOnOldNode } of EXAMPLE_PROJECTS) {
    for (const { version, folder: bin } of nodes) {
      if (!runsOnOldNode && version !== process.versions.node) continue
      test(`examples/${name} on Node ${version}`, { skip }, async () => {
        const env = { PATH: [bin, process.env.PATH ?? ''].join(delimiter), NO_COLOR: '1' }
        const args = ['test', '--silent']
        const tested = await run({ program: ['npm'], args, cwd: join(folder, name), env })
        assert.equal(tested.code, 0, tested.stdout + tested.stderr)
        assert.match(tested.stdout + tested.stderr, / 5 passed|pass 5\n/)
      })
    }
  }

  for (const project of OLD_TYPE_PROJECTS) {
    test(`with types: ${project.name}`, { skip }, () => checkTypes(folder, folder, project))
  }
})

/** Compiles with the TypeScript of one folder in a project below another, and runs what comes out. */
async function checkTypes(app: string, compiler: string, project: TypeProject): Promise<void> {
  const { name, type, file, source, settings } = project
  const folder = join(app, 'types', name.replaceAll(/\W+/g, '-'))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type, private: true }))
  writeFileSync(join(folder, file), source)
  const tsc = join(compiler, 'node_modules', 'typescript', 'bin', 'tsc')
  // The types need no others, and no skipLibCheck.
  const compilerOptions = { strict: true, target: 'es2022', types: [], ...settings }
  const tsconfig = JSON.stringify({ compilerOptions, files: [file] })
  writeFileSync(join(folder, 'tsconfig.json'), tsconfig)
  const ended = await run({ program: [process.execPath, tsc], args: ['-p', '.'], cwd: folder })
  assert.deepEqual([ended.stdout, ended.code], ['', 0])
  if (settings['noEmit'] === true) return
  const emitted = file.replace(/ts$/, 'js')
  const ran = await run({ program: [process.execPath], args: [emitted], cwd: folder })
  assert.deepEqual([ran.stdout, ran.stderr, ran.code], ['closed\n', '', 0])
}

for (const { version, folder } of [systemNode(), nodeOf(dirname(process.execPath))].flat()) {
  const path = [folder, process.env.PATH ?? ''].join(delimiter)
  describe(`with Node ${version}`, { skip: missing ?? false }, () => {
    test('npx lazuli --version', async () => {
      const args = ['--no-install', 'lazuli', '--version']
      const ended = await run({ program: ['npx'], args, cwd: APP, env: { PATH: path } })
      assert.match(ended.stdout, /^\d+\.\d+\.\d+\n$/)
      assert.equal(ended.code, 0)
    })

    for (const [command, args] of [
      ['lazuli', ['--inMemoryPersistence']],
      ['azurite', ['--inMemoryPersistence']],
      ['azurite-blob', ['--location', join(FOLDER, `blob-${version}`)]],
      ['azurite', ['--location', join(FOLDER, `all-${version}`)]],
    ] as const) {
      test(`${command} ${args[0]}`, async () => {
        const program = [join(BIN, command)] as const
        const server = await startServerProcess({ program, args, cwd: APP, env: { PATH: path } })
        await checkServes(server)
        const ended = await stop(server)
        assert.deepEqual([ended.code, ended.stderr], [0, ''])
        const at = `127.0.0.1:${server.blobPort}`
        const lines = ended.stdout.split('\n')
        for (const line of LINES[command](at))
          assert(lines.includes(line), `${line}\nin\n${ended.stdout}`)
      })
    }

    for (const [file, first] of [
      ['consumer.mjs', "import { startServer } from 'lazuli'"],
      ['consumer.cjs', "const { startServer } = require('lazuli')"],
    ] as const) {
      test(first, async () => {
        writeFileSync(join(APP, file), `${first}\n${CONSUMER}`)
        const program = [join(folder, 'node')] as const
        const args = [file, join(FOLDER, `${file}-${version}`)]
        const ended = await run({ program, args, cwd: APP })
        assert.match(ended.stdout, /^4\d\d \S*Blob\S*\/.*,4\d\d /)
        assert.deepEqual([ended.code, ended.stderr], [0, ''])
      })
    }
  })
}

/** In memory and in a folder. */
const CONSUMER = `
async function main() {
  const servers = await Promise.all([startServer(), startServer({ location: process.argv[2] })])
  const answers = await Promise.all(servers.map(({ blobEndpoint }) => fetch(blobEndpoint)))
  console.log(answers.map(({ status, headers }) => status + ' ' + headers.get('server')).join())
  for (const server of servers) await server.close()
}
main()`

/** The exact lines that other tools wait for. */
const LINES = {
  lazuli: (at: string) => [`Lazuli Blob service is successfully listening at http://${at}`],
  azurite: (at: string) => [
    `Azurite Blob service is successfully listening at http://${at}`,
    'Azurite Blob service is closing...',
    'Azurite Blob service successfully closed',
  ],
  'azurite-blob': (at: string) => [`Azurite Blob service successfully listens on http://${at}`],
}

/** Writes and reads a small blob, stored in its record, and a large one, stored in an extent. */
async function checkServes(server: { readonly blobPort: number }): Promise<void> {
  assert.equal((await createContainer(server, 'packed')).status, 201)
  for (const lengthBytes of [1_000, 1_000_000]) {
    const body = Buffer.alloc(lengthBytes, 'packed')
    assert.equal((await putBlob(server, '/packed/blob', body)).status, 201)
    assert((await getBlob(server, '/packed/blob')).body.equals(body))
  }
  const list = { method: 'GET', path: '/packed?restype=container&comp=list' }
  assert.deepEqual(xmlTexts((await rawRequest(server, list)).text, 'Name'), ['blob'])
}

type Node = { readonly version: string; readonly folder: string }

function nodeOf(folder: string): readonly Node[] {
  const version = execFileSync(join(folder, 'node'), ['--version'], { encoding: 'utf8' })
  return [{ version: version.trim().slice(1), folder }]
}

/** The Node on this machine's PATH, if it is another version and not too old. */
function systemNode(): readonly Node[] {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const found = folders.find((folder) => {
    return !folder.includes('node_modules') && existsSync(join(folder, 'node'))
  })
  if (found === undefined) return []
  const [node] = nodeOf(found)
  if (node === undefined || Number.parseInt(node.version) < 20) return []
  return node.version === process.versions.node ? [] : [node]
}
