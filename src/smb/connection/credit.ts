// The window of message ids ([MS-SMB2] 3.3.1.1, 3.3.5.2.3): a client may use each id that it was granted once,
// in any order. An id outside the window ends the connection.

/** Samba's own cap; clients ask for far less. */
const CREDITS_MAX = 8_192

export type CreditWindow = {
  /** Whether these ids were granted and not used; uses them. */
  use(messageId: bigint, charge: number): boolean
  /** What to grant to a request that asks for so many; never leaves a client without any. */
  grant(asked: number): number
}

export function createCreditWindow(): CreditWindow {
  let low = 0n
  let high = 1n
  const used = new Set<bigint>()
  const outstanding = (): number => Number(high - low) - used.size
  return {
    use(messageId, charge) {
      const count = BigInt(Math.max(charge, 1))
      if (messageId < low || messageId + count > high) return false
      for (let id = messageId; id < messageId + count; id += 1n) if (used.has(id)) return false
      for (let id = messageId; id < messageId + count; id += 1n) used.add(id)
      while (used.delete(low)) low += 1n
      return true
    },
    grant(asked) {
      const room = Math.min(CREDITS_MAX - outstanding(), CREDITS_MAX - Number(high - low))
      const granted = Math.max(Math.min(asked, room), outstanding() === 0 ? 1 : 0)
      high += BigInt(granted)
      return granted
    },
  }
}
