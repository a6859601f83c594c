// Access rights: which can be requested, and which are granted.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { READ_ONLY } from '../tree/attributes.ts'
import { decodeDesiredAccess, grantAccess } from './open-access.ts'

const MAXIMUM_ALLOWED = 0x0200_0000
const SYSTEM_SECURITY = 0x0100_0000

describe('desired access', () => {
  const MASKS: readonly (readonly [desired: number, decoded: number | 'ACCESS_DENIED'])[] = [
    [0, 'ACCESS_DENIED'],
    [0x0400_0000, 'ACCESS_DENIED'],
    [0x0800_0000, 'ACCESS_DENIED'],
    [0x0020_0000, 'ACCESS_DENIED'],
    [0x200, 'ACCESS_DENIED'],
    [0x1, 0x1],
    [0x8000_0000, 0x0012_0089],
    [0x4000_0000, 0x0012_0116],
    [0x2000_0000, 0x0012_00a0],
    [0x1000_0000, 0x001f_01ff],
    [0xc000_0000, 0x0012_019f],
    [MAXIMUM_ALLOWED, MAXIMUM_ALLOWED],
    [SYSTEM_SECURITY, SYSTEM_SECURITY],
  ]
  for (const [desired, decoded] of MASKS) {
    const outcome = typeof decoded === 'number' ? `0x${decoded.toString(16)}` : decoded
    test(`0x${desired.toString(16)} is decoded as ${outcome}`, () => {
      if (decoded !== 'ACCESS_DENIED') assert.equal(decodeDesiredAccess(desired), decoded)
      else assert.throws(() => decodeDesiredAccess(desired), { status: decoded })
    })
  }
})

describe('granted access', () => {
  const PRESENT = {}
  const SNAPSHOT = { snapshot: 5 }
  const FILE = { kind: 'file', attributes: 0 } as const
  const LOCKED = { kind: 'file', attributes: READ_ONLY } as const
  const LOCKED_DIRECTORY = { kind: 'directory', attributes: READ_ONLY } as const
  // prettier-ignore
  const ROWS = [
    ['something new',            PRESENT,  undefined,        MAXIMUM_ALLOWED, 0x001f_01ff],
    ['a file',                   PRESENT,  FILE,             0x1,             0x1],
    ['a file',                   PRESENT,  FILE,             MAXIMUM_ALLOWED, 0x001f_01ff],
    ['a file',                   PRESENT,  FILE,             MAXIMUM_ALLOWED | SYSTEM_SECURITY, 0x011f_01ff],
    ['a read-only file',         PRESENT,  LOCKED,           MAXIMUM_ALLOWED, 0x001f_01f9],
    ['a read-only file',         PRESENT,  LOCKED,           0x0001_0100,     0x0001_0100],
    ['a read-only file',         PRESENT,  LOCKED,           0x2,             'ACCESS_DENIED'],
    ['a read-only file',         PRESENT,  LOCKED,           0x4,             'ACCESS_DENIED'],
    ['a read-only directory',    PRESENT,  LOCKED_DIRECTORY, 0x2,             0x2],
    ['a file of a snapshot',     SNAPSHOT, FILE,             0x0012_0089,     0x0012_0089],
    ['a file of a snapshot',     SNAPSHOT, FILE,             MAXIMUM_ALLOWED, 0x0012_00a9],
    ['a file of a snapshot',     SNAPSHOT, FILE,             0x001f_01ff,     0x0012_00a9],
    ['a file of a snapshot',     SNAPSHOT, FILE,             0x3,             0x1],
    ['a file of a snapshot',     SNAPSHOT, FILE,             0x2,             'MEDIA_WRITE_PROTECTED'],
    ['a file of a snapshot',     SNAPSHOT, FILE,             0x0001_0000,     'MEDIA_WRITE_PROTECTED'],
  ] as const
  for (const [name, view, node, desired, granted] of ROWS) {
    const outcome = typeof granted === 'number' ? `0x${granted.toString(16)}` : granted
    test(`for 0x${desired.toString(16)} on ${name} is ${outcome}`, () => {
      if (typeof granted === 'number') assert.equal(grantAccess(desired, view, node), granted)
      else assert.throws(() => grantAccess(desired, view, node), { status: granted })
    })
  }

  test('for MAXIMUM_ALLOWED is what the descriptor allows; it is refused if that is nothing', () => {
    for (const view of [PRESENT, SNAPSHOT]) {
      assert.equal(grantAccess(MAXIMUM_ALLOWED, view, FILE, 0x0002_0081), 0x0002_0081)
      const none = () => grantAccess(MAXIMUM_ALLOWED, view, FILE, 0)
      assert.throws(none, { status: 'ACCESS_DENIED' })
    }
  })
})
