// What a rename moved away: the journal has its destination as the resource.
import type { Entry } from './entry.ts'

const HEADERS: Readonly<Record<string, string>> = {
  'Rename Path': 'x-ms-rename-source',
  'Rename File': 'x-ms-file-rename-source',
  'Rename Directory': 'x-ms-file-rename-source',
}

/** `/account/container/path`; undefined if the request is no rename. */
export function renameSource(entry: Entry): string | undefined {
  const name = HEADERS[entry.operation]
  const sent = name === undefined ? undefined : entry.headers[name]
  if (typeof sent !== 'string') return undefined
  const path = pathOf(sent.split('?', 1)[0] ?? '')
  const account = `/${entry.account}`
  return path.startsWith(`${account}/`) ? path : `${account}${path}`
}

/** A path, or a URL with one. */
function pathOf(text: string): string {
  const path = text.replace(/^https?:\/\/[^/]*/i, '').replace(/^\/*/, '/')
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
