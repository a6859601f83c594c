// docs/rest-api.md: every REST operation, read from the tables that answer the requests.
import type { Permission } from '../../src/auth/permission.ts'
import type { Level, Operation } from '../../src/http/door/operation.ts'
import { BLOB_OPERATIONS } from '../../src/rest/blob/operations.ts'
import { LAKE_OPERATIONS } from '../../src/rest/datalake/operations.ts'
import { FILE_OPERATIONS } from '../../src/rest/file/operations.ts'
import { QUEUE_OPERATIONS } from '../../src/rest/queue/operations.ts'
import { TABLE_OPERATIONS } from '../../src/rest/table/operations.ts'
import { REFUSALS, type Refusal, type RefusedService } from './refusals.ts'

/** What the docs need of a row, whatever its service. */
type Row = Pick<
  Operation<never>,
  | 'name'
  | 'methods'
  | 'level'
  | 'restype'
  | 'comp'
  | 'query'
  | 'when'
  | 'permission'
  | 'bodyBytesMax'
>

type Section = {
  readonly title: string
  readonly about?: string
  readonly service: RefusedService | 'queue'
  readonly paths: Readonly<Record<Level, string>>
  readonly rows: readonly Row[]
}

const SECTIONS: readonly Section[] = [
  {
    title: 'Blob',
    service: 'blob',
    paths: { service: '/', container: '/container', object: '/container/blob' },
    rows: BLOB_OPERATIONS,
  },
  {
    title: 'Queue',
    service: 'queue',
    paths: { service: '/', container: '/queue', object: '/queue/messages' },
    rows: QUEUE_OPERATIONS,
  },
  {
    title: 'Table',
    service: 'table',
    paths: { service: '/', container: '/table', object: "/table(PartitionKey='',RowKey='')" },
    rows: TABLE_OPERATIONS,
  },
  {
    title: 'File',
    service: 'file',
    paths: { service: '/', container: '/share', object: '/share/path' },
    rows: FILE_OPERATIONS,
  },
  {
    title: 'Data Lake Storage',
    about:
      'All 19 operations of the specification, on the port of the Blob service and on a port of its own ([how clients use it](data-lake.md)). "Flat accounts" have no hierarchical namespace; ' +
      'there, the other operations work with blobs whose names contain slashes.',
    service: 'lake',
    paths: { service: '/', container: '/filesystem', object: '/filesystem/path' },
    rows: LAKE_OPERATIONS,
  },
]

const INTRODUCTION = `# REST operations

<!-- Written by \`npm run docs\` from the tables of operations in src/rest/ and of refusals in scripts/docs/refusals.ts. -->

Every operation in these tables is supported, with all its headers and fields but those that its row says are refused: what can't be honored is refused
rather than ignored. The tests send a request for each refusal. [Compatibility](compatibility.md) lists where an answer differs from Azure's. A request
that matches no row gets Azure's error for it: 405 UnsupportedHttpVerb, 400 InvalidQueryParameterValue, or what the service in question sends.
CORS preflight requests (OPTIONS) are answered by the rules of the service before any row.

Letters are permissions of a SAS: any one of them is enough, or all of them if they are joined by \`+\`. A dash means that this kind
of credential never allows the operation. An account key allows every operation except those marked "only". Paths are below the
account. Rows with the same request differ in a header or another query field.
`

export function restApiPage(): string {
  return [INTRODUCTION, ...SECTIONS.map(section)].join('\n')
}

function section({ title, about, service, rows, paths }: Section): string {
  const refusals = REFUSALS.filter((refusal) => refusal.service === service)
  checkNames(refusals, rows)
  const general = refusals.filter(({ operations }) => operations.length === 0)
  const lines = new Set(rows.map((row) => line(row, paths, refusals)))
  const refused = new Set(general.map(({ what, answer }) => `- ${what}: ${answer}`))
  return [
    `## ${title}\n`,
    ...(about === undefined ? [] : [`${about}\n`]),
    ...(refused.size === 0 ? [] : ['Refused in general:\n', ...refused, '']),
    '| operation | request | account SAS | service SAS | token | anonymous | longest body | refused |',
    '|---|---|---|---|---|---|---|---|',
    ...lines,
    '',
  ].join('\n')
}

function checkNames(refusals: readonly Refusal[], rows: readonly Row[]): void {
  const names = new Set(rows.map(({ name }) => name))
  for (const name of refusals.flatMap(({ operations }) => operations)) {
    if (!names.has(name)) throw new Error(`there is no operation ${name}`)
  }
}

/** Joins those with the same answer. */
function refusedTexts(refusals: readonly Refusal[]): readonly string[] {
  const answers = new Set(refusals.map(({ answer }) => answer))
  return [...answers].map((answer) => {
    const same = refusals.filter((refusal) => refusal.answer === answer)
    return `${[...new Set(same.map(({ what }) => what))].join('; ')} (${answer})`
  })
}

function line(row: Row, paths: Section['paths'], refusals: readonly Refusal[]): string {
  const further = Object.entries(row.query ?? {}).map(([name, value]) => `${name}=${value}`)
  const query = [
    row.restype && `restype=${row.restype}`,
    row.comp && `comp=${row.comp}`,
    ...further,
  ]
    .filter(Boolean)
    .join('&')
  const request = `${row.methods.join(', ')} ${paths[row.level]}${query === '' ? '' : `?${query}`}`
  const { permission } = row
  const cells = [
    row.name,
    `\`${request}\``,
    letters(permission, permission.accountSas),
    letters(permission, permission.serviceSas),
    TOKEN[String(permission.bearer ?? true)] ?? '',
    permission.anonymous === undefined ? '–' : `public ${permission.anonymous}`,
    row.bodyBytesMax === undefined || row.bodyBytesMax === 0 ? 'none' : size(row.bodyBytesMax),
    refusedTexts(refusals.filter(({ operations }) => operations.includes(row.name))).join('; '),
  ]
  return `| ${cells.join(' | ')} |`
}

function letters({ all }: Permission, given: string | undefined): string {
  if (given === undefined || given === '') return '–'
  return `\`${all === true ? [...given].join('+') : given}\``
}

const TOKEN: Readonly<Record<string, string>> = { true: 'yes', false: '–', only: 'only' }

const UNITS = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const

function size(bytes: number): string {
  for (const [unit, unitBytes] of UNITS) {
    if (bytes >= unitBytes) return `${Number((bytes / unitBytes).toFixed(2))} ${unit}`
  }
  return `${bytes} bytes`
}
