// The examples in the docs as readers run them. A block of a page with a preamble is a program; other programs are marked
// (blocks.ts). All that is not marked as something else is at least parsed. A server of this test takes the place of the
// one at the usual ports.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseDocument } from 'yaml'
import { withoutTypes } from '../../src/console/without-types.ts'
import { startServer, type LazuliServer } from '../../src/server.ts'
import { PYTHON } from '../clients/python-suite.ts'
import { cleanUp, MAIN, run, tempFolder } from '../server-process.ts'
import { blocksOf, type Block, type Language } from './blocks.ts'
import { wrongCommands } from './command-lines.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LIMIT_MS = 180_000
const PAGES = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md'], {
  cwd: ROOT,
  exclude: (name) => name === 'node_modules',
}).sort()

/** A copy of the checkout as far as the programs can see. */
const FOLDER = tempFolder('docs')
const BIN = join(FOLDER, 'bin')
let server: LazuliServer

before(async () => {
  for (const name of ['node_modules', 'src', 'examples', 'tsconfig.json', 'package.json'])
    symlinkSync(join(ROOT, name), join(FOLDER, name))
  mkdirSync(join(FOLDER, 'docs'))
  mkdirSync(BIN)
  for (const name of ['lazuli', 'azurite']) {
    symlinkSync(MAIN, join(FOLDER, name))
    const script = `#!/bin/sh\nexec '${process.execPath}' '${join(FOLDER, name)}' "$@"\n`
    writeFileSync(join(BIN, name), script)
    chmodSync(join(BIN, name), 0o755)
  }
  server = await startServer({ adminPort: 0 })
})
after(async () => {
  await server.close()
  await cleanUp()
})

type Page = {
  readonly name: string
  readonly blocks: readonly Block[]
  readonly preamble: string | undefined
}

const pages = PAGES.map((name): Page => {
  const blocks = blocksOf(name, readFileSync(join(ROOT, name), 'utf8'))
  return { name, blocks, preamble: blocks.find(({ kind }) => kind === 'preamble')?.text }
})

function isRun({ preamble }: Page, { kind, language }: Block): boolean {
  return kind === 'run' || (kind === 'plain' && preamble !== undefined && language === 'ts')
}

/** At the ports of the test's server. */
function withPorts(text: string): string {
  const ports: Readonly<Record<string, number>> = {
    10000: server.blobPort, 10001: server.queuePort, 10002: server.tablePort, 10003: server.filePort,
    10005: server.dfsPort, 10010: Number(new URL(server.adminUrl ?? '').port), 10445: server.smbPort,
  } // prettier-ignore
  return text.replaceAll(/\b(?:1000[0-35]|10010|10445)\b/g, (port) => String(ports[port]))
}

const PARSERS: Readonly<Record<Language, (text: string) => unknown>> = {
  ts: withoutTypes,
  js: withoutTypes,
  json: (text) => JSON.parse(text),
  yaml: (text) => assert.deepEqual(parseDocument(text).errors, []),
  python: (text) => execFileSync(PYTHON, ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'], { input: text }),
  sh: (text) => {
    assert.equal(spawnSync('bash', ['-n'], { input: text }).stderr.toString(), '')
    assert.deepEqual(wrongCommands(text), [])
  },
} // prettier-ignore
const hasPython = spawnSync(PYTHON, ['--version']).status === 0

for (const { name, blocks } of pages) {
  if (blocks.length === 0) continue
  test(`the blocks of ${name} are well-formed`, async () => {
    for (const { kind, language, line, text } of blocks) {
      if (kind === 'skipped' || (language === 'python' && !hasPython)) continue
      try {
        await PARSERS[language](text)
      } catch (error) {
        assert.fail(`${name}:${line}: ${String(error)}`)
      }
    }
  })
}

test('the guides consist of programs', () => {
  for (const name of ['docs/testing.md', 'docs/concurrency.md']) {
    const page = pages.find((each) => each.name === name)
    assert(page !== undefined && page.blocks.filter((block) => isRun(page, block)).length > 5)
  }
})

type Program = {
  readonly name: string
  readonly file: string
  readonly page: Page
  readonly block: Block
}

const programs = pages.flatMap((page) =>
  page.blocks
    .filter((block) => isRun(page, block))
    .map((block): Program => {
      const file = `${page.name.replaceAll(/\W/g, '-')}-${block.line}.${block.language}`
      return { name: `${page.name}:${block.line} ${block.heading}`, file: join(FOLDER, 'docs', file), page, block }
    }),
) // prettier-ignore
const isModule = ({ block: { language } }: Program): boolean =>
  language === 'ts' || language === 'js'

/** As the page has it, but with the server of this checkout. */
function textOf({ page: { preamble = '' }, block: { text } }: Program): string {
  const whole = withPorts(`${preamble}\n${text}\nexport {}\n`)
  return whole.replaceAll("'lazuli'", "'../src/server.ts'")
}

type Outcome = { readonly file: string; readonly error?: string; readonly stderr: string }

describe('programs', () => {
  const outcomes = new Map<string, Outcome>()
  const able = programs.filter((program) => isModule(program) && missing(program) === false)
  before(async () => {
    for (const program of able) writeFileSync(program.file, textOf(program))
    const args = [join(import.meta.dirname, 'run-programs.mjs'), ...able.map(({ file }) => file)]
    const ended = await run({ program: [process.execPath], args, cwd: FOLDER })
    for (const line of ended.stdout.trim().split('\n')) {
      const outcome: Outcome = JSON.parse(line)
      outcomes.set(outcome.file, outcome)
    }
  })
  for (const program of programs.filter(isModule)) {
    test(program.name, { skip: missing(program) }, () => {
      const { error, stderr } = outcomes.get(program.file) ?? { error: 'it did not end' }
      assert.deepEqual([error, stderr], [undefined, ''])
    })
  }

  test('have the right types', { timeout: LIMIT_MS }, async () => {
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
    const settings = {
      extends: '../tsconfig.json',
      compilerOptions: { lib: ['es2023', 'esnext.disposable'], noUnusedLocals: false },
      include: ['*.ts'],
    }
    writeFileSync(join(FOLDER, 'docs', 'tsconfig.json'), JSON.stringify(settings))
    const ended = await run({ program: [process.execPath, tsc], args: ['-p', 'docs'], cwd: FOLDER })
    assert.deepEqual([ended.stdout, ended.code], ['', 0])
  })
})

describe('commands', () => {
  for (const program of programs.filter((each) => !isModule(each))) {
    test(program.name, { skip: missing(program), timeout: LIMIT_MS }, async () => {
      const { language, text } = program.block
      const cwd = tempFolder('docs-command')
      const env = {
        PATH: [BIN, process.env.PATH ?? ''].join(delimiter),
        LAZULI_ADMIN_PORT: withPorts('10010'),
        NO_PROXY: '*',
        no_proxy: '*',
      }
      writeFileSync(program.file, withPorts(text))
      const interpreter: readonly [string, ...string[]] =
        language === 'sh' ? ['bash', '-eu'] : [PYTHON]
      const ended = await run({ program: interpreter, args: [program.file], cwd, env })
      assert.equal(ended.code, 0, ended.stdout + ended.stderr)
    })
  }
})

/** Why a program can't run here. */
function missing({ block: { needs } }: Program): string | false {
  const absent = needs.filter((name) => !(name.includes('.') ? hasModule(name) : isInstalled(name)))
  return absent.length > 0 && `${absent.join(', ')} is not installed`
}

function isInstalled(name: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)))
}

function hasModule(name: string): boolean {
  return spawnSync(PYTHON, ['-c', `import ${name}`]).status === 0
}
