// A history as a file: JSON lines, of which the first is about the run and each other one is a call.
import type { Call, History, HistoryHead } from './call.ts'

const FORMAT = 1

export function encodeHistory({ head, calls }: History): string {
  const lines = [{ lazuliHistory: FORMAT, ...head }, ...calls]
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

export class HistoryError extends Error {
  constructor(line: number, problem: string) {
    super(`line ${line} ${problem}`)
    this.name = 'HistoryError'
  }
}

/** Throws a HistoryError if the text is not a history that this version can read. */
export function decodeHistory(text: string, isKind: (kind: string) => boolean): History {
  const [first = '', ...rest] = text.split('\n').map((line) => line.trim())
  const head = decodeHead(parse(first, 1))
  const calls = rest.flatMap((line, at) => (line === '' ? [] : [decodeCall(parse(line, at + 2), at + 2, isKind)])) // prettier-ignore
  return { head, calls }
}

type Fields = Readonly<Record<string, unknown>>

function parse(line: string, number: number): Fields {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new HistoryError(number, 'is not JSON')
  }
  if (isObject(value)) return value
  throw new HistoryError(number, 'is not a JSON object')
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function decodeHead(fields: Fields): HistoryHead {
  if (fields.lazuliHistory !== FORMAT)
    throw new HistoryError(1, 'does not begin a history: it has no "lazuliHistory": 1')
  const { seed, clients, slackMs, services, faults } = fields
  const isGood =
    [seed, clients, slackMs].every((each) => typeof each === 'number' && Number.isFinite(each)) &&
    Array.isArray(services) &&
    services.every((each) => typeof each === 'string') &&
    typeof faults === 'boolean'
  if (!isGood)
    throw new HistoryError(1, 'must have the fields seed, clients, slackMs, services and faults')
  return { seed, clients, slackMs, services, faults } as HistoryHead
}

function decodeCall(fields: Fields, line: number, isKind: (kind: string) => boolean): Call {
  const { number, client, object, operation, began, ended, answer, failure } = fields
  const wrong = (problem: string) => new HistoryError(line, problem)
  if (typeof object !== 'string' || !isKind(object.slice(0, object.indexOf('/'))))
    throw wrong('has no object, such as "block/name"')
  if (!isObject(operation) || typeof operation.name !== 'string')
    throw wrong('has no operation with a name')
  if (operation.operations !== undefined && !areObjects(operation.operations))
    throw wrong('has operations that are not a list of objects')
  const times = [number, client, began, ended]
  if (!times.every((each) => typeof each === 'number' && Number.isFinite(each)))
    throw wrong('must have the numbers number, client, began and ended')
  if (Number(ended) < Number(began)) throw wrong('ended before it began')
  if (answer !== undefined && (!isObject(answer) || typeof answer.status !== 'number'))
    throw wrong('has an answer without a status')
  const lists = isObject(answer) ? [answer.messages, answer.answers] : []
  if (!lists.every((each) => each === undefined || areObjects(each)))
    throw wrong('has an answer with a list that is none of objects')
  return { number, client, object, operation, began, ended, ...(answer !== undefined && { answer }), ...(failure !== undefined && { failure }) } as Call // prettier-ignore
}

function areObjects(value: unknown): boolean {
  return Array.isArray(value) && value.every(isObject)
}
