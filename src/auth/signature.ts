// HMAC-SHA256 signatures in base64, made with a ready KeyObject (making one from bytes for each
// request costs more than the HMAC) and compared in constant time. Clients repeat a SAS many times,
// so the signatures of strings that proved right are remembered, within a bound.
import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import { setBounded } from '../memory/remember.ts'

const REMEMBERED_COUNT_MAX = 2000
const REMEMBERED_LENGTH_MAX = 4096

const remembered = new WeakMap<KeyObject, Map<string, string>>()

export function sign(secret: KeyObject, text: string): string {
  return createHmac('sha256', secret).update(text, 'utf8').digest('base64')
}

export function isSameSignature(expected: string, given: string): boolean {
  const expectedBytes = Buffer.from(expected, 'utf8')
  const givenBytes = Buffer.from(given, 'utf8')
  return expectedBytes.length === givenBytes.length && timingSafeEqual(expectedBytes, givenBytes)
}

export function isSignedBy(secret: KeyObject, text: string, given: string): boolean {
  return isSameSignature(sign(secret, text), given)
}

/** As isSignedBy, for strings that come again. Only right ones are kept: nobody can flood it. */
export function isSignedByRemembered(secret: KeyObject, text: string, given: string): boolean {
  const known = remembered.get(secret)?.get(text)
  if (known !== undefined) return isSameSignature(known, given)
  const expected = sign(secret, text)
  if (!isSameSignature(expected, given)) return false
  if (text.length <= REMEMBERED_LENGTH_MAX) remember(secret, text, expected)
  return true
}

function remember(secret: KeyObject, text: string, signature: string): void {
  const map = remembered.get(secret) ?? new Map<string, string>()
  remembered.set(secret, map)
  setBounded(map, text, signature, REMEMBERED_COUNT_MAX)
}
