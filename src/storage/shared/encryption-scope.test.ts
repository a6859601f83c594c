import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Kv } from '../../kv/kv.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import {
  ACCOUNT_ENCRYPTION_KEY,
  createEncryptionScope,
  getEncryptionScope,
  isEncryptionScopeName,
  requireEncryptionScope,
  setEncryptionScopeDisabled,
} from './encryption-scope.ts'

const NAMES: readonly (readonly [name: string, isName: boolean])[] = [
  ['abc', true],
  ['tenant-1', true],
  ['Tenant-A-2', true],
  ['123', true],
  ['a'.repeat(63), true],
  ['a'.repeat(64), false],
  ['ab', false],
  ['', false],
  ['-abc', false],
  ['abc-', false],
  ['a--b', false],
  ['a_b', false],
  ['a b', false],
  ['straße', false],
  [ACCOUNT_ENCRYPTION_KEY, false],
]
for (const [name, isName] of NAMES) {
  test(`${JSON.stringify(name)} is ${isName ? 'a valid' : 'no valid'} scope name`, () => {
    assert.equal(isEncryptionScopeName(name), isName)
  })
}

const KEY = Buffer.alloc(32, 7)
const create = (kv: Kv, account: string, name: string, nowMs = 5, key: Uint8Array = KEY) =>
  kv.write((tx) => createEncryptionScope(tx, account, name, key, nowMs))
const get = (kv: Kv, account: string, name: string) =>
  kv.read((tx) => getEncryptionScope(tx, account, name))
const require = (kv: Kv, name: string) => kv.read((tx) => requireEncryptionScope(tx, 'a', name))
const disable = (kv: Kv, name: string, isDisabled: boolean) =>
  kv.write((tx) => setEncryptionScopeDisabled(tx, 'a', name, isDisabled))

test('a scope belongs to its account', async () => {
  const kv = openMemoryKv()
  const scope = { key: KEY.toString('base64'), createdMs: 5 }
  assert.deepEqual(await create(kv, 'a', 'tenant'), scope)
  assert.deepEqual(await get(kv, 'a', 'tenant'), scope)
  assert.equal(await get(kv, 'b', 'tenant'), undefined)
  assert.equal(await get(kv, 'a', 'tenant2'), undefined)
  assert.equal(await get(kv, 'a', ACCOUNT_ENCRYPTION_KEY), undefined)
  assert.equal(await get(kv, 'a', 'x'.repeat(10_000)), undefined)
})

test('creating a scope again keeps the existing one and its key', async () => {
  const kv = openMemoryKv()
  const first = await create(kv, 'a', 'tenant')
  assert.deepEqual(await create(kv, 'a', 'tenant', 9, Buffer.alloc(32, 8)), first)
  assert.deepEqual(await get(kv, 'a', 'tenant'), first)
})

test('names are checked, and the length of the key is asserted', async () => {
  const kv = openMemoryKv()
  await assert.rejects(create(kv, 'a', 'a b'), { code: 'InvalidResourceName' })
  await assert.rejects(create(kv, 'a', ACCOUNT_ENCRYPTION_KEY), { code: 'InvalidResourceName' })
  await assert.rejects(create(kv, 'a', 'abc', 5, KEY.subarray(1)), { name: 'AssertionError' })
})

test('reads and writes require a scope that exists and is enabled', async () => {
  const kv = openMemoryKv()
  const scope = await create(kv, 'a', 'tenant')
  assert.deepEqual(await require(kv, 'tenant'), scope)
  await assert.rejects(require(kv, 'other'), { code: 'EncryptionScopeNotFound', status: 404 })
  await disable(kv, 'tenant', true)
  await assert.rejects(require(kv, 'tenant'), { status: 403 })
  await disable(kv, 'tenant', false)
  assert.deepEqual(await require(kv, 'tenant'), scope)
  await assert.rejects(disable(kv, 'other', true), { code: 'EncryptionScopeNotFound' })
})
