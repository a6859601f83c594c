import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { StorageError } from '../shared/error.ts'
import { timestampOf } from '../shared/etag.ts'
import type { EdmProperties } from './edm.ts'
import { entityETag, getEntity, isETagOf, writeEntity, type EntityWrite } from './entity.ts'
import { ENGINES, int, tableWorld, outcomeOf, TABLE, text, type TableWorld } from './harness.ts'

const KEYS = { partitionKey: 'p', rowKey: 'r' }
const OLD: EdmProperties = { ...text('old'), ...int('Kept', 1) }
const NEW: EdmProperties = text('new')
const MERGED: EdmProperties = { ...text('new'), ...int('Kept', 1) }
const STALE = `W/"datetime'2020-01-01T00%3A00%3A00.0000000Z'"`

async function put(world: TableWorld, properties: EdmProperties): Promise<string> {
  const entity = await world.write({ ...KEYS, kind: 'upsertReplace', properties })
  assert(entity !== undefined)
  return entityETag(entity.stamp)
}

async function propertiesOf(world: TableWorld): Promise<EdmProperties | 'missing'> {
  const outcome = await outcomeOf(world.get('p', 'r'))
  return outcome === 'ResourceNotFound' ? 'missing' : (await world.get('p', 'r')).properties
}

type Match = 'current' | 'stale' | '*'
type Kind = EntityWrite['kind']

// operation, If-Match → outcome and resulting properties: without an entity, and with OLD
// prettier-ignore
const WRITES: readonly (readonly [Kind, Match | undefined, [string, EdmProperties | 'missing'], [string, EdmProperties | 'missing']])[] = [
  ['insert',        undefined, ['ok', NEW],                     ['EntityAlreadyExists', OLD]],
  ['replace',       'current', ['ResourceNotFound', 'missing'], ['ok', NEW]],
  ['replace',       '*',       ['ResourceNotFound', 'missing'], ['ok', NEW]],
  ['replace',       'stale',   ['ResourceNotFound', 'missing'], ['UpdateConditionNotSatisfied', OLD]],
  ['merge',         'current', ['ResourceNotFound', 'missing'], ['ok', MERGED]],
  ['merge',         '*',       ['ResourceNotFound', 'missing'], ['ok', MERGED]],
  ['merge',         'stale',   ['ResourceNotFound', 'missing'], ['UpdateConditionNotSatisfied', OLD]],
  ['upsertReplace', undefined, ['ok', NEW],                     ['ok', NEW]],
  ['upsertMerge',   undefined, ['ok', NEW],                     ['ok', MERGED]],
  ['delete',        'current', ['ResourceNotFound', 'missing'], ['ok', 'missing']],
  ['delete',        '*',       ['ResourceNotFound', 'missing'], ['ok', 'missing']],
  ['delete',        'stale',   ['ResourceNotFound', 'missing'], ['UpdateConditionNotSatisfied', OLD]],
]

function writeOf(kind: Kind, match: Match | undefined, etag: string): EntityWrite {
  const ifMatch = match === 'current' ? etag : match === '*' ? '*' : STALE
  switch (kind) {
    case 'delete':
      return { ...KEYS, kind, ifMatch }
    case 'replace':
    case 'merge':
      return { ...KEYS, kind, properties: NEW, ifMatch }
    default:
      return { ...KEYS, kind, properties: NEW }
  }
}

