// File attributes: the bits of [MS-FSCC] 2.6 and their names in REST.
import type { NodeKind } from './node.ts'

export const READ_ONLY = 0x1
export const HIDDEN = 0x2
export const SYSTEM = 0x4
export const DIRECTORY = 0x10
export const ARCHIVE = 0x20
export const NORMAL = 0x80

// prettier-ignore
const NAMES: readonly (readonly [name: string, bit: number])[] = [
  ['ReadOnly', READ_ONLY], ['Hidden', HIDDEN], ['System', SYSTEM], ['Directory', DIRECTORY], ['Archive', ARCHIVE],
  ['Temporary', 0x100], ['Offline', 0x1000], ['NotContentIndexed', 0x2000], ['NoScrubData', 0x2_0000],
]

const BITS = new Map(NAMES.map(([name, bit]) => [name.toLowerCase(), bit]))

/** Attributes that clients may set; the others follow from the kind of node. */
export const SETTABLE_ATTRIBUTES = NAMES.reduce((bits, [, bit]) => bits | bit, 0) & ~DIRECTORY

type Attributed = { readonly kind: NodeKind; readonly attributes: number }

/** The REST format: `None`, or names separated by ' | '. */
export function attributesText({ kind, attributes }: Attributed): string {
  const all = kind === 'directory' ? attributes | DIRECTORY : attributes
  const names = NAMES.filter(([, bit]) => (all & bit) !== 0).map(([name]) => name)
  return names.length === 0 ? 'None' : names.join(' | ')
}

/** The SMB format. */
export function attributeBits({ kind, attributes }: Attributed): number {
  const all = kind === 'directory' ? attributes | DIRECTORY : attributes
  return all === 0 ? NORMAL : all
}

/** Undefined if the text is invalid. `None` must be the only name; `Directory` is for directories only. */
export function parseAttributes(text: string, kind: NodeKind): number | undefined {
  const names = text.split('|').map((name) => name.trim().toLowerCase())
  if (names.length === 1 && names[0] === 'none') return 0
  let attributes = 0
  for (const name of names) {
    const bit = BITS.get(name)
    if (bit === undefined || (bit === DIRECTORY && kind !== 'directory')) return undefined
    attributes |= bit
  }
  return attributes & ~DIRECTORY
}
