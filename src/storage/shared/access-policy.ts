// Stored access policies: at most five per container, queue, table or share, each with an id that a SAS can
// name. Times are stored as the service writes them (UTC, seven fractional digits), permissions as letters.
// Each service defines what its letters permit.
import { invalidXmlNode, StorageError } from './error.ts'

export type AccessPolicy = {
  readonly start?: string
  readonly expiry?: string
  readonly permission?: string
}

export type SignedIdentifier = { readonly id: string; readonly policy: AccessPolicy }

const IDENTIFIER_COUNT_MAX = 5
const ID_LENGTH_MAX = 64
const TIME = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,7}))?)?(Z|[+-]\d\d:\d\d)?)?$/

/** The letters that a policy of each service may have: those of a SAS for the same resource. */
export const POLICY_LETTERS = {
  blob: 'racwdxyltfmeopi',
  file: 'rcwdl',
  queue: 'raup',
  table: 'raud',
} as const

/** `letters` are those that the resource supports. */
export function checkSignedIdentifiers(
  identifiers: readonly SignedIdentifier[],
  letters: string,
): void {
  const ids = new Set(identifiers.map(({ id }) => id))
  const isTooLong = identifiers.some(({ id }) => id.length > ID_LENGTH_MAX)
  // The service validates the document against a schema, hence the code.
  if (identifiers.length > IDENTIFIER_COUNT_MAX || ids.size !== identifiers.length || isTooLong) {
    throw new StorageError('InvalidXmlDocument')
  }
  for (const { policy } of identifiers) {
    const isKnown = [...(policy.permission ?? '')].every((letter) => letters.includes(letter))
    if (!isKnown) throw new StorageError('InvalidXmlDocument')
  }
}

/** Normalizes the time of a policy: `YYYY-MM-DD` alone, or with hh:mm, seconds, fraction and zone. */
export function policyTime(name: 'Start' | 'Expiry', text: string): string {
  const match = TIME.exec(text)
  if (match === null) throw invalidXmlNode(name, text)
  const [, date, minutes = '00:00', secs = '00', fraction = '', zone = 'Z'] = match
  const timeMs = Date.parse(`${date}T${minutes}:${secs}${zone}`)
  const digits = fraction.padEnd(7, '0')
  if (Number.isNaN(timeMs)) throw invalidXmlNode(name, text)
  const iso = new Date(timeMs).toISOString()
  if (iso.length !== '2026-01-01T00:00:00.000Z'.length) throw invalidXmlNode(name, text)
  return `${iso.slice(0, 19)}.${digits}Z`
}

export function policyTimeMs(time: string): number {
  return Date.parse(time)
}
