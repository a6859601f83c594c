// Parses SDDL, the text form of a security descriptor ([MS-DTYP] 2.5.1), which requests use for permissions. Every parse
// error is FileInvalidPermission.
import { StorageError } from '../../shared/error.ts'
import type { Ace } from './security-descriptor-ace.ts'
import { isGuid } from './security-descriptor-guid.ts'
import { checkPermission, CONTROL, encodeSecurityDescriptor } from './security-descriptor.ts'
import type { SecurityDescriptor } from './security-descriptor.ts'
import { ACE_FLAG_WORDS, ACE_WORDS, ACL_FLAG_WORDS, LABEL_RIGHTS, NULL_ACL } from './sddl-word.ts'
import { SINGLE_RIGHTS, WHOLE_RIGHTS } from './sddl-word.ts'
import type { AclKind } from './sddl-word.ts'
import { parseSid } from './sid.ts'
import type { Sid } from './sid.ts'

// Far more than a descriptor of 64 KiB needs; rejects longer texts without parsing them.
const SDDL_CHARS_MAX = 512 * 1024

/** A permission in a request. As in the service, one without S: is returned with S:NO_ACCESS_CONTROL. */
export function parseSddl(text: string): SecurityDescriptor {
  const read = parseDescriptorText(text)
  checkPermission(read)
  const descriptor = { ...read, control: read.control | CONTROL.saclPresent }
  encodeSecurityDescriptor(descriptor) // Throws above 64 KiB.
  return descriptor
}

/** Any descriptor: no section is required, none added. */
export function parseDescriptorText(text: string): SecurityDescriptor {
  if (text.length > SDDL_CHARS_MAX) throw new StorageError('FileInvalidPermission')
  const parts = splitParts(text)
  const dacl = parseAcl('dacl', parts.get('D'))
  const sacl = parseAcl('sacl', parts.get('S'))
  return {
    control: CONTROL.selfRelative | dacl.control | sacl.control,
    owner: parseTrustee(parts.get('O')),
    group: parseTrustee(parts.get('G')),
    sacl: sacl.aces,
    dacl: dacl.aces,
  }
}

const PART =
  /([OGDS]):(S-1-(?:0x[\da-f]{1,12}|\d+)(?:-\d+)*|[A-Z]{2}(?=$|[OGDS]:)|(?:NO_ACCESS_CONTROL|P|A[IR])*(?:\([^()]*\))*)/iy

function splitParts(text: string): ReadonlyMap<string, string> {
  const parts = new Map<string, string>()
  let offset = 0
  while (offset < text.length) {
    PART.lastIndex = offset
    const [whole = '', tag = '', value = ''] = PART.exec(text) ?? []
    const name = tag.toUpperCase()
    if (whole === '' || parts.has(name)) throw new StorageError('FileInvalidPermission')
    parts.set(name, value)
    offset += whole.length
  }
  return parts
}

function parseTrustee(text: string | undefined): Sid | undefined {
  return text === undefined ? undefined : requireSid(text)
}

function requireSid(text: string): Sid {
  const sid = parseSid(text)
  if (sid === undefined) throw new StorageError('FileInvalidPermission')
  return sid
}

type Acl = { readonly control: number; readonly aces: readonly Ace[] | undefined }

function parseAcl(kind: AclKind, text: string | undefined): Acl {
  if (text === undefined) return { control: 0, aces: undefined }
  const start = text.indexOf('(') < 0 ? text.length : text.indexOf('(')
  const flags = text.slice(0, start).toUpperCase()
  const isNull = flags.endsWith(NULL_ACL)
  if (isNull && start < text.length) throw new StorageError('FileInvalidPermission')
  const words = isNull ? flags.slice(0, -NULL_ACL.length) : flags
  const present = kind === 'dacl' ? CONTROL.daclPresent : CONTROL.saclPresent
  const control = present | parseAclFlags(kind, words)
  if (isNull) return { control, aces: undefined }
  const entries = text.slice(start).match(/\([^()]*\)/g) ?? []
  return { control, aces: entries.map((entry) => parseAce(kind, entry.slice(1, -1))) }
}

function parseAclFlags(kind: AclKind, text: string): number {
  const words = text.match(/P|A[IR]|.+/g) ?? []
  return words.reduce((bits, word) => bits | bitsOf(ACL_FLAG_WORDS[kind], word), 0)
}

function parseAce(kind: AclKind, text: string): Ace {
  const fields = text.split(';')
  const [typeText = '', flags = '', rights = '', object = '', inherited = '', sid = ''] = fields
  const word = ACE_WORDS.get(typeText.toUpperCase())
  if (fields.length !== 6 || word?.kind !== kind) throw new StorageError('FileInvalidPermission')
  if (!word.object && (object !== '' || inherited !== '')) {
    throw new StorageError('FileInvalidPermission')
  }
  return {
    type: word.type,
    flags: pairs(flags).reduce((bits, pair) => bits | bitsOf(ACE_FLAG_WORDS, pair), 0),
    mask: parseRights(rights, typeText.toUpperCase() === 'ML'),
    sid: requireSid(sid),
    ...(object === '' ? {} : { objectType: parseGuid(object) }),
    ...(inherited === '' ? {} : { inheritedObjectType: parseGuid(inherited) }),
  }
}

function parseGuid(text: string): string {
  if (!isGuid(text)) throw new StorageError('FileInvalidPermission')
  return text.toLowerCase()
}

function parseRights(text: string, isLabel: boolean): number {
  if (/^(0x[\da-f]{1,8}|\d{1,10})$/i.test(text)) {
    const mask = Number(text)
    if (mask >= 2 ** 32) throw new StorageError('FileInvalidPermission')
    return mask
  }
  const words = isLabel ? LABEL_RIGHTS : RIGHTS
  return pairs(text).reduce((bits, pair) => bits | bitsOf(words, pair), 0) >>> 0
}

const RIGHTS: ReadonlyMap<string, number> = new Map([...SINGLE_RIGHTS, ...WHOLE_RIGHTS])

const pairs = (text: string): readonly string[] => text.toUpperCase().match(/[^]{1,2}/g) ?? []

function bitsOf(words: ReadonlyMap<string, number>, word: string): number {
  const bits = words.get(word)
  if (bits === undefined) throw new StorageError('FileInvalidPermission')
  return bits
}
