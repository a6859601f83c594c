// The ids of messages: GUIDs that begin with their time (RFC 9562, version 7). Messages put one after the
// other then stand side by side in the index of ids. With random ones every put would touch a page of its own:
// measured on LMDB, half as many puts a second, and fewer the longer the queue.

/** A random GUID gives what is not the time. */
export function messageIdAt(nowMs: number, randomGuid: string): string {
  const time = nowMs.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-7${randomGuid.slice(15)}`
}
