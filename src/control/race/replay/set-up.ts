// What must be there before the first request of a race: the container, and the object that the requests met.
import { decodeKey } from '../../../kv/key.ts'
import { mainNote } from '../../entry.ts'
import type { Note } from '../../object.ts'
import type { ClientAct } from '../act.ts'
import { quoted, type Call } from './code.ts'

export const SET_UP = 'set-up'

/** `lengthBytes`: how long the content is at least. */
export function setUpOf(acts: readonly ClientAct[], lengthBytes: number): readonly Call[] {
  const last = acts.at(-1)
  if (last === undefined || last.entry.service === 'smb') return []
  const { service, path } = last.entry
  const note = mainNote(last.entry)
  const isThere = note !== undefined && wasThere(acts, note.key)
  return [
    containerCall(service, path[0] ?? ''),
    ...(isThere ? OBJECTS[service]({ acts, note, path, lengthBytes }) : []),
  ]
}

/** Before the first request that has met the object, or has not found it. */
function wasThere(acts: readonly ClientAct[], key: string): boolean {
  for (const { entry } of acts) {
    // Whoever gets a message writes a record that it has not read.
    if (entry.operation === 'Get Messages') return true
    const met = entry.notes.find((note) => note.key === key)
    if (met !== undefined) return met.before !== undefined
  }
  return false
}

type Service = Call['service']

function call(service: Service, method: string, path: string, more: Partial<Call> = {}): Call {
  return {
    client: SET_UP,
    service,
    method,
    target: quoted(path),
    headers: [],
    body: undefined,
    ...more,
  }
}

function containerCall(service: Service, name: string): Call {
  const at = `/${encodeURIComponent(name)}`
  if (service === 'blob') return call(service, 'PUT', `${at}?restype=container`)
  if (service === 'file') return call(service, 'PUT', `${at}?restype=share`)
  if (service === 'queue') return call(service, 'PUT', at)
  const body = JSON.stringify({ TableName: name })
  return call(service, 'POST', '/Tables', { body: quoted(body) })
}

type Wanted = {
  readonly acts: readonly ClientAct[]
  readonly note: Note
  readonly path: readonly string[]
  readonly lengthBytes: number
}

const OBJECTS: Readonly<Record<Service, (wanted: Wanted) => readonly Call[]>> = {
  blob: blobCalls,
  queue: ({ note, path }) =>
    note.kind === 'message' ? [call('queue', 'POST', `${pathText(path.slice(0, 1))}/messages`, { body: quoted(MESSAGE) })] : [],
  table: ({ note, path, acts }) =>
    note.kind === 'entity' ? [call('table', 'POST', pathText(path.slice(0, 1)), { body: entityBody(note, acts, 'before') })] : [],
  file: fileCalls,
} // prettier-ignore

export const MESSAGE = '<QueueMessage><MessageText>d29yaw==</MessageText></QueueMessage>'

const PAGE_BYTES = 512
const FILE_BYTES_MIN = 16

function blobCalls({ acts, note, path, lengthBytes }: Wanted): readonly Call[] {
  if (note.kind !== 'blob') return []
  const operations = acts.map(({ entry }) => entry.operation)
  const type = (name: string): readonly [string, string] => ['x-ms-blob-type', quoted(name)]
  const put = (more: Partial<Call>): Call => call('blob', 'PUT', pathText(path), more)
  if (operations.some((name) => /^Append Block|^Seal/.test(name)))
    return [put({ headers: [type('AppendBlob')] })]
  if (operations.some((name) => /Page/.test(name))) {
    const length = Math.max(1, Math.ceil(lengthBytes / PAGE_BYTES)) * PAGE_BYTES
    return [
      put({ headers: [type('PageBlob'), ['x-ms-blob-content-length', quoted(String(length))]] }),
    ]
  }
  return [put({ headers: [type('BlockBlob')], body: textOf('before', lengthBytes) })]
}

function fileCalls({ acts, note, path, lengthBytes }: Wanted): readonly Call[] {
  if (note.kind !== 'file') return []
  const folders = path.slice(1, -1).map((_, at) => {
    return call('file', 'PUT', `${pathText(path.slice(0, at + 2))}?restype=directory`)
  })
  const isDirectory = acts.some(
    ({ entry }) => entry.operation.endsWith('Directory') || entry.operation.includes('Directory '),
  )
  if (isDirectory) return [...folders, call('file', 'PUT', `${pathText(path)}?restype=directory`)]
  const headers = [
    ['x-ms-type', quoted('file')],
    ['x-ms-content-length', quoted(String(Math.max(lengthBytes, FILE_BYTES_MIN)))],
  ] as const
  return [...folders, call('file', 'PUT', pathText(path), { headers })]
}

export function pathText(path: readonly string[]): string {
  return `/${path
    .flatMap((name) => name.split('/'))
    .map(encodeURIComponent)
    .join('/')}`
}

/** As an expression. */
export function textOf(name: string, lengthBytes: number): string {
  const text = `by ${name}`
  return text.length >= lengthBytes ? quoted(text) : `${quoted(text)}.padEnd(${lengthBytes}, '.')`
}

/** An entity with the properties that the requests changed. */
export function entityBody(note: Note, acts: readonly ClientAct[], value: string): string {
  const [partitionKey, rowKey] = decodeKey(Buffer.from(note.key, 'latin1')).slice(-2)
  const changed = acts.flatMap(({ entry }) =>
    entry.notes.flatMap(({ key, parts = [] }) => (key === note.key ? parts : [])),
  )
  const names = changed.length > 0 ? new Set(changed) : ['value']
  const properties = Object.fromEntries([...names].map((name) => [name, `by ${value}`]))
  return quoted(JSON.stringify({ PartitionKey: partitionKey, RowKey: rowKey, ...properties }))
}
