// What clients do to queues: several of them get, update and delete the same messages.
import type { Answer, MessageAnswer, Operation } from '../history/call.ts'
import { outcomeOf, type Kind, type Memory, type Place, type Reply, type Request } from './kind.ts'

/** The shortest that the service allows. */
const HIDDEN_SECONDS = 1
const RECEIPTS_MAX = 12

export const QUEUE: Kind = {
  name: 'queue',
  service: 'queue',
  choose: ({ random, memory, newValue }) => {
    const { receipts } = memory
    const claims = receipts.length === 0 ? 0 : 1
    const name = random.weighted({ put: 20, get: 30, peek: 8, update: 10 * claims, delete: 26 * claims }) // prettier-ignore
    if (name === 'put') return { name, message: newValue(), value: '', seconds: random.pick([0, 0, 0, 1]) } // prettier-ignore
    if (name === 'get') return { name, count: 1 + random.below(4), seconds: HIDDEN_SECONDS }
    if (name === 'peek') return { name, count: 1 + random.below(4) }
    // The newest mostly; the others are likely to be stale.
    const receipt = random.chance(0.7) ? receipts.at(-1) : random.pick(receipts)
    const claim = { ...receipt, name }
    if (name === 'delete') return claim
    return { ...claim, value: newValue(), seconds: random.pick([0, 1, 2]) }
  },
  send: async (send, place, operation) =>
    answerOf(operation, await send(queueRequest(place, operation))),
  remember: (memory: Memory, operation, answer) => {
    for (const message of answer.messages ?? []) keep(memory, message, messageOf(message.text))
    if (answer.status >= 300 || operation.message === undefined || answer.id === undefined) return
    keep(memory, { ...answer, id: answer.id }, operation.message)
  },
}

function keep(
  { receipts }: Memory,
  { id, receipt }: { id: string; receipt?: string },
  message: string,
) {
  // prettier-ignore
  if (receipt === undefined) return
  receipts.push({ id, receipt, message })
  if (receipts.length > RECEIPTS_MAX) receipts.shift()
}

/** A text is `message/value`; the message has its name for life. */
export function messageOf(text: string): string {
  return text.split('/', 1)[0] ?? ''
}

export function textOf({ message = '', value = '' }: Operation): string {
  return `${message}/${value}`
}

function queueRequest({ run, name: queue }: Place, operation: Operation): Request {
  const { name, seconds = 0, count = 1, id = '', receipt = '' } = operation
  const path = `/${run}-${queue}/messages`
  const body = `<QueueMessage><MessageText>${textOf(operation)}</MessageText></QueueMessage>`
  const claim = `${path}/${id}?popreceipt=${encodeURIComponent(receipt)}`
  const base = { service: 'queue' } as const
  if (name === 'put')
    return { ...base, method: 'POST', path: `${path}?visibilitytimeout=${seconds}`, body }
  if (name === 'update') return { ...base, method: 'PUT', path: `${claim}&visibilitytimeout=${seconds}`, body } // prettier-ignore
  if (name === 'delete') return { ...base, method: 'DELETE', path: claim }
  const how = name === 'peek' ? '&peekonly=true' : `&visibilitytimeout=${seconds}`
  return { ...base, method: 'GET', path: `${path}?numofmessages=${count}${how}` }
}

function answerOf({ name, id: messageId }: Operation, reply: Reply): Answer {
  const outcome = outcomeOf(reply)
  if (outcome.status >= 300) return outcome
  const { headers } = reply
  const received = headers['x-ms-popreceipt']
  if (name === 'update' && typeof received === 'string') return { ...outcome, id: messageId ?? '', receipt: received } // prettier-ignore
  const messages = messagesOf(reply.body.toString())
  if (name !== 'put') return name === 'delete' || name === 'update' ? outcome : { ...outcome, messages } // prettier-ignore
  const [put] = messages
  if (put?.receipt === undefined) return outcome
  return { ...outcome, id: put.id, receipt: put.receipt }
}

function messagesOf(xml: string): readonly MessageAnswer[] {
  return [...xml.matchAll(/<QueueMessage>(.*?)<\/QueueMessage>/gs)].map(([, part = '']) => {
    const text = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(part)?.[1]
    const receipt = text('PopReceipt')
    return {
      id: text('MessageId') ?? '',
      ...(receipt !== undefined && { receipt }),
      count: Number(text('DequeueCount') ?? 0),
      text: text('MessageText') ?? '',
    }
  })
}
