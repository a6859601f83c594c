// What clients do to a partition of a table: single entities with conditions, and batches.
import type { Answer, Operation, Properties, Row } from '../history/call.ts'
import { outcomeOf, taggedOutcomeOf, type Chooser, type Kind, type Memory, type Place, type Reply, type Request } from './kind.ts' // prettier-ignore

const ROWS = ['r0', 'r1', 'r2', 'r3'] as const
const PROPERTIES = ['A', 'B'] as const
const BOUNDARY = 'batch_torture'

export const PARTITION: Kind = {
  name: 'partition',
  service: 'table',
  choose: (chooser) => {
    const name = chooser.random.weighted({ get: 20, query: 14, batch: 16, change: 50 })
    if (name === 'query') return { name }
    if (name === 'get') return { name, row: chooser.random.pick(ROWS) }
    return name === 'batch' ? chooseBatch(chooser) : chooseChange(chooser, chooser.random.pick(ROWS))
  }, // prettier-ignore
  send: async (send, place, operation) =>
    answerOf(operation, await send(tableRequest(place, operation))),
  remember: (memory, operation, answer) => {
    rememberRow(memory, operation, answer)
    for (const [at, each] of (operation.operations ?? []).entries()) {
      const own = answer.answers?.[at]
      if (own !== undefined) rememberRow(memory, each, own)
    }
    for (const [row, { etag }] of Object.entries(answer.rows ?? {})) {
      if (etag !== undefined) memory.etags.set(row, etag)
    }
  },
}

function rememberRow({ etags }: Memory, { row }: Operation, { etag }: Answer): void {
  if (row !== undefined && etag !== undefined) etags.set(row, etag)
}

function chooseChange({ random, memory, newValue }: Chooser, row: string): Operation {
  const name = random.weighted({ insert: 14, update: 22, upsert: 14, delete: 10 })
  if (name === 'insert') return { name, row, properties: chooseProperties(random.below(3), newValue) } // prettier-ignore
  const etag = memory.etags.get(row)
  const condition = { match: etag !== undefined && random.chance(0.75) ? etag : '*' }
  if (name === 'delete') return { name, row, condition }
  const changed = { name, row, merges: random.chance(0.5), properties: chooseProperties(random.below(3), newValue) } // prettier-ignore
  return name === 'upsert' ? changed : { ...changed, condition }
}

function chooseProperties(which: number, newValue: Chooser['newValue']): Properties {
  const names = which === 2 ? PROPERTIES : [PROPERTIES[which] ?? 'A']
  return Object.fromEntries(names.map((name) => [name, newValue()]))
}

function chooseBatch(chooser: Chooser): Operation {
  const rows = ROWS.filter(() => chooser.random.chance(0.6))
  const operations = (rows.length === 0 ? ROWS : rows).map((row) => chooseChange(chooser, row))
  return { name: 'batch', operations }
}

const entityPath = ({ run, name }: Place, row: string) =>
  `/${run}(PartitionKey='${name}',RowKey='${row}')`

const ACCEPT = { Accept: 'application/json;odata=minimalmetadata' }

function tableRequest(place: Place, operation: Operation): Request {
  const { name, row = '' } = operation
  const base = { service: 'table', headers: ACCEPT } as const
  if (name === 'get') return { ...base, method: 'GET', path: entityPath(place, row) }
  if (name === 'query') {
    const filter = encodeURIComponent(`PartitionKey eq '${place.name}'`)
    return { ...base, method: 'GET', path: `/${place.run}()?$filter=${filter}` }
  }
  if (name === 'batch') return batchRequest(place, operation)
  return changeRequest(place, operation)
}

const METHODS: Readonly<Record<string, string>> = { insert: 'POST', delete: 'DELETE' }

function changeRequest(place: Place, operation: Operation): Request {
  const { name, row = '', merges, condition, properties = {} } = operation
  const json = { 'Content-Type': 'application/json' }
  const match = condition?.match !== undefined && { 'If-Match': condition.match }
  const method = METHODS[name] ?? (merges === true ? 'MERGE' : 'PUT')
  const keys = { PartitionKey: place.name, RowKey: row }
  return {
    service: 'table',
    method,
    path: name === 'insert' ? `/${place.run}` : entityPath(place, row),
    headers: { ...ACCEPT, ...(name !== 'delete' && json), ...match },
    ...(name !== 'delete' && { body: JSON.stringify({ ...keys, ...properties }) }),
  }
}

/** The URLs in a batch are whole ones; the service looks only at their paths. */
function batchRequest(place: Place, { operations = [] }: Operation): Request {
  const parts = operations.map((each) => {
    const { method, path, headers = {}, body = '' } = changeRequest(place, each)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const head = `${method} ${place.endpoint}${path} HTTP/1.1\r\n${lines.join('')}`
    return `--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n${head}\r\n${body.toString()}\r\n`
  })
  const inner = `Content-Type: multipart/mixed; boundary=changeset_1\r\n\r\n${parts.join('')}--changeset_1--\r\n`
  return {
    service: 'table',
    method: 'POST',
    path: '/$batch',
    headers: { ...ACCEPT, 'Content-Type': `multipart/mixed; boundary=${BOUNDARY}` },
    body: `--${BOUNDARY}\r\n${inner}--${BOUNDARY}--\r\n`,
  }
}

type Entity = Readonly<Record<string, unknown>>

function answerOf({ name, operations = [] }: Operation, reply: Reply): Answer {
  if (name === 'delete') return outcomeOf(reply)
  const outcome = taggedOutcomeOf(reply)
  if (outcome.status >= 300) return outcome
  if (name === 'batch') return batchAnswer(reply, operations)
  if (name !== 'get' && name !== 'query') return outcome
  const body = JSON.parse(reply.body.toString()) as Entity & { value?: readonly Entity[] }
  if (name === 'get') return { ...outcome, properties: propertiesOf(body) }
  const rows = (body.value ?? []).map((each): [string, Row] => {
    const etag = each['odata.etag']
    return [String(each['RowKey']), { ...(typeof etag === 'string' && { etag }), properties: propertiesOf(each) }] // prettier-ignore
  })
  return { status: outcome.status, rows: Object.fromEntries(rows) }
}

function propertiesOf(entity: Entity): Properties {
  const found = PROPERTIES.filter((name) => entity[name] !== undefined)
  return Object.fromEntries(found.map((name) => [name, String(entity[name])]))
}

function batchAnswer({ status, body }: Reply, operations: readonly Operation[]): Answer {
  const parts = body.toString().split(/^HTTP\/1\.1 /m).slice(1) // prettier-ignore
  const answers = parts.map((part): Answer => {
    const etag = /^ETag: *(.*?)\r?$/im.exec(part)?.[1]
    return { status: Number(part.slice(0, 3)), ...(etag !== undefined && { etag }) }
  })
  const [first = ''] = parts
  const refused = Number(first.slice(0, 3))
  if (refused < 400) return { status, answers }
  const code = /"code":"(\w+)"/.exec(first)?.[1]
  // The message begins with the number of the operation, unless there is only one.
  const failed = operations.length === 1 ? 0 : Number(/"value":"(\d+):/.exec(first)?.[1] ?? 0)
  return { status: refused, ...(code !== undefined && { code }), failed }
}
