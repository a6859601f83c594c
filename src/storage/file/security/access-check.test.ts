// The access check of [MS-DTYP] 2.5.3.2, for a user in Authenticated Users and Everyone.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessAllowed, mapGenericRights } from './access-check.ts'
import { parseDescriptorText } from './sddl.ts'

const USER = 'S-1-5-21-1-2-3-1001'
const SIDS: ReadonlySet<string> = new Set([USER, 'S-1-5-11', 'S-1-1-0'])
const MAXIMUM = 0x02000000
const [READ, WRITE, ALL] = [0x120089, 0x120116, 0x1f01ff]

// prettier-ignore
const CHECKS: readonly (readonly [sddl: string, desired: number, granted: number])[] = [
  ['O:SYD:', READ, 0],
  ['O:SYD:', MAXIMUM, 0],
  ['O:SYD:NO_ACCESS_CONTROL', ALL, ALL],
  ['O:SY', MAXIMUM, ALL],
  ['O:SYD:(A;;FR;;;WD)', READ, READ],
  ['O:SYD:(A;;FR;;;WD)', 1, 1],
  ['O:SYD:(A;;FR;;;WD)', 0x80000000, READ],
  ['O:SYD:(A;;GR;;;WD)', READ, READ],
  ['O:SYD:(A;;FR;;;WD)', WRITE, 0],
  ['O:SYD:(A;;FR;;;WD)(A;;FW;;;AU)', READ | WRITE, READ | WRITE],
  ['O:SYD:(A;;FR;;;SY)', READ, 0],
  ['O:SYD:(A;OIIO;FR;;;WD)', READ, 0],
  ['O:SYD:(D;;WP;;;WD)(A;;FA;;;WD)', 0x20, 0],
  ['O:SYD:(D;;WP;;;WD)(A;;FA;;;WD)', MAXIMUM, 0x1f01df],
  ['O:SYD:(A;;FA;;;WD)(D;;WP;;;WD)', MAXIMUM, ALL],
  ['O:SYD:(A;;FR;;;WD)', MAXIMUM | 1, READ],
  ['O:SYD:(A;;FR;;;WD)', MAXIMUM | 2, 0],
  // The owner may always read and set the DACL, unless there is an OWNER RIGHTS entry.
  [`O:${USER}D:`, 0x60000, 0x60000],
  [`O:${USER}D:`, MAXIMUM, 0x60000],
  [`O:${USER}D:(D;;FA;;;WD)`, MAXIMUM, 0x60000],
  [`O:${USER}D:(A;;RC;;;OW)`, MAXIMUM, 0x20000],
  ['O:SYD:(A;;RC;;;OW)', MAXIMUM, 0],
  // A DACL can't grant access to the SACL.
  ['O:SYD:(A;;GA;;;WD)', 0x01000000, 0],
  // An entry for a part of an object grants nothing, but denies.
  ['O:SYD:(OA;;FR;4c164200-20c0-11d0-a768-00aa006e0529;;WD)', READ, 0],
  ['O:SYD:(OA;;FR;;;WD)', READ, READ],
  ['O:SYD:(OD;;FR;4c164200-20c0-11d0-a768-00aa006e0529;;WD)(A;;FA;;;WD)', READ, 0],
]

for (const [sddl, desired, granted] of CHECKS) {
  test(`${sddl || 'nothing'} grants 0x${granted.toString(16)} of 0x${desired.toString(16)}`, () => {
    assert.equal(accessAllowed(parseDescriptorText(sddl), SIDS, desired), granted)
  })
}

test('a conditional entry grants nothing, but denies', () => {
  const conditional = (type: number) => ({ type, flags: 0, mask: READ, sid: USER })
  const plain = parseDescriptorText('O:SYD:(A;;FR;;;WD)')
  const [allow, deny] = [9, 10].map((type) => [conditional(type), ...(plain.dacl ?? [])])
  assert.equal(accessAllowed({ ...plain, dacl: allow?.slice(0, 1) }, SIDS, READ), 0)
  assert.equal(accessAllowed({ ...plain, dacl: deny }, SIDS, READ), 0)
})

test('generic rights are mapped to file rights', () => {
  assert.equal(mapGenericRights(0xf0000000), ALL)
  assert.equal(mapGenericRights(0xa0000000), 0x1200a9)
  assert.equal(mapGenericRights(0x02000001), 0x02000001)
})
