// The calls of a history, object by object: each object is explained on its own. The calls on a queue become calls on its
// messages, since a get promises nothing about their order.
import type { Call, History, HistoryHead } from '../history/call.ts'
import { blobModel } from '../model/blob.ts'
import { containerModel } from '../model/container.ts'
import { directoryModel } from '../model/directory.ts'
import { messageModel } from '../model/message.ts'
import type { Model, State } from '../model/model.ts'
import { partitionModel } from '../model/partition.ts'
import { treeModel } from '../model/tree.ts'
import { messageOf, textOf } from '../drive/queue.ts'

export type ObjectHistory = {
  readonly object: string
  readonly model: Model
  readonly calls: readonly Call[]
}

const MODELS: Readonly<Record<string, (slackMs: number) => unknown>> = {
  block: blobModel,
  append: blobModel,
  container: containerModel,
  message: messageModel,
  partition: partitionModel,
  directory: directoryModel,
  tree: treeModel,
}

/** The kinds whose calls belong to a service. */
export const KINDS_OF: Readonly<Record<string, readonly string[]>> = {
  blob: ['block', 'append', 'container'],
  queue: ['queue'],
  table: ['partition'],
  file: ['directory'],
  dfs: ['tree'],
  // The same objects as those of the File service.
  smb: ['directory'],
}

/** undefined: no model has this name. */
export function modelOf(kind: string, slackMs: number): Model | undefined {
  // A model is only ever given states of its own.
  return MODELS[kind]?.(slackMs) as Model<State> | undefined
}

/** Whether calls of a history may be on objects of this kind. */
export function isKind(kind: string): boolean {
  return Object.values(KINDS_OF).some((kinds) => kinds.includes(kind))
}

export function kindOf(object: string): string {
  return object.slice(0, object.indexOf('/'))
}

export function objectsOf({ head, calls }: History): readonly ObjectHistory[] {
  const groups = new Map<string, Call[]>()
  for (const call of calls) {
    const own = groups.get(call.object)
    if (own === undefined) groups.set(call.object, [call])
    else own.push(call)
  }
  return [...groups].flatMap(([object, own]) => {
    const group = kindOf(object) === 'queue' ? messagesOf(own) : new Map([[object, own]])
    return [...group].map(([name, its]) => withModel(name, its, head))
  })
}

function withModel(
  object: string,
  calls: readonly Call[],
  { slackMs }: HistoryHead,
): ObjectHistory {
  // prettier-ignore
  const model = modelOf(kindOf(object), slackMs)
  if (model === undefined) throw new Error(`${object} is not an object that has a model`)
  return { object, model, calls }
}

function messagesOf(calls: readonly Call[]): ReadonlyMap<string, Call[]> {
  const messages = new Map<string, Call[]>()
  const add = (name: string, call: Call): void => {
    const [object, own] = [`message/${name}`, messages.get(`message/${name}`)]
    if (own === undefined) messages.set(object, [{ ...call, object }])
    else own.push({ ...call, object })
  }
  for (const call of calls) {
    const { operation, answer } = call
    if (operation.message !== undefined) add(operation.message, withText(call))
    for (const { text, ...message } of answer?.messages ?? []) {
      const name = operation.name === 'get' ? 'got' : 'peeked'
      add(messageOf(text), { ...call, operation: { ...operation, name }, answer: { status: 200, text, ...message } }) // prettier-ignore
    }
  }
  const lost = calls.filter(({ operation, answer }) => operation.name === 'get' && answer === undefined) // prettier-ignore
  const end = calls.find(({ operation }) => operation.name === 'end')
  const names = [...messages.keys()].map((object) => object.slice(object.indexOf('/') + 1))
  for (const each of lostGets(lost)) for (const name of names) add(name, each)
  if (end === undefined) return messages
  const there = new Set(calls.filter(({ client }) => client === end.client).flatMap(drained))
  for (const name of names) if (!there.has(name)) add(name, { ...end, operation: { name: 'missed' } }) // prettier-ignore
  return messages
}

function drained({ answer }: Call): readonly string[] {
  return (answer?.messages ?? []).map(({ text }) => messageOf(text))
}

/** The message has the text that a client sent. */
function withText(call: Call): Call {
  return { ...call, operation: { ...call.operation, value: textOf(call.operation) } }
}

/** Any message may have been in an answer that was lost. Alike ones end together, so that a search need not tell them apart. */
function lostGets(lost: readonly Call[]): readonly Call[] {
  const ended = Math.max(...lost.map(({ ended }) => ended))
  return lost.map(({ operation, ...call }) => {
    const { seconds } = operation
    return { ...call, ended, operation: { name: 'got', ...(seconds !== undefined && { seconds }) } }
  })
}
