// Message ids: GUIDs that begin with the time at which the message expires (RFC 9562, version 8). So the index
// of ids is ordered by expiry and no second index is needed, and consecutive puts write to neighbouring keys.
// With random ids every put would touch a different page: measured on LMDB, half as many puts per second, and
// fewer the longer the queue.

/** 12 digits hold 2^48 ms. The last ones, after the year 9999, are for messages that never expire. */
const NEVER_COUNT_MS = 2 ** 44
const NEVER_MS = 2 ** 48 - NEVER_COUNT_MS

type Times = { readonly nowMs: number; readonly expiresMs: number | undefined }

/** The rest of the id is from a random GUID. */
export function messageIdAt({ nowMs, expiresMs }: Times, randomGuid: string): string {
  const never = NEVER_MS + (nowMs % NEVER_COUNT_MS)
  const timeMs = expiresMs === undefined ? never : Math.min(expiresMs, NEVER_MS - 1)
  return `${beginningAt(timeMs)}-8${randomGuid.slice(15)}`
}

/** A lower bound for the ids of messages that expire at this time or later, and greater than all other ids. */
export function firstIdAt(expiresMs: number): string {
  return beginningAt(Math.min(expiresMs, NEVER_MS))
}

/** Undefined: never. */
export function expiryOf(messageId: string): number | undefined {
  const timeMs = Number.parseInt(messageId.slice(0, 8) + messageId.slice(9, 13), 16)
  return timeMs < NEVER_MS ? timeMs : undefined
}

/** Cached, since messages with the same time to live that are put in one millisecond have the same beginning. */
function beginningAt(timeMs: number): string {
  if (timeMs !== last.timeMs) {
    const digits = timeMs.toString(16).padStart(12, '0')
    last = { timeMs, text: `${digits.slice(0, 8)}-${digits.slice(8)}` }
  }
  return last.text
}

let last = { timeMs: 0, text: '00000000-0000' }
