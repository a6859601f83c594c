// The words of SDDL ([MS-DTYP] 2.5.1.1) as tables: entry types, entry flags, list flags and rights.
import { ACE_TYPE } from './security-descriptor-ace.ts'
import { CONTROL } from './security-descriptor.ts'

export type AclKind = 'dacl' | 'sacl'

type AceWord = { readonly type: number; readonly kind: AclKind; readonly object: boolean }

/** Conditional and claim entries (XA, XD, XU, ZA, RA) have a language of their own and are not supported. */
export const ACE_WORDS: ReadonlyMap<string, AceWord> = new Map([
  ['A', { type: ACE_TYPE.allow, kind: 'dacl', object: false }],
  ['D', { type: ACE_TYPE.deny, kind: 'dacl', object: false }],
  ['OA', { type: ACE_TYPE.allowObject, kind: 'dacl', object: true }],
  ['OD', { type: ACE_TYPE.denyObject, kind: 'dacl', object: true }],
  ['AU', { type: ACE_TYPE.audit, kind: 'sacl', object: false }],
  ['AL', { type: ACE_TYPE.alarm, kind: 'sacl', object: false }],
  ['OU', { type: ACE_TYPE.auditObject, kind: 'sacl', object: true }],
  ['OL', { type: ACE_TYPE.alarmObject, kind: 'sacl', object: true }],
  ['ML', { type: ACE_TYPE.mandatoryLabel, kind: 'sacl', object: false }],
  ['SP', { type: ACE_TYPE.scopedPolicy, kind: 'sacl', object: false }],
])

/** In the order that Windows writes them: by bit. */
export const ACE_FLAG_WORDS: ReadonlyMap<string, number> = new Map([
  ['OI', 0x01],
  ['CI', 0x02],
  ['NP', 0x04],
  ['IO', 0x08],
  ['ID', 0x10],
  ['SA', 0x40],
  ['FA', 0x80],
])

export const ACL_FLAG_WORDS: Readonly<Record<AclKind, ReadonlyMap<string, number>>> = {
  dacl: new Map([
    ['P', CONTROL.daclProtected],
    ['AR', CONTROL.daclAutoInheritRequired],
    ['AI', CONTROL.daclAutoInherited],
  ]),
  sacl: new Map([
    ['P', CONTROL.saclProtected],
    ['AR', CONTROL.saclAutoInheritRequired],
    ['AI', CONTROL.saclAutoInherited],
  ]),
}

/** A list that is present but NULL. */
export const NULL_ACL = 'NO_ACCESS_CONTROL'

/** Words for whole masks; written if the mask is exactly that. */
export const WHOLE_RIGHTS: ReadonlyMap<string, number> = new Map([
  ['FA', 0x1f01ff],
  ['FR', 0x120089],
  ['FW', 0x120116],
  ['FX', 0x1200a0],
  ['KA', 0x0f003f],
  ['KR', 0x020019],
  ['KW', 0x020006],
  ['KX', 0x020019],
])

/** Words for single bits, in the order that Windows writes them. */
export const SINGLE_RIGHTS: ReadonlyMap<string, number> = new Map([
  ['CC', 0x0001],
  ['DC', 0x0002],
  ['LC', 0x0004],
  ['SW', 0x0008],
  ['RP', 0x0010],
  ['WP', 0x0020],
  ['DT', 0x0040],
  ['LO', 0x0080],
  ['CR', 0x0100],
  ['SD', 0x00010000],
  ['RC', 0x00020000],
  ['WD', 0x00040000],
  ['WO', 0x00080000],
  ['GA', 0x10000000],
  ['GX', 0x20000000],
  ['GW', 0x40000000],
  ['GR', 0x80000000],
])

/** Only in a mandatory label. */
export const LABEL_RIGHTS: ReadonlyMap<string, number> = new Map([
  ['NW', 1],
  ['NR', 2],
  ['NX', 4],
])
