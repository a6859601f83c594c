// Fits an information class into the client's buffer, [MS-SMB2] 3.3.5.20. A buffer too small for the fixed part is
// INFO_LENGTH_MISMATCH. One large enough for that, but not for everything, is BUFFER_OVERFLOW, with the bytes that fit.
import type { NtStatusName } from '../status.ts'

export type Information = { readonly status: NtStatusName; readonly bytes: Buffer }

/** `lengthMin`: the smallest buffer for a class of variable length. */
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
