// How an information class meets the client's buffer, [MS-SMB2] 3.3.5.20: too small for the fixed part is
// INFO_LENGTH_MISMATCH; large enough for that but not for all of it is BUFFER_OVERFLOW and what fits.
import type { NtStatusName } from '../status.ts'

export type Information = { readonly status: NtStatusName; readonly bytes: Buffer }

/** An encoder, and for a class of variable length the bytes that it must at least be given. */
export type InformationClass<Facts> = {
  readonly encode: (facts: Facts) => Buffer
  readonly lengthMin?: number
}

export function refuseInformation(status: NtStatusName): Information {
  return { status, bytes: Buffer.alloc(0) }
}

export function fitInformation<Facts>(
  informationClass: InformationClass<Facts>,
  facts: Facts,
  outputMaxBytes: number,
): Information {
  const bytes = informationClass.encode(facts)
  if (outputMaxBytes < (informationClass.lengthMin ?? bytes.length)) {
    return refuseInformation('INFO_LENGTH_MISMATCH')
  }
  if (bytes.length <= outputMaxBytes) return { status: 'SUCCESS', bytes }
  return { status: 'BUFFER_OVERFLOW', bytes: bytes.subarray(0, outputMaxBytes) }
}
