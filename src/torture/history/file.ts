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
  const times = [number, client, began, ended]
  if (!times.every((each) => typeof each === 'number' && Number.isFinite(each)))
    throw wrong('must have the numbers number, client, began and ended')
  if (Number(ended) < Number(began)) throw wrong('ended before it began')
  if (answer !== undefined && (!isObject(answer) || typeof answer.status !== 'number'))
    throw wrong('has an answer without a status')
  for (const each of [operation, ...(isObject(answer) ? [answer] : [])]) {
    const field = wrongField(each)
    if (field !== undefined) throw wrong(`has a ${field} of the wrong type`)
  }
  return { number, client, object, operation, began, ended, ...(answer !== undefined && { answer }), ...(failure !== undefined && { failure }) } as Call // prettier-ignore
}

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isCount: Check = (value) => typeof value === 'number'
const isFlag: Check = (value) => typeof value === 'boolean'
const areTexts: Check = (value) => isObject(value) && Object.values(value).every(isText)
const areGood: Check = (value) => areObjects(value) && (value as Fields[]).every((each) => wrongField(each) === undefined) // prettier-ignore
const areRows: Check = (value) =>
  isObject(value) &&
  Object.values(value).every((row) => isObject(row) && areTexts(row.properties) && wrongField(row) === undefined) // prettier-ignore

/** Of operations, answers, and what is in them. */
const TYPES: Readonly<Record<string, Check>> = {
  name: isText, value: isText, lease: isText, id: isText, to: isText, block: isText, row: isText, file: isText,
  message: isText, receipt: isText, handle: isText, access: isText, share: isText, disposition: isText,
  code: isText, etag: isText, metadata: isText, committed: isText, uncommitted: isText, names: isText, text: isText,
  seconds: isCount, position: isCount, slot: isCount, slots: isCount, count: isCount, uses: isCount,
  status: isCount, offset: isCount, failed: isCount,
  recursive: isFlag, merges: isFlag, replaces: isFlag,
  condition: areTexts, properties: areTexts, rows: areRows,
  blocks: (value) => Array.isArray(value) && value.every(isText),
  operations: areGood, answers: areGood, messages: areGood,
} // prettier-ignore

function wrongField(fields: Fields): string | undefined {
  return Object.keys(fields).find((name) => fields[name] !== undefined && TYPES[name]?.(fields[name]) === false) // prettier-ignore
}

function areObjects(value: unknown): boolean {
  return Array.isArray(value) && value.every(isObject)
}
