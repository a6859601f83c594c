import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressBytes } from './network-interface.ts'

// prettier-ignore
const ROWS = [
  ['10.0.0.255', '0a0000ff'],
  ['::1', '00000000000000000000000000000001'],
  ['::', '00000000000000000000000000000000'],
  ['fe80::1%eth0', 'fe800000000000000000000000000001'],
  ['2001:db8:0:1:2:3:4:5', '20010db8000000010002000300040005'],
  ['2001:db8::1:0', '20010db8000000000000000000010000'],
  ['64:ff9b::192.0.2.33', '0064ff9b0000000000000000c0000221'],
  ['', undefined],
  ['localhost', undefined],
] as const

for (const [ip, hex] of ROWS) {
  test(`${ip || 'no address'} has ${hex === undefined ? 'no bytes' : `the bytes ${hex}`}`, () => {
    assert.equal(addressBytes(ip)?.toString('hex'), hex)
  })
}
