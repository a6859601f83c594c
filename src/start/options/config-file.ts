// lazuli.json: settings by the name of their flag, and the accounts. It is read at start; the accounts are reloaded
// when it changes.
import { readFileSync } from 'node:fs'
import { errorCode, errorReason, usageError } from '../start-error.ts'

export type ConfigFile = {
  readonly path: string
  /** Everything except the accounts. */
  readonly settings: ReadonlyMap<string, unknown>
  /** `"name:key1[:key2];…"` or `{ "name": "key1" }` or `{ "name": ["key1", "key2"] }` or `{ "name": { "key": "key1", "hns": true } }`. */
  readonly accounts: unknown
}

/** undefined if the file does not exist. */
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
    throw usageError(`cannot read ${path}: ${errorReason(error)}`)
  }
}

function decodeObject(path: string, text: string): object {
  let value: unknown
  try {
    // Editors on Windows may add a byte order mark.
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw usageError(`${path} is not valid JSON: ${withoutText(errorReason(error))}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw usageError(`${path} must contain a JSON object, such as { "blobPort": 10000 }`)
}

/** Removes the text that V8 quotes from the file: it may contain an account's key. */
function withoutText(message: string): string {
  return message
    .replace(/,? ?(\.\.\.)?"[\s\S]*"(\.\.\.)? is not valid JSON$/, '')
    .replace(/ in JSON /, ' ')
}
