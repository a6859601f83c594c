import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLoopbackAddress } from './remote-address.ts'

test('only this machine reaches a loopback address', () => {
  for (const address of ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1']) {
    assert.equal(isLoopbackAddress(address), true, address)
  }
  for (const address of ['0.0.0.0', '::', '192.168.1.1', '10.127.0.1', '::ffff:10.0.0.1']) {
    assert.equal(isLoopbackAddress(address), false, address)
  }
})
