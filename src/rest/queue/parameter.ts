// Decodes the query parameters of messages from whole seconds to milliseconds. Anything but a whole number is
// InvalidQueryParameterValue; one that is too small or too large is OutOfRangeQueryParameterValue.
import type { Request } from '../../http/door/operation.ts'
import { isAtLeast } from '../../http/door/version.ts'
import { invalidQuery, outOfRangeQuery, StorageError } from '../../storage/shared/error.ts'
import { decodePopReceipt, type PopReceipt } from '../../storage/queue/pop-receipt.ts'

const HOUR_SECONDS = 60 * 60
const WEEK_SECONDS = 7 * 24 * HOUR_SECONDS
const INT32_MAX = 2 ** 31 - 1

type Bounds = { readonly min: number; readonly max: number }

/** An empty parameter counts as missing. */
function optionalWhole({ query }: Request, name: string): number | undefined {
  const text = query.get(name)
  if (text === undefined || text === '') return undefined
  const value = /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (!(Math.abs(value) <= INT32_MAX)) throw invalidQuery(name, text)
  return value
}

function optionalWithin(request: Request, name: string, bounds: Bounds): number | undefined {
  const value = optionalWhole(request, name)
  if (value === undefined || (value >= bounds.min && value <= bounds.max)) return value
  throw outOfRangeQuery(name, String(value), bounds)
}

export function requiredParameter({ query }: Request, name: string): string {
  const text = query.get(name)
  if (text !== undefined && text !== '') return text
  throw new StorageError('MissingRequiredQueryParameter', { QueryParameterName: name })
}

/** `numofmessages` of Get and Peek. */
export function decodeMessageCount(request: Request): number {
  return optionalWithin(request, 'numofmessages', { min: 1, max: 32 }) ?? 1
}

/** Get hides messages for at least a second; Put and Update may leave them visible. */
export function decodeVisibilityTimeout(
  request: Request,
  seconds: { readonly min: number; readonly otherwise: number },
): number {
  const max = isAtLeast(request.version, '2011-08-18') ? WEEK_SECONDS : 2 * HOUR_SECONDS
  const found = optionalWithin(request, 'visibilitytimeout', { min: seconds.min, max })
  return (found ?? seconds.otherwise) * 1_000
}

const NEVER = -1

/** `messagettl`; undefined for a message that never expires. */
export function decodeTimeToLive(request: Request): number | undefined {
  const isOld = !isAtLeast(request.version, '2017-07-29')
  if (!isOld && optionalWhole(request, 'messagettl') === NEVER) return undefined
  const bounds = { min: 1, max: isOld ? WEEK_SECONDS : INT32_MAX }
  return (optionalWithin(request, 'messagettl', bounds) ?? WEEK_SECONDS) * 1_000
}

export function decodePopReceiptParameter(request: Request): PopReceipt {
  const text = requiredParameter(request, 'popreceipt')
  const receipt = decodePopReceipt(text)
  if (receipt === undefined) throw invalidQuery('popreceipt', text, 'Invalid pop receipt format')
  return receipt
}
