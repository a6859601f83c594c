import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Kv } from '../../kv/kv.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import {
  ACCOUNT_ENCRYPTION_KEY,
  createEncryptionScope,
  getEncryptionScope,
  isEncryptionScopeName,
  listEncryptionScopes,
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
  test(`${JSON.stringify(name)} is ${isName ? 'a' : 'no'} name of a scope`, () => {
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

test('a scope belongs to its account and is found by its name', async () => {
  const kv = openMemoryKv()
  const scope = { key: KEY.toString('base64'), createdMs: 5 }
  assert.deepEqual(await create(kv, 'a', 'tenant'), scope)
  assert.deepEqual(await get(kv, 'a', 'tenant'), scope)
  assert.equal(await get(kv, 'b', 'tenant'), undefined)
  assert.equal(await get(kv, 'a', 'tenant2'), undefined)
  assert.equal(await get(kv, 'a', ACCOUNT_ENCRYPTION_KEY), undefined)
  assert.equal(await get(kv, 'a', 'x'.repeat(10_000)), undefined)
})

test('creating it again leaves it, and above all its key, as it is', async () => {
  const kv = openMemoryKv()
  const first = await create(kv, 'a', 'tenant')
  assert.deepEqual(await create(kv, 'a', 'tenant', 9, Buffer.alloc(32, 8)), first)
  assert.deepEqual(await get(kv, 'a', 'tenant'), first)
})

test('a name that is none can not be created; a key of another length is our own mistake', async () => {
  const kv = openMemoryKv()
  await assert.rejects(create(kv, 'a', 'a b'), { code: 'InvalidResourceName' })
  await assert.rejects(create(kv, 'a', ACCOUNT_ENCRYPTION_KEY), { code: 'InvalidResourceName' })
  await assert.rejects(create(kv, 'a', 'abc', 5, KEY.subarray(1)), { name: 'AssertionError' })
})

test('what is read or written needs a scope that is there and enabled', async () => {
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

test('a list has an account’s scopes by name, as many as asked for, without their keys', async () => {
  const kv = openMemoryKv()
  for (const name of ['ccc', 'aaa', 'bbb']) await create(kv, 'a', name)
  await create(kv, 'ab', 'zzz')
  await disable(kv, 'bbb', true)
  const list = (countMax: number) => kv.read((tx) => listEncryptionScopes(tx, 'a', countMax))
  assert.deepEqual(await list(100), [
    { name: 'aaa', createdMs: 5, isDisabled: false },
    { name: 'bbb', createdMs: 5, isDisabled: true },
    { name: 'ccc', createdMs: 5, isDisabled: false },
  ])
  assert.equal((await list(2)).length, 2)
})
