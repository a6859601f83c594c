import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostRule } from './allowed-host.ts'

const ALWAYS: readonly (string | undefined)[] = [
  undefined,
  'localhost',
  'LocalHost:10000',
  'localhost.',
  'devstoreaccount1.blob.localhost:10000',
  '127.0.0.1',
  '127.8.8.8:10000',
  '[::1]:10000',
  '192.168.1.20:10000',
  'host.docker.internal:10000',
  'host.containers.internal',
  'devstoreaccount1.blob.core.windows.net',
  'devstoreaccount1-secondary.table.core.usgovcloudapi.net:443',
  'devstoreaccount1.z6.web.core.windows.net',
  'devstoreaccount1.z01.blob.storage.azure.net',
]

const NEVER: readonly string[] = [
  '',
  ':10000',
  'evil.example',
  'devstoreaccount1.evil.example:10000',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'evillocalhost',
  'blob.core.windows.net.evil.example',
  'evil-blob.core.windows.net',
  'x.host.docker.internal',
  'user@localhost',
  'localhost/x',
  'localhost:1:2',
  'storage',
  '[::1',
]

test('addresses, and names that only this machine or Azure resolves, are accepted', () => {
  const accepts = hostRule([])
  for (const host of ALWAYS) assert.equal(accepts(host), true, host)
  for (const host of NEVER) assert.equal(accepts(host), false, host)
})

test('an allowed name includes its subdomains', () => {
  const accepts = hostRule(['Storage.Test', 'lazuli'])
  for (const host of ['storage.test', 'devstoreaccount1.blob.storage.test:10000', 'LAZULI:10010']) {
    assert.equal(accepts(host), true, host)
  }
  for (const host of ['evilstorage.test', 'test', 'lazuli.example']) {
    assert.equal(accepts(host), false, host)
  }
  assert.equal(hostRule(['*'])('evil.example'), true)
  assert.equal(hostRule(['*'])('not a host'), false)
})
