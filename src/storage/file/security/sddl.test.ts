// SDDL as in the service: texts recorded from Azure Files, and the words of [MS-DTYP] 2.5.1.1.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../../shared/error.ts'
import type { ErrorCode } from '../../shared/error.ts'
import { formatSddl } from './sddl-format.ts'
import { ACE_FLAG_WORDS, SINGLE_RIGHTS, WHOLE_RIGHTS } from './sddl-word.ts'
import { parseDescriptorText, parseSddl } from './sddl.ts'
import { decodeSecurityDescriptor, encodeSecurityDescriptor } from './security-descriptor.ts'
import type { SecurityDescriptor } from './security-descriptor.ts'

const RECORDED =
  'O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-1887927527-513' +
  'D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)'
const RECORDED_BINARY =
  'AQAUhGwAAACIAAAAAAAAABQAAAACAFgAAwAAAAAAFAD/AR8AAQEAAAAAAAUSAAAAAAAYAP8BHwABAgAAAAAABSAAAAAgAgAA' +
  'AAAkAKkAEgABBQAAAAAABRUAAABZUbgXZnJdJWRjOwuMmS4AAQUAAAAAAAUVAAAAoGXPfnhLm1/nfIdwr/1IAQEFAAAAAAAF' +
  'FQAAAKBlz354S5tf53yHcAECAAA='

const codeOf = (run: () => unknown): ErrorCode | undefined => {
  try {
    run()
  } catch (error) {
    if (error instanceof StorageError) return error.code
    throw error
  }
  return undefined
}

test('a permission without a SACL is returned with S:NO_ACCESS_CONTROL', () => {
  assert.equal(formatSddl(parseSddl(RECORDED)), `${RECORDED}S:NO_ACCESS_CONTROL`)
  assert.equal(
    formatSddl(parseSddl(`${RECORDED}S:NO_ACCESS_CONTROL`)),
    `${RECORDED}S:NO_ACCESS_CONTROL`,
  )
})

test('text and bytes of a permission convert into each other', () => {
  const bytes = Buffer.from(encodeSecurityDescriptor(parseSddl(RECORDED)))
  assert.equal(bytes.toString('base64'), RECORDED_BINARY)
  const read = decodeSecurityDescriptor(Buffer.from(RECORDED_BINARY, 'base64'))
  assert.equal(formatSddl(read), `${RECORDED}S:NO_ACCESS_CONTROL`)
})

// prettier-ignore
const SAME = [
  '', 'O:SY', 'G:BA', 'D:', 'S:', 'D:P', 'D:PARAI', 'D:NO_ACCESS_CONTROL', 'D:PNO_ACCESS_CONTROL', 'O:SYG:SYD:PS:P',
  'D:(A;;;;;WD)', 'D:(D;OICINPIOID;GA;;;AN)', 'D:(A;OICIIO;GXGR;;;BU)', 'D:(A;OICIIO;SDGXGWGR;;;AU)',
  'D:(A;;CCDCLCSWRPWPDTLOCRSDRCWDWO;;;CO)', 'D:(A;;0x1301bf;;;AU)', 'D:(A;;KA;;;BA)', 'D:(A;;0xffffffff;;;BA)',
  'D:(A;;FR;;;BA)(A;;FW;;;BA)(A;;FX;;;BA)(A;;KR;;;BA)(A;;KW;;;BA)', 'S:AI(AU;SAFA;FA;;;WD)', 'S:(ML;;NWNRNX;;;HI)',
  'S:(SP;;;;;S-1-17-1)', 'D:(A;;FA;;;S-1-5)S:ARAI', 'D:(A;;FA;;;S-1-0xffffffffffff)',
  'O:S-1-0x00013196f820-5G:S-1-0xffffffffffffD:',
  'D:(OA;CI;RP;4c164200-20c0-11d0-a768-00aa006e0529;bf967aba-0de6-11d0-a285-00aa003049e2;RU)',
  'D:(OD;;RP;;bf967aba-0de6-11d0-a285-00aa003049e2;RU)(OA;;RP;;;RU)',
]

for (const text of SAME) {
  test(`'${text}' is parsed and formatted unchanged`, () => {
    const read = parseDescriptorText(text)
    assert.equal(formatSddl(read), text)
    assert.equal(formatSddl(decodeSecurityDescriptor(encodeSecurityDescriptor(read))), text)
  })
}

// prettier-ignore
const OTHER_SPELLINGS: readonly (readonly [text: string, canonical: string])[] = [
  ['o:syg:bad:p(a;oici;fa;;;s-1-5-18)', 'O:SYG:BAD:P(A;OICI;FA;;;SY)'],
  ['D:(A;;FA;;;SY)G:BAO:SY', 'O:SYG:BAD:(A;;FA;;;SY)'],
  ['D:AIP', 'D:PAI'],
  ['D:(A;CIOI;0x1F01FF;;;BA)', 'D:(A;OICI;FA;;;BA)'],
  ['D:(A;;2032127;;;BA)', 'D:(A;;FA;;;BA)'],
  ['D:(A;;FRFW;;;BA)', 'D:(A;;0x12019f;;;BA)'],
  ['D:(A;;KX;;;BA)', 'D:(A;;KR;;;BA)'],
]

