// HMAC-SHA256 signatures in base64, compared in constant time. Keys are KeyObjects: creating one from bytes for
// each request costs more than the HMAC. Clients send the same SAS many times, so verified signatures are cached.
import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import { setBounded } from '../memory/memoize.ts'

const CACHED_COUNT_MAX = 2000
const CACHED_LENGTH_MAX = 4096

/** Correct signatures by key and signed text. */
const cache = new WeakMap<KeyObject, Map<string, string>>()

export function sign(secret: KeyObject, text: string): string {
  return createHmac('sha256', secret).update(text, 'utf8').digest('base64')
}

export function isSameSignature(expected: string, given: string): boolean {
  const expectedBytes = Buffer.from(expected, 'utf8')
  const givenBytes = Buffer.from(given, 'utf8')
  return expectedBytes.length === givenBytes.length && timingSafeEqual(expectedBytes, givenBytes)
}

/** For a SAS, which clients send again and again. The cache holds only correct signatures, so wrong ones can't flood it. */
export function isSignedByCached(secret: KeyObject, text: string, given: string): boolean {
  const cached = cache.get(secret)?.get(text)
  if (cached !== undefined) return isSameSignature(cached, given)
  const expected = sign(secret, text)
  if (!isSameSignature(expected, given)) return false
  if (text.length <= CACHED_LENGTH_MAX) addToCache(secret, text, expected)
  return true
}

function addToCache(secret: KeyObject, text: string, signature: string): void {
  const signatures = cache.get(secret) ?? new Map<string, string>()
  cache.set(secret, signatures)
  setBounded(signatures, text, signature, CACHED_COUNT_MAX)
}
