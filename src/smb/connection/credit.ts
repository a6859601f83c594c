// The window of message ids ([MS-SMB2] 3.3.1.1, 3.3.5.2.3): a client may use each granted id once, in any order. An
// id outside the window ends the connection.

/** The same as Samba's; clients request far fewer. */
const CREDITS_MAX = 8_192

export type CreditWindow = {
  /** Uses these ids. False if some were not granted or are already used. */
  use(messageId: bigint, charge: number): boolean
  /** Grants up to the requested number. Never leaves a client without credits. */
  grant(requested: number): number
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
    grant(requested) {
      const room = Math.min(CREDITS_MAX - outstanding(), CREDITS_MAX - Number(high - low))
      const granted = Math.max(Math.min(requested, room), outstanding() === 0 ? 1 : 0)
      high += BigInt(granted)
      return granted
    },
  }
}
