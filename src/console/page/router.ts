// Where the console is: the part of the URL behind #, such as #/journal?client=A. Pages link with plain <a href>.
import { computed, signal } from './library.ts'

export type Place = {
  /** Without slashes at the ends: `journal/12`. */
  readonly path: string
  readonly query: URLSearchParams
}

const hash = signal(location.hash)

addEventListener('hashchange', () => (hash.value = location.hash))

export const place = computed<Place>(() => placeOf(hash.value))

function placeOf(text: string): Place {
  const [path = '', query = ''] = splitOnce(text.replace(/^#\/?/, ''), '?')
  return { path: path.replace(/\/$/, ''), query: new URLSearchParams(query) }
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

/** Fields without a value are left out. */
export function linkTo(path: string, query: Readonly<Record<string, string | undefined>> = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given as [string, string][]).toString()
  return `#/${path}${text === '' ? '' : `?${text}`}`
}

export function goTo(path: string, query: Readonly<Record<string, string | undefined>> = {}): void {
  location.hash = linkTo(path, query)
}

/** Changes some fields of the query, without a new step in the history. */
export function changeQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { path, query } = place.value
  const link = linkTo(path, { ...Object.fromEntries(query), ...changes })
  history.replaceState(undefined, '', link)
  hash.value = link
}
