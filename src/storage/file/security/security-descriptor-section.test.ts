// Sections of a descriptor: QUERY_INFO of SMB returns them, SET_INFO replaces them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatSddl } from './sddl-format.ts'
import { parseDescriptorText } from './sddl.ts'
import { mergeDescriptor, SECTION, selectDescriptor } from './security-descriptor-section.ts'

const OLD = 'O:SYG:BAD:PAI(A;;FA;;;SY)S:AI(AU;SA;FA;;;WD)'

const SELECTED: readonly (readonly [sections: number, text: string])[] = [
  [0, ''],
  [SECTION.owner, 'O:SY'],
  [SECTION.group, 'G:BA'],
  [SECTION.dacl, 'D:PAI(A;;FA;;;SY)'],
  [SECTION.sacl, 'S:AI(AU;SA;FA;;;WD)'],
  [7, 'O:SYG:BAD:PAI(A;;FA;;;SY)'],
  [15, OLD],
]

for (const [sections, text] of SELECTED) {
  test(`sections ${sections} of ${OLD} are '${text}'`, () => {
    assert.equal(formatSddl(selectDescriptor(parseDescriptorText(OLD), sections)), text)
  })
}

// prettier-ignore
const MERGED: readonly (readonly [next: string, sections: number, merged: string])[] = [
  ['O:BUG:BUD:(A;;FR;;;WD)', 0, OLD],
  ['O:BUG:BUD:(A;;FR;;;WD)', 1, 'O:BUG:BAD:PAI(A;;FA;;;SY)S:AI(AU;SA;FA;;;WD)'],
  ['O:BUG:BUD:(A;;FR;;;WD)', 2, 'O:SYG:BUD:PAI(A;;FA;;;SY)S:AI(AU;SA;FA;;;WD)'],
  ['O:BUG:BUD:(A;;FR;;;WD)', 4, 'O:SYG:BAD:(A;;FR;;;WD)S:AI(AU;SA;FA;;;WD)'],
  ['O:BUG:BUD:(A;;FR;;;WD)', 15, 'O:BUG:BUD:(A;;FR;;;WD)S:AI(AU;SA;FA;;;WD)'],
  ['D:NO_ACCESS_CONTROLS:', 12, 'O:SYG:BAD:NO_ACCESS_CONTROLS:'],
  // AI is stored only together with AR, which is never stored.
  ['D:AI(A;ID;FR;;;WD)', 4, 'O:SYG:BAD:(A;ID;FR;;;WD)S:AI(AU;SA;FA;;;WD)'],
  ['D:ARAI(A;ID;FR;;;WD)', 4, 'O:SYG:BAD:AI(A;ID;FR;;;WD)S:AI(AU;SA;FA;;;WD)'],
  ['D:AR(A;ID;FR;;;WD)', 4, 'O:SYG:BAD:(A;ID;FR;;;WD)S:AI(AU;SA;FA;;;WD)'],
  ['S:ARAI', 8, 'O:SYG:BAD:PAI(A;;FA;;;SY)S:AI'],
  // Generic rights of effective entries are stored as file rights; those of inherit-only entries are not changed.
  ['D:(A;OI;GR;;;WD)(A;OIIO;GA;;;CO)', 4, 'O:SYG:BAD:(A;OI;FR;;;WD)(A;OIIO;GA;;;CO)S:AI(AU;SA;FA;;;WD)'],
  // A requested section that is missing does not change.
  ['', 15, OLD],
]

for (const [next, sections, merged] of MERGED) {
  test(`setting sections ${sections} of '${next}' gives '${merged}'`, () => {
    const [old, set] = [parseDescriptorText(OLD), parseDescriptorText(next)]
    assert.equal(formatSddl(mergeDescriptor(old, set, sections)), merged)
  })
}