for (const [engine, options] of ENGINES) {
  describe(engine, () => {
    for (const [kind, match, onMissing, onExisting] of WRITES) {
      test(`${kind} ${match ?? ''} → ${onMissing[0]} without an entity, ${onExisting[0]} with one`, async () => {
        const world = await tableWorld(options)
        const missing = await outcomeOf(world.write(writeOf(kind, match, STALE)))
        assert.deepEqual([missing, await propertiesOf(world)], onMissing)
        const etag = await put(world, OLD)
        const existing = await outcomeOf(world.write(writeOf(kind, match, etag)))
        assert.deepEqual([existing, await propertiesOf(world)], onExisting)
      })
    }

    test('no increment of 100 concurrent clients with If-Match is lost', async () => {
      const world = await tableWorld(options)
      await put(world, int('Count', 0))
      let retryCount = 0
      const increment = async (): Promise<void> => {
        for (;;) {
          const { stamp, properties } = await world.get('p', 'r')
          const properties1 = int('Count', Number(properties['Count']?.value) + 1)
          const ifMatch = entityETag(stamp)
          const write: EntityWrite = { ...KEYS, kind: 'merge', properties: properties1, ifMatch }
          const outcome = await outcomeOf(world.write(write))
          if (outcome === 'ok') return
          assert.equal(outcome, 'UpdateConditionNotSatisfied')
          retryCount += 1
        }
      }
      await Promise.all(Array.from({ length: 100 }, increment))
      assert.deepEqual(await propertiesOf(world), int('Count', 100))
      assert(retryCount > 0, 'there were conflicts')
    })

    test('one of 50 concurrent inserts of an entity succeeds', async () => {
      const world = await tableWorld(options)
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          outcomeOf(world.write({ ...KEYS, kind: 'insert', properties: int('By', i) })),
        ),
      )
      assert.equal(outcomes.filter((outcome) => outcome === 'ok').length, 1)
      assert.equal(outcomes.filter((outcome) => outcome === 'EntityAlreadyExists').length, 49)
    })

    test('one of 50 concurrent deletes of an entity succeeds', async () => {
      const world = await tableWorld(options)
      const ifMatch = await put(world, OLD)
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, () =>
          outcomeOf(world.write({ ...KEYS, kind: 'delete', ifMatch })),
        ),
      )
      assert.equal(outcomes.filter((outcome) => outcome === 'ok').length, 1)
      assert.equal(outcomes.filter((outcome) => outcome === 'ResourceNotFound').length, 49)
    })
  })
}

test('operations on a missing table → TableNotFound', async () => {
  const world = await tableWorld()
  await world.drop()
  const writes: readonly EntityWrite[] = [
    { ...KEYS, kind: 'insert', properties: {} },
    { ...KEYS, kind: 'upsertMerge', properties: {} },
    { ...KEYS, kind: 'replace', properties: {}, ifMatch: '*' },
    { ...KEYS, kind: 'delete', ifMatch: '*' },
  ]
  for (const write of writes) {
    assert.equal(await outcomeOf(world.write(write)), 'TableNotFound', write.kind)
  }
  assert.equal(await outcomeOf(world.get('p', 'r')), 'TableNotFound')
})

test('table names are case-insensitive', async () => {
  const world = await tableWorld()
  await put(world, OLD)
  const entity = await world.kv.read((tx) => getEntity(tx, { ...TABLE, table: 'pEOPLE' }, KEYS))
  assert.deepEqual(entity.properties, OLD)
})

test('keys are case-sensitive, may be empty, and identify one entity', async () => {
  const world = await tableWorld()
  const keys = [
    ['', ''],
    ['a', ''],
    ['', 'a'],
    ['A', ''],
    ['ab', 'c'],
    ['a', 'bc'],
    ['ü'.repeat(512), '😀'.repeat(256)],
  ] as const
  for (const [partitionKey, rowKey] of keys) {
    await world.write({ partitionKey, rowKey, kind: 'insert', properties: text(rowKey) })
  }
  for (const [partitionKey, rowKey] of keys) {
    const entity = await world.get(partitionKey, rowKey)
    assert.deepEqual(entity.properties, text(rowKey))
    assert.deepEqual([entity.partitionKey, entity.rowKey], [partitionKey, rowKey])
  }
})

test('an entity with invalid keys doesn’t exist and can’t be created', async () => {
  const world = await tableWorld()
  const keys = { partitionKey: 'p'.repeat(2_048), rowKey: 'r' }
  assert.equal(await outcomeOf(world.get(keys.partitionKey, 'r')), 'ResourceNotFound')
  const outcomes: [EntityWrite, string][] = [
    [{ ...keys, kind: 'delete', ifMatch: '*' }, 'ResourceNotFound'],
    [{ ...keys, kind: 'merge', ifMatch: '*', properties: {} }, 'ResourceNotFound'],
    [{ ...keys, kind: 'insert', properties: {} }, 'PropertyValueTooLarge'],
    [{ ...keys, kind: 'upsertMerge', properties: {} }, 'PropertyValueTooLarge'],
  ]
  for (const [write, expected] of outcomes) {
    assert.equal(await outcomeOf(world.write(write)), expected, write.kind)
  }
})

