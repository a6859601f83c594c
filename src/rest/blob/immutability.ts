// How long a blob is kept: Set Blob Expiry, immutability policies and legal holds.
import { formatHttpDate } from '../../http/protocol/date.ts'
import {
  optionalBoolean,
  optionalDateMs,
  optionalHeader,
  optionalInt,
  optionalWord,
} from '../../http/protocol/header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import { setBlobExpiry, type Expiry } from '../../storage/blob/expiry.ts'
import {
  deleteImmutabilityPolicy,
  setImmutabilityPolicy,
  setLegalHold,
} from '../../storage/blob/immutability.ts'
import {
  checkNoConditions,
  NO_CONDITIONS,
  type Conditions,
} from '../../storage/shared/condition.ts'
import { invalidHeader, missingHeader } from '../../storage/shared/error.ts'
import { validators } from '../shared/answer-header.ts'
import { blobConditions, decodeImmutability, guardWith } from './header.ts'
import { blobAddress, blobAddressAt, type BlobCall } from './service.ts'

/** Azure supports this only in accounts with a hierarchical namespace; here any blob may expire. */
export async function runSetBlobExpiry({ request, service }: BlobCall): Promise<Answer> {
  checkNoConditions(blobConditions(request))
  const [address, guard] = [blobAddress(request), guardWith(request, NO_CONDITIONS)]
  const [expiry, { nowMs }] = [decodeExpiry(request), service.moment()]
  const blob = await service.kv.write((tx) => setBlobExpiry(tx, address, guard, expiry, nowMs))
  return { status: 200, headers: validators(blob) }
}

export const EXPIRY_OPTION = 'x-ms-expiry-option'
const TIME = 'x-ms-expiry-time'

/** The option decides what the time is: milliseconds from the creation or from now, or a date. */
export function decodeExpiry({ headers }: Request): Expiry {
  const option = optionalWord(headers, EXPIRY_OPTION, [
    'NeverExpire',
    'RelativeToCreation',
    'RelativeToNow',
    'Absolute',
  ])
  if (option === undefined) throw missingHeader(EXPIRY_OPTION)
  if (option === 'NeverExpire') {
    const time = optionalHeader(headers, TIME)
    if (time !== undefined) throw invalidHeader(TIME, time)
    return { option }
  }
  if (option === 'Absolute') {
    const atMs = optionalDateMs(headers, TIME)
    if (atMs === undefined) throw missingHeader(TIME)
    return { option, atMs }
  }
  const afterMs = optionalInt(headers, TIME)
  if (afterMs === undefined) throw missingHeader(TIME)
  return { option, afterMs }
}

export async function runSetImmutabilityPolicy({ request, service }: BlobCall): Promise<Answer> {
  const policy = decodeImmutability(request)
  if (policy === undefined) throw missingHeader('x-ms-immutability-policy-until-date')
  const conditions = timeCondition(request)
  const [address, { nowMs }] = [blobAddressAt(request), service.moment()]
  await service.kv.write((tx) => setImmutabilityPolicy(tx, address, conditions, policy, nowMs))
  const headers = [
    'x-ms-immutability-policy-until-date', formatHttpDate(policy.untilMs),
    'x-ms-immutability-policy-mode', policy.mode.toLowerCase(),
  ] // prettier-ignore
  return { status: 200, headers }
}

/** Accepts If-Unmodified-Since and no other condition. */
function timeCondition(request: Request): Conditions {
  const { ifUnmodifiedSinceMs, ...others } = blobConditions(request)
  checkNoConditions(others)
  return ifUnmodifiedSinceMs === undefined ? NO_CONDITIONS : { ifUnmodifiedSinceMs }
}

export async function runDeleteImmutabilityPolicy({ request, service }: BlobCall): Promise<Answer> {
  checkNoConditions(blobConditions(request))
  const [address, { nowMs }] = [blobAddressAt(request), service.moment()]
  await service.kv.write((tx) => deleteImmutabilityPolicy(tx, address, nowMs))
  return { status: 200, headers: [] }
}

export async function runSetLegalHold({ request, service }: BlobCall): Promise<Answer> {
  checkNoConditions(blobConditions(request))
  const isHeld = optionalBoolean(request.headers, 'x-ms-legal-hold')
  if (isHeld === undefined) throw missingHeader('x-ms-legal-hold')
  const [address, { nowMs }] = [blobAddressAt(request), service.moment()]
  await service.kv.write((tx) => setLegalHold(tx, address, isHeld, nowMs))
  return { status: 200, headers: ['x-ms-legal-hold', String(isHeld)] }
}
