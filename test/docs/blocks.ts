// The blocks of code in a page of Markdown, with the marks behind their language:
//   preamble        begins every program of the page
//   fragment        is part of a program: only its syntax is checked
//   run             is run on a page without a preamble, where blocks are otherwise only parsed
//   needs A,B       is run where the programs A and B are installed (with a dot: modules of Python)
//   not run: WHY    is not checked
import assert from 'node:assert/strict'

export type Block = {
  /** The heading above it. */
  readonly heading: string
  /** Of its first line of text. */
  readonly line: number
  readonly language: Language
  readonly kind: 'plain' | 'preamble' | 'fragment' | 'run' | 'skipped'
  readonly needs: readonly string[]
  readonly text: string
}

export type Language = 'ts' | 'js' | 'sh' | 'python' | 'json' | 'yaml'

/** Blocks in other languages, and without one, are not programs. */
const LANGUAGES: Readonly<Record<string, Language>> = {
  ts: 'ts', typescript: 'ts', js: 'js', mjs: 'js', javascript: 'js', sh: 'sh', bash: 'sh', shell: 'sh',
  python: 'python', py: 'python', json: 'json', yaml: 'yaml', yml: 'yaml',
} // prettier-ignore

/** A heading, or a block, which may be part of a list. */
const PART = /^#+ (.+)$|^( *)```(\S*)([^\n]*)\n([^]*?)^ *```$/gm
const MARK = /^(?<kind>preamble|fragment|run)?\s*(?:needs (?<needs>[\w.,-]+))?$/

export function blocksOf(name: string, page: string): readonly Block[] {
  const blocks: Block[] = []
  let heading = ''
  for (const match of page.matchAll(PART)) {
    const [, title, indent = '', word = '', mark = '', text = ''] = match
    if (title !== undefined) heading = title
    const language = LANGUAGES[word]
    if (language === undefined) continue
    const line = page.slice(0, match.index).split('\n').length + 1
    const lines = text.split('\n').map((each) => each.replace(indent, ''))
    blocks.push({
      heading,
      line,
      language,
      text: lines.join('\n'),
      ...decodeMark(mark.trim(), `${name}:${line}`),
    })
  }
  return blocks
}

function decodeMark(mark: string, place: string): Pick<Block, 'kind' | 'needs'> {
  if (/^not run: \S/.test(mark)) return { kind: 'skipped', needs: [] }
  const groups = MARK.exec(mark)?.groups
  assert(groups !== undefined, `${place}: test/docs/blocks.ts does not know the mark "${mark}"`)
  const { kind = 'plain', needs } = groups
  assert(kind === 'plain' || kind === 'preamble' || kind === 'fragment' || kind === 'run')
  return { kind, needs: needs?.split(',') ?? [] }
}