test('a merge can change the types of properties', async () => {
  const world = await tableWorld()
  await put(world, { ...int('A', 1), ...int('B', 2) })
  const properties: EdmProperties = { A: { type: 'Edm.Boolean', value: true } }
  await world.write({ ...KEYS, kind: 'merge', properties, ifMatch: '*' })
  assert.deepEqual(await propertiesOf(world), { ...properties, ...int('B', 2) })
})

test('a merge without properties changes nothing but the ETag', async () => {
  const world = await tableWorld()
  const before = await put(world, OLD)
  await world.write({ ...KEYS, kind: 'merge', properties: {}, ifMatch: before })
  assert.deepEqual(await propertiesOf(world), OLD)
  assert.notEqual(entityETag((await world.get('p', 'r')).stamp), before)
})

test('a merge may not exceed the limits of an entity', async () => {
  const world = await tableWorld()
  const many = (prefix: string): EdmProperties => {
    return Object.assign({}, ...Array.from({ length: 200 }, (_, i) => int(`${prefix}${i}`, i)))
  }
  await put(world, many('A'))
  const write: EntityWrite = { ...KEYS, kind: 'upsertMerge', properties: many('B') }
  assert.equal(await outcomeOf(world.write(write)), 'TooManyProperties')
  assert.deepEqual(await propertiesOf(world), many('A'))
})

test('every write within one millisecond has its own ETag and Timestamp', async () => {
  const world = await tableWorld()
  const etags: string[] = []
  for (let i = 0; i < 2_000; i += 1) etags.push(await put(world, OLD))
  assert.equal(new Set(etags).size, 2_000)
  assert.equal(etags[0], `W/"datetime'2026-11-15T19%3A46%3A33.0000000Z'"`)
})

test('a write after the clock was set back gets a later ETag', async () => {
  const world = await tableWorld()
  const ahead = { nowMs: 0, stamp: Date.UTC(2030, 0) * 1_024 }
  const first = await world.kv.write((tx) =>
    writeEntity(tx, TABLE, { ...KEYS, kind: 'insert', properties: OLD }, ahead),
  )
  const second = await world.write({ ...KEYS, kind: 'merge', properties: NEW, ifMatch: '*' })
  assert(first !== undefined && second !== undefined)
  assert(second.stamp > first.stamp)
})

const STAMP = Date.UTC(2026, 10, 15, 19, 46, 33, 165) * 1_024 + 731

// prettier-ignore
const MATCHES: readonly (readonly [string, boolean])[] = [
  [`W/"datetime'2026-11-15T19%3A46%3A33.1650731Z'"`, true],
  [`W/"datetime'2026-11-15T19%3a46%3a33.1650731Z'"`, true],
  [`W/"datetime'2026-11-15T19:46:33.1650731Z'"`,     true],
  ['*',                                              true],
  [`W/"datetime'2026-11-15T19%3A46%3A33.1650732Z'"`, false],
  [`"datetime'2026-11-15T19%3A46%3A33.1650731Z'"`,   false],
  [`w/"datetime'2026-11-15T19%3A46%3A33.1650731Z'"`, false],
  ['W/"*"',                                          false],
  ['',                                               false],
]

for (const [match, expected] of MATCHES) {
  test(`If-Match: ${match} → ${expected}`, () => {
    assert.equal(isETagOf(STAMP, match), expected)
    assert.equal(entityETag(STAMP).replaceAll('%3A', ':').slice(12, -2), timestampOf(STAMP))
  })
}

test('a property can be named __proto__', async () => {
  const world = await tableWorld()
  const properties: EdmProperties = Object.fromEntries([
    ['__proto__', { type: 'Edm.Int32', value: 1 }],
    ['constructor', { type: 'Edm.Int32', value: 2 }],
  ])
  await put(world, properties)
  await world.write({ ...KEYS, kind: 'merge', properties: int('A', 3), ifMatch: '*' })
  const found = await propertiesOf(world)
  assert(found !== 'missing')
  assert.deepEqual(Object.keys(found), ['__proto__', 'constructor', 'A'])
  assert.equal(Object.getPrototypeOf(found), Object.prototype)
})

test('a failed write throws a StorageError and writes nothing', async () => {
  const world = await tableWorld()
  const write: EntityWrite = { ...KEYS, kind: 'insert', properties: int('a-b', 1) }
  await assert.rejects(world.write(write), StorageError)
  assert.equal(await propertiesOf(world), 'missing')
})