for (const [text, canonical] of OTHER_SPELLINGS) {
  test(`${text} is formatted as ${canonical}`, () => {
    assert.equal(formatSddl(parseDescriptorText(text)), canonical)
  })
}

// prettier-ignore
const INVALID = [
  'invalidPermission', '', 'O:SY', 'O:SYG:SY', 'O:SYD:', 'G:SYD:', 'O:DAG:SYD:', 'O:SYG:DUD:', 'O:SYO:SYG:SYD:',
  'O:G:SYD:', 'O:SYG:SYD:(', 'O:SYG:SYD:(A;;FA;;;SY', 'O:SYG:SYD:(A;;FA;;SY)', 'O:SYG:SYD:(A;;FA;;;SY;)', 'O:SYG:SYD:X',
  'O:SYG:SYD:(A;;FA;;;)', 'O:SYG:SYD:(A;;FA;;;DA)', 'O:SYG:SYD:(AU;;FA;;;SY)', 'O:SYG:SYD:S:(A;;FA;;;SY)',
  'O:SYG:SYD:(A;XX;FA;;;SY)', 'O:SYG:SYD:(A;O;FA;;;SY)', 'O:SYG:SYD:(A;;RX;;;SY)', 'O:SYG:SYD:(A;;0x100000000;;;SY)',
  'O:SYG:SYD:(A;;4294967296;;;SY)', 'O:SYG:SYD:(A;;NW;;;SY)', 'O:SYG:SYD:(OA;;RP;not-a-guid;;SY)',
  'O:SYG:SYD:(A;;RP;4c164200-20c0-11d0-a768-00aa006e0529;;SY)', 'O:SYG:SYD:(XA;;FX;;;WD;(@User.a==1))',
  'O:SYG:SYD:NO_ACCESS_CONTROL(A;;FA;;;SY)', 'O:SYG:SYD:(A;;FA;;;SY)x', ' O:SYG:SYD:', 'O:SYG:SYD:(A;;FA;;;SY)\0',
]

for (const text of INVALID) {
  test(`${JSON.stringify(text)} is FileInvalidPermission`, () => {
    assert.equal(
      codeOf(() => parseSddl(text)),
      'FileInvalidPermission',
    )
  })
}

test('a descriptor of 64 KiB is accepted, a larger one rejected', () => {
  const entries = (count: number) => 'D:'.concat('(A;;FA;;;SY)'.repeat(count))
  assert.equal(
    codeOf(() => parseSddl(`O:SYG:SY${entries(3274)}`)),
    undefined,
  )
  assert.equal(
    codeOf(() => parseSddl(`O:SYG:SY${entries(3275)}`)),
    'FileInvalidPermission',
  )
  assert.equal(
    codeOf(() => parseSddl('('.repeat(1_000_000))),
    'FileInvalidPermission',
  )
})

const withAce = (ace: object): SecurityDescriptor => ({
  ...parseDescriptorText('O:SYG:SYD:'),
  dacl: [{ type: 0, flags: 0, mask: 1, sid: 'S-1-1-0', ...ace }],
})

const CUSTOM: readonly (readonly [what: string, ace: object])[] = [
  ['a conditional entry', { type: 9, applicationBytes: Buffer.from('artx') }],
  ['bytes after the SID', { applicationBytes: Buffer.from([1, 2, 3, 4]) }],
  ['an unknown type', { type: 0x42, body: Buffer.from([1, 2, 3, 4]) }],
  ['an unknown flag', { flags: 0x20 }],
  ['an audit entry in the DACL', { type: 2 }],
]

for (const [what, ace] of CUSTOM) {
  test(`${what} cannot be formatted, but keeps its bytes`, () => {
    const descriptor = withAce(ace)
    assert.equal(
      codeOf(() => formatSddl(descriptor)),
      'CannotConvertToSddlDueToCustomAce',
    )
    const bytes = encodeSecurityDescriptor(descriptor)
    assert.deepEqual(encodeSecurityDescriptor(decodeSecurityDescriptor(bytes)), bytes)
  })
}

const WORDS =
  'O: G: D: S: P AI AR ( ) ; A D AU OA SY BA S-1-5-18 S-1- 0x 1f (A;;FA;;;SY) (AU;SA;GA;;;WD) NO_ACCESS_CONTROL'

test('any text is FileInvalidPermission or a descriptor whose SDDL parses to the same', () => {
  const word = fc.constantFrom(
    ...WORDS.split(' '),
    ...ACE_FLAG_WORDS.keys(),
    ...SINGLE_RIGHTS.keys(),
    ...WHOLE_RIGHTS.keys(),
  )
  const text = fc
    .array(fc.oneof({ arbitrary: word, weight: 9 }, fc.string({ unit: 'binary' })))
    .map((words) => words.join(''))
  const check = (sddl: string) => {
    let read: SecurityDescriptor | undefined
    const code = codeOf(() => (read = parseDescriptorText(sddl)))
    if (read === undefined) return assert.equal(code, 'FileInvalidPermission')
    assert.deepEqual(parseDescriptorText(formatSddl(read)), read)
  }
  fc.assert(fc.property(text, check), { numRuns: 3000 })
})
