// The answers of LSA's lookups in NDR ([MS-LSAT] 2.2). The length of every part is a multiple of 4 bytes, so none needs
// padding.
import { encodeSid, type Sid } from '../../storage/file/security/sid.ts'
import { SID_USE, type LsaDomain, type LsaName } from './lsa-name.ts'
import { encodeU32, REFERENT } from './ndr.ts'

/** The index of the domain of an unknown name. */
const NO_DOMAIN = -1

/** The fixed part of RPC_UNICODE_STRING: lengths in bytes, and a pointer. */
function encodeTextHead(text: string): Uint8Array {
  const lengthBytes = 2 * text.length
  return encodeU32(lengthBytes | (lengthBytes << 16), text === '' ? 0 : REFERENT)
}

/** The text that it points to: conformant and varying, without a NUL. */
function encodeTextBody(text: string): Uint8Array {
  if (text === '') return Buffer.alloc(0)
  const chars = Buffer.from(text, 'utf16le')
  const padding = Buffer.alloc(-chars.length & 3)
  return Buffer.concat([encodeU32(text.length, 0, text.length), chars, padding])
}

/** RPC_SID: a conformant structure. */
function encodeSidBody(sid: Sid): Uint8Array {
  const bytes = encodeSid(sid)
  return Buffer.concat([encodeU32((bytes.length - 8) / 4), bytes])
}

/** A count, a pointer, and then the array: the elements, followed by what they point to. */
function encodeArray(
  elements: readonly (readonly [fixed: Uint8Array, ...pointees: readonly Uint8Array[]])[],
  ...behindPointer: readonly Uint8Array[]
): Uint8Array {
  const count = elements.length
  if (count === 0) return Buffer.concat([encodeU32(0, 0), ...behindPointer])
  return Buffer.concat([
    encodeU32(count, REFERENT),
    ...behindPointer,
    encodeU32(count),
    ...elements.map(([fixed]) => fixed),
    ...elements.flatMap(([, ...pointees]) => pointees),
  ])
}

/** The domains of these names, each once. */
export function domainsOf(names: readonly (LsaName | undefined)[]): readonly LsaDomain[] {
  return [...new Set(names.flatMap((found) => (found === undefined ? [] : [found.domain])))]
}

/** PLSAPR_REFERENCED_DOMAIN_LIST. Clients ignore MaxEntries. */
export function encodeDomains(domains: readonly LsaDomain[]): Uint8Array {
  const elements = domains.map(
    ({ name, sid }) =>
      [
        Buffer.concat([encodeTextHead(name), encodeU32(REFERENT)]),
        encodeTextBody(name),
        encodeSidBody(sid),
      ] as const,
  )
  return Buffer.concat([encodeU32(REFERENT), encodeArray(elements, encodeU32(domains.length))])
}

const indexIn = (domains: readonly LsaDomain[], found: LsaName | undefined): number =>
  found === undefined ? NO_DOMAIN : domains.indexOf(found.domain)

export type LookupResult<Key> = { readonly key: Key; readonly found: LsaName | undefined }

/** LSAPR_TRANSLATED_NAMES, or …_EX with flags. The name of an unknown SID is its text. */
export function encodeNames(
  results: readonly LookupResult<Sid>[],
  domains: readonly LsaDomain[],
  hasFlags: boolean,
): Uint8Array {
  return encodeArray(
    results.map(({ key, found }) => {
      // A domain is its own domain and has no name in it.
      const name = found === undefined ? key : found.use === SID_USE.domain ? '' : found.name
      const fixed = Buffer.concat([
        encodeU32(found?.use ?? SID_USE.unknown),
        encodeTextHead(name),
        encodeU32(indexIn(domains, found), ...(hasFlags ? [0] : [])),
      ])
      return [fixed, encodeTextBody(name)] as const
    }),
  )
}

/** The form of SIDs in an answer: relative to their domain, or whole. */
export type SidForm = 'relative' | 'relativeEx' | 'whole'

/** LSAPR_TRANSLATED_SIDS, …_EX and …_EX2. */
export function encodeSids(
  results: readonly LookupResult<string>[],
  domains: readonly LsaDomain[],
  form: SidForm,
): Uint8Array {
  return encodeArray(
    results.map(({ found }) => {
      const use = found?.use ?? SID_USE.unknown
      const index = indexIn(domains, found)
      if (form !== 'whole') {
        const flags = form === 'relativeEx' ? [0] : []
        return [encodeU32(use, relativeIdOf(found), index, ...flags)] as const
      }
      const fixed = encodeU32(use, found === undefined ? 0 : REFERENT, index, 0)
      return found === undefined ? [fixed] : [fixed, encodeSidBody(found.sid)]
    }),
  )
}

/** A domain has no relative id: [MS-LSAT] 2.2.15. */
function relativeIdOf(found: LsaName | undefined): number {
  if (found === undefined || found.use === SID_USE.domain) return 0xffff_ffff
  return Number(found.sid.slice(found.sid.lastIndexOf('-') + 1))
}

/** POLICY_INFORMATION of a domain ([MS-LSAD] 2.2.4.5, 2.2.4.6): a pointer, the arm of the union, and the domain. */
export function encodeDomainPolicy(
  informationClass: number,
  { name, sid }: { readonly name: string; readonly sid: Sid | undefined },
): Uint8Array {
  return Buffer.concat([
    encodeU32(REFERENT, informationClass),
    encodeTextHead(name),
    encodeU32(sid === undefined ? 0 : REFERENT),
    encodeTextBody(name),
    sid === undefined ? Buffer.alloc(0) : encodeSidBody(sid),
  ])
}
