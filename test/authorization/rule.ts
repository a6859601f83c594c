// Who may run an operation, as Azure's documentation says: "Create an account SAS" (operations and their permissions), "Create a
// service SAS" (permissions by resource), and "Authorization" in the page of each operation. Written from there, not from the tables in
// src/rest, so that a mistake in one of them shows.
import type { Seed } from '../hostile-seed.ts'

export type Rule = {
  /** The resource type that an account SAS needs. */
  readonly type: 's' | 'c' | 'o'
  /** Any of these letters of an account SAS; empty: no account SAS. */
  readonly account: string
  /** Likewise of a service SAS. */
  readonly service: string
  /** All letters, not any. */
  readonly all?: true
  readonly anonymous?: 'container' | 'blob'
  readonly token?: 'never' | 'only'
}

/** `c cw -`: resource type, letters of an account SAS, letters of a service SAS; then what is special. */
export function rulesFrom(text: string): ReadonlyMap<string, Rule> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return new Map(lines.map((line) => ruleIn(line.trim())))
}

function ruleIn(line: string): [string, Rule] {
  const [name = '', fields = ''] = line.split(/ *: */)
  const [type = '', account = '', service = '', special] = fields.split(' ')
  if (type !== 's' && type !== 'c' && type !== 'o') throw new Error(line)
  const letters = (text: string): string => text.replace('-', '')
  const rule = { type, account: letters(account), service: letters(service) } as const
  switch (special) {
    case undefined:
      return [name, rule]
    case 'all':
      return [name, { ...rule, all: true }]
    case 'container':
    case 'blob':
      return [name, { ...rule, anonymous: special }]
    case 'never':
    case 'only':
      return [name, { ...rule, token: special }]
    default:
      throw new Error(line)
  }
}

/** The name of the rule: some operations have another for special requests. */
export function ruleName({ operation, path, headers = {} }: Seed): string {
  const query = new URLSearchParams(path.split('?')[1] ?? '')
  if (headers['x-ms-lease-action'] === 'break') return `${operation}, break`
  if (operation === 'Delete Blob' && query.has('deletetype')) return 'Delete Blob, permanently'
  if (operation === 'Delete Blob' && query.has('versionid')) return 'Delete Blob, a version'
  const hidden = /\b(deleted|uncommittedblobs)\b/.test(query.get('include') ?? '')
  if (operation === 'List Blobs' && hidden) return 'List Blobs, deleted and uncommitted'
  const isAll = operation === 'Get Block List' && query.get('blocklisttype') !== 'committed'
  return isAll ? 'Get Block List, uncommitted' : operation
}

/** What headers need besides: tags are not part of reading or writing ("Manage and find Azure Blob data with blob index tags"). */
export function moreLetters({ path, headers = {} }: Seed): string {
  const isTagged = headers['x-ms-if-tags'] !== undefined || headers['x-ms-tags'] !== undefined
  return isTagged || /[?&]include=[^&]*\btags\b/.test(path) ? 't' : ''
}
