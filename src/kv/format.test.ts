import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFormat, type Migration } from './format.ts'
import { encodeKey } from './key.ts'
import { openMemoryKv } from './memory.ts'

const key = encodeKey('x')
const append = (letter: string): Migration =>
  function* (tx) {
    const old = (yield* tx.get(key)) ?? Buffer.from('')
    tx.put(key, Buffer.concat([old, Buffer.from(letter)]))
  }
const read = (kv: ReturnType<typeof openMemoryKv>) =>
  kv.read(function* (tx) {
    const value = yield* tx.get(key)
    return value && Buffer.from(value).toString()
  })

test('a new store is born current', async () => {
  const kv = openMemoryKv()
  await openFormat(kv, 3, [append('a'), append('b')])
  assert.equal(await read(kv), undefined)
})

test('an older store is migrated, step by step and once', async () => {
  const kv = openMemoryKv()
  await openFormat(kv, 1, [])
  await openFormat(kv, 3, [append('a'), append('b')])
  await openFormat(kv, 3, [append('a'), append('b')])
  assert.equal(await read(kv), 'ab')
})

test('a migration that fails half way goes on where it stopped', async () => {
  const kv = openMemoryKv()
  await openFormat(kv, 1, [])
  const failing: Migration = function* (tx) {
    yield* append('b')(tx)
    throw new Error('power cut')
  }
  await assert.rejects(openFormat(kv, 3, [append('a'), failing]), /power cut/)
  await openFormat(kv, 3, [append('a'), append('b')])
  assert.equal(await read(kv), 'ab')
})

test('a newer store is refused with what to do', async () => {
  const kv = openMemoryKv()
  await openFormat(kv, 7, [])
  await assert.rejects(
    openFormat(kv, 1),
    /format 7, but this version of Lazuli reads up to format 1/,
  )
})
