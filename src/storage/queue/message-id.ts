// The ids of messages: GUIDs that begin with the time when the message expires (RFC 9562, version 8). So the index of
// ids is in the order in which messages expire, and needs no other beside it; and messages put one after the
// other stand side by side in it. With random ones every put would touch a page of its own: measured on LMDB, half as
// many puts a second, and fewer the longer the queue.

/** 12 digits hold 2^48 of them. The last ones, behind the year 9999, are for messages that never expire. */
const NEVER_COUNT_MS = 2 ** 44
const NEVER_MS = 2 ** 48 - NEVER_COUNT_MS

type Times = { readonly nowMs: number; readonly expiresMs: number | undefined }

/** A random GUID gives what is not the time. */
export function messageIdAt({ nowMs, expiresMs }: Times, randomGuid: string): string {
  const never = NEVER_MS + (nowMs % NEVER_COUNT_MS)
  const timeMs = expiresMs === undefined ? never : Math.min(expiresMs, NEVER_MS - 1)
  return `${beginningAt(timeMs)}-8${randomGuid.slice(15)}`
}

/** Smaller than the id of every message that expires at this time or later, and greater than all others. */
export function firstIdAt(expiresMs: number): string {
  return beginningAt(Math.min(expiresMs, NEVER_MS))
}

/** undefined: never. */
export function expiryOf(messageId: string): number | undefined {
  const timeMs = Number.parseInt(messageId.slice(0, 8) + messageId.slice(9, 13), 16)
  return timeMs < NEVER_MS ? timeMs : undefined
}

/** Messages that live equally long and are put in one millisecond begin alike. */
function beginningAt(timeMs: number): string {
  if (timeMs !== last.timeMs) {
    const digits = timeMs.toString(16).padStart(12, '0')
    last = { timeMs, text: `${digits.slice(0, 8)}-${digits.slice(8)}` }
  }
  return last.text
}

let last = { timeMs: 0, text: '00000000-0000' }
