// A message as Peek Messages gives it.
import type { Area } from '../storage.ts'
import { textAt } from '../xml.ts'

export type Message = {
  readonly id: string
  readonly text: string
  readonly inserted: string
  readonly expires: string
  readonly dequeueCount: number
}

export type QueueProps = { readonly area: Area; readonly name: string }

export function messageOfXml(each: Element): Message {
  return {
    id: textAt(each, 'MessageId'),
    text: textAt(each, 'MessageText'),
    inserted: textAt(each, 'InsertionTime'),
    expires: textAt(each, 'ExpirationTime'),
    dequeueCount: Number(textAt(each, 'DequeueCount')),
  }
}
