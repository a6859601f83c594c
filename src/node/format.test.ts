import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFormat, type Migration } from './format.ts'
import { encodeKey } from '../kv/key.ts'
import type { Kv } from '../kv/kv.ts'
import { openMemoryKv } from '../kv/memory-kv.ts'
import { encodeRecord } from '../kv/record.ts'

const key = encodeKey('x')
type Letters = { readonly letters: string }
const append =
  (letter: string): Migration =>
  (kv) =>
    kv.write(function* (tx) {
      const { letters } = (yield* tx.getFields<Letters>(key)) ?? { letters: '' }
      tx.put(key, encodeRecord({ letters: letters + letter }))
    })
const read = async (kv: Kv) => {
  return (await kv.read((tx) => tx.getFields<Letters>(key)))?.letters
}

test('a new store has the current version', async () => {
  const kv = openMemoryKv()
  await openFormat(kv, [append('a'), append('b')])
  assert.equal(await read(kv), undefined)
})

test('an older store is migrated step by step, each step once', async () => {
  const kv = openMemoryKv()
  await openFormat(kv, [])
  await openFormat(kv, [append('a'), append('b')])
  await openFormat(kv, [append('a'), append('b')])
  assert.equal(await read(kv), 'ab')
  await openFormat(kv, [append('a'), append('b'), append('c')])
  assert.equal(await read(kv), 'abc')
})

test('a migration that failed is run again', async () => {
  const kv = openMemoryKv()
  await openFormat(kv, [])
  const failing: Migration = async () => {
    throw new Error('power cut')
  }
  await assert.rejects(openFormat(kv, [append('a'), failing]), /power cut/)
  await openFormat(kv, [append('a'), append('b')])
  assert.equal(await read(kv), 'ab')
})

test('a newer store is refused with advice', async () => {
  const kv = openMemoryKv()
  await openFormat(kv, [append('a'), append('b')])
  await assert.rejects(
    openFormat(kv, [append('a')]),
    /format 3, but this version of Lazuli reads up to format 2/,
  )
})
