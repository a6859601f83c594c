// Inheritance: the descriptors that Azure Files gives to the first file and directory of a share, and every case of the
// inheritance flags ([MS-DTYP] 2.5.3.4).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatSddl } from './sddl-format.ts'
import { parseDescriptorText } from './sddl.ts'
import { DEFAULT_ROOT_DESCRIPTOR, inheritDescriptor } from './security-descriptor-inherit.ts'

test('a new share has the same descriptors as in the service', () => {
  const directory =
    'O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)' +
    '(A;OICI;0x1301bf;;;AU)(A;;FA;;;SY)(A;OICIIO;GA;;;CO)'
  const file = 'O:SYG:SYD:(A;;FA;;;BA)(A;;FA;;;SY)(A;;0x1200a9;;;BU)(A;;0x1301bf;;;AU)(A;;FA;;;SY)'
  assert.equal(formatSddl(DEFAULT_ROOT_DESCRIPTOR), directory)
  assert.equal(formatSddl(inheritDescriptor(DEFAULT_ROOT_DESCRIPTOR, true)), directory)
  assert.equal(formatSddl(inheritDescriptor(DEFAULT_ROOT_DESCRIPTOR, false)), file)
})

const KEEP = '(A;OICI;FA;;;SY)' // So that no child gets the default.

// prettier-ignore
const RULES: readonly (readonly [parent: string, directory: string, file: string])[] = [
  ['(A;;FR;;;WD)', '', ''],
  ['(A;CI;FR;;;WD)', '(A;CI;FR;;;WD)', ''],
  ['(A;OI;FR;;;WD)', '(A;OIIO;FR;;;WD)', '(A;;FR;;;WD)'],
  ['(A;OICI;FR;;;WD)', '(A;OICI;FR;;;WD)', '(A;;FR;;;WD)'],
  ['(A;OICIIO;FR;;;WD)', '(A;OICI;FR;;;WD)', '(A;;FR;;;WD)'],
  ['(A;CINP;FR;;;WD)', '(A;;FR;;;WD)', ''],
  ['(A;OINP;FR;;;WD)', '', '(A;;FR;;;WD)'],
  ['(A;OICINPIO;GA;;;CO)', '(A;;FA;;;BA)', '(A;;FA;;;BA)'],
  ['(A;CI;FR;;;CG)', '(A;;FR;;;BU)(A;CIIO;FR;;;CG)', ''],
  ['(D;OICI;GW;;;WD)', '(D;;FW;;;WD)(D;OICIIO;GW;;;WD)', '(D;;FW;;;WD)'],
  ['(A;OICI;FR;;;OW)', '(A;OICI;FR;;;OW)', '(A;;FR;;;OW)'],
  ['(OA;OICI;FR;;4c164200-20c0-11d0-a768-00aa006e0529;WD)',
    '(OA;OICIIO;FR;;4c164200-20c0-11d0-a768-00aa006e0529;WD)', ''],
]
const creator = { owner: 'S-1-5-32-544', group: 'S-1-5-32-545' }

for (const [parent, directory, file] of RULES) {
  test(`from ${parent} a directory inherits '${directory}', a file '${file}'`, () => {
    const from = parseDescriptorText(`O:SYG:SYD:${KEEP}${parent}`)
    const [ofDirectory, ofFile] = [true, false].map((is) => inheritDescriptor(from, is, creator))
    assert.equal(ofDirectory && formatSddl(ofDirectory), `O:BAG:BUD:${KEEP}${directory}`)
    assert.equal(ofFile && formatSddl(ofFile), `O:BAG:BUD:(A;;FA;;;SY)${file}`)
  })
}

// prettier-ignore
const LISTS: readonly (readonly [parent: string, child: string])[] = [
  // Marked as inherited only if the directory itself is auto-inherited.
  ['D:AI(A;OICIID;FR;;;WD)', 'D:AI(A;ID;FR;;;WD)'],
  ['D:PAI(A;OICI;FR;;;WD)', 'D:AI(A;ID;FR;;;WD)'],
  ['D:P(A;OICIID;FR;;;WD)', 'D:(A;;FR;;;WD)'],
  // Nothing to inherit: the creator and the system.
  ['D:(A;;FR;;;WD)', 'D:(A;;FA;;;BA)(A;;FA;;;SY)'],
  ['D:', 'D:(A;;FA;;;BA)(A;;FA;;;SY)'],
  ['D:NO_ACCESS_CONTROL', 'D:(A;;FA;;;BA)(A;;FA;;;SY)'],
  ['D:(A;OI;FA;;;SY)S:NO_ACCESS_CONTROL', 'D:(A;;FA;;;SY)'],
  ['D:(A;OI;FA;;;SY)S:(AU;OISA;FA;;;WD)', 'D:(A;;FA;;;SY)S:(AU;SA;FA;;;WD)'],
]

for (const [parent, child] of LISTS) {
  test(`a file below ${parent} has ${child}`, () => {
    const from = parseDescriptorText(parent)
    assert.equal(formatSddl(inheritDescriptor(from, false, creator)), `O:BAG:BU${child}`)
  })
}
