// One message of a queue. Nobody but the client that got it last may delete or update it; nobody gets it before it is visible;
// it is gone only once it was deleted.
import type { Answer, Operation } from '../history/call.ts'
import { refusal, WRONG, type Model, type Moment, type Outcome } from './model.ts'
import { endingAfter, hasEnded, type Ending } from './time.ts'

type Message = {
  readonly id?: string
  /** Not known if nobody heard of it. */
  readonly receipt?: string
  readonly count: number
  readonly text: string
  /** When it becomes visible; missing: it is. */
  readonly hidden?: Ending
}

export type MessageState = { readonly message?: Message; readonly isDeleted?: true }

type Seen = { readonly isVisible: boolean; readonly message: Message }

/** `got`, `peeked` and `missed` are what a get, a peek and the end of the run say about this message. */
export function messageModel(slackMs: number): Model<MessageState> {
  return {
    initial: {},
    reads: new Set(['peeked', 'missed']),
    outcomes: (state, operation, moment) => {
      const { message } = state
      if (operation.name === 'put') {
        if (message !== undefined || state.isDeleted) return []
        return [{ status: 201, next: (answer) => put(operation, moment, slackMs, answer) }]
      }
      if (operation.name === 'missed')
        return message === undefined ? [{ status: 200, next: () => state }] : hiddenOnly(message, moment) // prettier-ignore
      if (message === undefined) return [refusal(state, [404, 'MessageNotFound'])]
      return views(message, moment).flatMap((seen) => use(seen, operation, moment, slackMs))
    },
  }
}

function views(message: Message, moment: Moment): readonly Seen[] {
  const { hidden, ...rest } = message
  if (hidden === undefined) return [{ isVisible: true, message }]
  return hasEnded(hidden, moment).map(({ isOver, ending }) => {
    return { isVisible: isOver, message: isOver ? rest : { ...rest, hidden: ending } }
  })
}

function hiddenOnly(message: Message, moment: Moment): readonly Outcome<MessageState>[] {
  return views(message, moment)
    .filter(({ isVisible }) => !isVisible)
    .map(({ message: seen }) => ({ status: 200, next: () => ({ message: seen }) }))
}

function put(
  { value = '', seconds = 0 }: Operation,
  moment: Moment,
  slackMs: number,
  answer: Answer | undefined,
) {
  // prettier-ignore
  const hidden = seconds > 0 && { hidden: endingAfter(seconds, moment, slackMs) }
  return { message: { ...chosen(answer), count: 0, text: value, ...hidden } }
}

function chosen(answer: Answer | undefined) {
  const { id, receipt } = answer ?? {}
  return { ...(id !== undefined && { id }), ...(receipt !== undefined && { receipt }) }
}

function use(
  { isVisible, message }: Seen,
  operation: Operation,
  moment: Moment,
  slackMs: number,
): readonly Outcome<MessageState>[] {
  // prettier-ignore
  switch (operation.name) {
    case 'got':
      if (!isVisible) return []
      return [{ status: 200, shows: { count: message.count + 1, text: message.text }, next: (answer) => got(message, operation, moment, slackMs, answer) }]
    case 'peeked': {
      const { count, text } = message
      if (!isVisible) return []
      return [{ status: 200, shows: { count, text }, next: () => ({ message }) }] // prettier-ignore
    }
    case 'update':
    case 'delete':
      return claim({ isVisible, message }, operation, moment, slackMs)
    default:
      return []
  }
}

function got(
  message: Message,
  { seconds = 30 }: Operation,
  moment: Moment,
  slackMs: number,
  answer: Answer | undefined,
) {
  // prettier-ignore
  const { receipt: _, ...rest } = message
  const count = message.count + 1
  if (message.id !== undefined && answer !== undefined && answer.id !== message.id) return WRONG
  const hidden = endingAfter(seconds, moment, slackMs)
  return { message: { ...rest, ...chosen(answer), count, hidden } }
}

/** The receipt of the latest get, update or put is needed. Once the message is visible again, it may be refused, too. */
function claim(
  { isVisible, message }: Seen,
  operation: Operation,
  moment: Moment,
  slackMs: number,
): readonly Outcome<MessageState>[] {
  // prettier-ignore
  const { receipt, value, seconds = 0 } = operation
  const refusals = [
    refusal({ message }, [404, 'MessageNotFound']),
    refusal({ message }, [400, 'PopReceiptMismatch']),
  ]
  const isStale = message.receipt !== undefined && message.receipt !== receipt
  if (isStale) return refusals
  const isSure = message.receipt !== undefined && !isVisible
  const success = (answer: Answer | undefined): MessageState => {
    if (operation.name === 'delete') return { isDeleted: true }
    const { receipt: _, hidden: __, ...rest } = message
    const hidden = seconds > 0 && { hidden: endingAfter(seconds, moment, slackMs) }
    return { message: { ...rest, ...chosen(answer), text: value ?? message.text, ...hidden } }
  }
  return [{ status: 204, next: success }, ...(isSure ? [] : refusals)]
}
