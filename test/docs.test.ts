// The examples in the docs as readers run them. Every block of TypeScript is a program of its own, which begins with the
// preamble of its page. A block that is marked as a fragment is only part of one; `smbclient` says what a block needs.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cleanUp, run, tempFolder } from './server-process.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PAGES = ['testing.md', 'concurrency.md'] as const
const LIMIT_MS = 180_000
const hasSmbclient = (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'smbclient'))) // prettier-ignore

type Block = { readonly heading: string; readonly mark: string; readonly text: string }

function blocksOf(page: string): readonly Block[] {
  const blocks: Block[] = []
  let heading = page
  for (const [, title, mark = '', text = ''] of page.matchAll(PART)) {
    if (title !== undefined) heading = title
    else blocks.push({ heading, mark: mark.trim(), text })
  }
  return blocks
}

/** A heading, or a block of TypeScript. */
const PART = /^#+ (.+)$|^```ts(.*)\n([^]*?)^```$/gm

/** As the page has it, but with the server of this checkout. */
function programOf(preamble: string, text: string): string {
  return `${preamble}\n${text}\nexport {}\n`.replaceAll("'lazuli'", "'../src/server.ts'")
}

after(cleanUp)
/** A copy of the checkout as far as the programs can see. */
const FOLDER = tempFolder('docs')
for (const name of ['node_modules', 'src', 'examples', 'tsconfig.json', 'package.json'])
  symlinkSync(join(ROOT, name), join(FOLDER, name))
mkdirSync(join(FOLDER, 'docs'))

for (const page of PAGES) {
  const blocks = blocksOf(readFileSync(join(ROOT, 'docs', page), 'utf8'))
  const preamble = blocks.find(({ mark }) => mark === 'preamble')?.text ?? ''
  describe(`docs/${page}`, () => {
    test('marks every block that is not a program', () => {
      const marks = blocks.map(({ mark }) => mark)
      assert.deepEqual(marks.filter((mark) => !['', 'smbclient', 'preamble', 'fragment'].includes(mark)), []) // prettier-ignore
      assert.equal(marks.filter((mark) => mark === 'preamble').length, 1)
      assert(marks.filter((mark) => mark === '').length > 5)
    })

    for (const [index, { heading, mark, text }] of blocks.entries()) {
      if (mark === 'preamble' || mark === 'fragment') continue
      const skip = mark === 'smbclient' && !hasSmbclient && 'smbclient is not installed'
      const file = join(FOLDER, 'docs', `${page.replace('.md', '')}-${index + 1}.ts`)
      writeFileSync(file, programOf(preamble, text))
      test(`${heading} (block ${index + 1})`, { skip, timeout: LIMIT_MS }, async () => {
        const ended = await run({ program: [process.execPath], args: [file], cwd: FOLDER })
        assert.deepEqual([ended.code, ended.stderr], [0, ''])
      })
    }
  })
}

test('the types of all programs are right', { timeout: LIMIT_MS }, async () => {
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
