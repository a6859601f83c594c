// lazuli.json: every setting by the name of its flag, and the accounts. Read at start, and again for
// the accounts when it changes.
import { readFileSync } from 'node:fs'
import { errorCode, reasonOf, usageError } from '../start-error.ts'

export type ConfigFile = {
  readonly path: string
  /** Everything but the accounts. */
  readonly settings: ReadonlyMap<string, unknown>
  /** `"name:key1[:key2];…"` or `{ "name": "key1" }` or `{ "name": ["key1", "key2"] }`. */
  readonly accounts: unknown
}

/** undefined when there is no such file. */
export function readConfigFile(path: string): ConfigFile | undefined {
  const text = readText(path)
  if (text === undefined) return undefined
  const values = decodeObject(path, text)
  const settings = new Map(Object.entries(values))
  const accounts = settings.get('accounts')
  for (const key of ['accounts', '$schema']) settings.delete(key)
  return { path, settings, accounts }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw usageError(`cannot read ${path}: ${reasonOf(error)}`)
  }
}

function decodeObject(path: string, text: string): object {
  let value: unknown
  try {
    // A byte order mark is what editors on Windows begin a file with.
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw usageError(`${path} is not valid JSON: ${withoutText(reasonOf(error))}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw usageError(`${path} must hold one JSON object, such as { "blobPort": 10000 }`)
}

/** V8 quotes the text around a mistake, and that may be an account's key. */
function withoutText(message: string): string {
  return message
    .replace(/,? ?(\.\.\.)?"[\s\S]*"(\.\.\.)? is not valid JSON$/, '')
    .replace(/ in JSON /, ' ')
}
