// FILETIME: 100 ns ticks since 1601-01-01 UTC, [MS-DTYP] 2.3.3. A bigint, because present-day values do not fit in a
// double.

const EPOCH_DIFFERENCE_MS = 11_644_473_600_000n
const TICKS_PER_MS = 10_000n

/** Unix milliseconds, and the 100 ns ticks (0 to 9,999) after them. */
export type DecodedFiletime = { readonly ms: number; readonly ticks: number }

export function encodeFiletime(ms: number, ticks = 0): bigint {
  return (BigInt(ms) + EPOCH_DIFFERENCE_MS) * TICKS_PER_MS + BigInt(ticks)
}

export function decodeFiletime(filetime: bigint): DecodedFiletime {
  const ticks = ((filetime % TICKS_PER_MS) + TICKS_PER_MS) % TICKS_PER_MS
  const ms = (filetime - ticks) / TICKS_PER_MS - EPOCH_DIFFERENCE_MS
  return { ms: Number(ms), ticks: Number(ticks) }
}
