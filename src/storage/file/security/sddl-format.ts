// Formats a security descriptor as SDDL ([MS-DTYP] 2.5.1), like Windows and the service. An entry that SDDL can't express
// is CannotConvertToSddlDueToCustomAce; the client can still request the Binary format.
import { StorageError } from '../../shared/error.ts'
import { ACE_TYPE, isOpaque } from './security-descriptor-ace.ts'
import type { AnyAce } from './security-descriptor-ace.ts'
import { CONTROL } from './security-descriptor.ts'
import type { SecurityDescriptor } from './security-descriptor.ts'
import { ACE_FLAG_WORDS, ACE_WORDS, ACL_FLAG_WORDS, LABEL_RIGHTS, NULL_ACL } from './sddl-word.ts'
import { SINGLE_RIGHTS, WHOLE_RIGHTS } from './sddl-word.ts'
import type { AclKind } from './sddl-word.ts'
import { formatSid } from './sid.ts'

export function formatSddl(descriptor: SecurityDescriptor): string {
  const { owner, group } = descriptor
  return [
    owner === undefined ? '' : `O:${formatSid(owner)}`,
    group === undefined ? '' : `G:${formatSid(group)}`,
    formatAcl('dacl', descriptor),
    formatAcl('sacl', descriptor),
  ].join('')
}

function formatAcl(kind: AclKind, descriptor: SecurityDescriptor): string {
  const aces = descriptor[kind]
  const present = kind === 'dacl' ? CONTROL.daclPresent : CONTROL.saclPresent
  if (aces === undefined && (descriptor.control & present) === 0) return ''
  const flags = wordsOf(ACL_FLAG_WORDS[kind], descriptor.control)
  const entries = aces?.map((ace) => formatAce(kind, ace)).join('') ?? NULL_ACL
  return `${kind === 'dacl' ? 'D' : 'S'}:${flags}${entries}`
}

const WORD_OF_TYPE = new Map([...ACE_WORDS].map(([word, { type, kind }]) => [type, { word, kind }]))

const FLAGS_KNOWN = [...ACE_FLAG_WORDS.values()].reduce((all, bit) => all | bit, 0)

function formatAce(kind: AclKind, ace: AnyAce): string {
  const row = WORD_OF_TYPE.get(ace.type)
  const known = row?.kind === kind && (ace.flags & ~FLAGS_KNOWN) === 0
  if (!known || isOpaque(ace) || ace.applicationBytes !== undefined) {
    throw new StorageError('CannotConvertToSddlDueToCustomAce')
  }
  const flags = wordsOf(ACE_FLAG_WORDS, ace.flags)
  const rights = formatRights(ace.mask, ace.type === ACE_TYPE.mandatoryLabel)
  const guids = `${ace.objectType ?? ''};${ace.inheritedObjectType ?? ''}`
  return `(${row.word};${flags};${rights};${guids};${formatSid(ace.sid)})`
}

function formatRights(mask: number, isLabel: boolean): string {
  const whole = [...WHOLE_RIGHTS].find(([, bits]) => bits === mask)
  if (whole !== undefined && !isLabel) return whole[0]
  const words = isLabel ? LABEL_RIGHTS : SINGLE_RIGHTS
  const known = [...words.values()].reduce((all, bit) => all | bit, 0)
  if ((mask & ~known) !== 0) return `0x${mask.toString(16)}`
  return wordsOf(words, mask)
}

function wordsOf(words: ReadonlyMap<string, number>, bits: number): string {
  return [...words].map(([word, bit]) => ((bits & bit) === 0 ? '' : word)).join('')
}
