// Joins the declarations that the library's types need into one text without imports. The package has it twice, as
// server.d.ts and server.d.cts: TypeScript takes the first for an ES module and the second for CommonJS, and refuses
// a CommonJS declaration that imports from an ES module. Exported names are unique in src/, so nothing is renamed.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const HEAD = `// The types of Lazuli as a library.
/// <reference lib="esnext.disposable" />
`

/** `entry`: the declarations of the library, written by tsc. */
export function joinDeclarations(entry) {
  const files = new Map()
  const included = new Map()
  const { exported } = readDeclarations(entry, files)
  const visit = (file, name) => {
    const found = find(file, name, files)
    if (found === undefined || included.has(found.name)) return
    included.set(found.name, found)
    for (const word of new Set(found.text.replaceAll(BESIDES_TYPES, '').match(/[A-Za-z]\w*/g))) {
      if (word !== found.name) visit(found.file, word)
    }
  }
  for (const name of exported) {
    visit(entry, name)
    if (!included.has(name)) throw new Error(`the declaration of ${name} was not found`)
  }
  const texts = [...included.values()].map(({ name, comment, text }) => {
    return `${comment}${exported.has(name) ? 'export ' : ''}${text}`
  })
  // Without this line, everything that a declaration file declares counts as exported.
  return [HEAD, ...texts, 'export {};', ''].join('\n')
}

/** Comments, texts, and the names of properties, parameters and methods: they may be names of declarations too. */
const BESIDES_TYPES = /\/\*[^]*?\*\/|'[^']*'|\w+\??:|\w+\(/g

/** The declaration of `name` as `file` sees it: its own, or one that it imports. */
function find(file, name, files) {
  const { own, imported } = readDeclarations(file, files)
  const declared = own.get(name)
  if (declared !== undefined) return { file, name, ...declared }
  const source = imported.get(name)
  if (source === undefined) return undefined
  if (!source.startsWith('.')) throw new Error(`${file} exposes ${name} of ${source}`)
  return find(join(dirname(file), source.replace(/\.[jt]s$/, '.d.ts')), name, files)
}

/** What a file declares, imports and exports. */
function readDeclarations(file, files) {
  const known = files.get(file)
  if (known !== undefined) return known
  if (!existsSync(file)) throw new Error(`${file} is missing`)
  const read = { own: new Map(), imported: new Map(), exported: new Set() }
  files.set(file, read)
  for (const statement of statementsOf(readFileSync(file, 'utf8'))) {
    const list = LIST.exec(statement)
    if (list !== null) addList(read, list, file)
    const declared = DECLARED.exec(statement)
    if (declared === null) continue
    const [, comment = '', exported, text, name] = declared
    const needsDeclare = !/^(?:declare|type|interface) /.test(text)
    read.own.set(name, { comment, text: needsDeclare ? `declare ${text}` : text })
    if (exported !== undefined) read.exported.add(name)
  }
  return read
}

const LIST = /^(import|export)(?: type)? \{([^}]*)\}(?: from '([^']+)')?;$/
const DECLARED =
  /^((?:\s*\/\*\*[^]*?\*\/\s*)*)(export )?((?:declare )?(?:type|interface|const|function|class) (\w+)[^]*)$/

function addList(read, [, verb, names, source], file) {
  for (const item of names.split(',').map((each) => each.trim().replace(/^type /, ''))) {
    if (item === '') continue
    if (item.includes(' as ')) throw new Error(`${file} renames ${item}`)
    if (source !== undefined) read.imported.set(item, source)
    if (verb === 'export') read.exported.add(item)
  }
}

/** Each with the comment before it. */
function statementsOf(text) {
  const statements = []
  let lines = []
  for (const line of text.split('\n')) {
    lines.push(line)
    const statement = lines.join('\n')
    const code = statement.replaceAll(COMMENT_OR_TEXT, '').trim()
    const depth = (code.match(/[{[(]/g)?.length ?? 0) - (code.match(/[}\])]/g)?.length ?? 0)
    const end = /^(export )?(declare )?(interface|(abstract )?class) /.test(code) ? '}' : ';'
    if (depth > 0 || !code.endsWith(end)) continue
    statements.push(statement)
    lines = []
  }
  if (lines.join('').trim() !== '') throw new Error(`not a declaration: ${lines.join('\n')}`)
  return statements
}

const COMMENT_OR_TEXT = /\/\*[^]*?\*\/|'[^']*'/g
