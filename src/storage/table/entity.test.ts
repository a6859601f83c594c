import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { StorageError } from '../shared/error.ts'
import { timestampOf } from '../shared/etag.ts'
import type { EdmProperties } from './edm.ts'
import { entityETag, getEntity, isETagOf, writeEntity, type EntityWrite } from './entity.ts'
import { ENGINES, int, openWorld, outcomeOf, TABLE, text, type World } from './harness.ts'

const KEYS = { partitionKey: 'p', rowKey: 'r' }
const OLD: EdmProperties = { ...text('old'), ...int('Kept', 1) }
const NEW: EdmProperties = text('new')
const MERGED: EdmProperties = { ...text('new'), ...int('Kept', 1) }
const STALE = `W/"datetime'2020-01-01T00%3A00%3A00.0000000Z'"`

async function put(world: World, properties: EdmProperties): Promise<string> {
  const entity = await world.write({ ...KEYS, kind: 'upsertReplace', properties })
  assert(entity !== undefined)
  return entityETag(entity.stamp)
}

async function propertiesOf(world: World): Promise<EdmProperties | 'gone'> {
  const outcome = await outcomeOf(world.get('p', 'r'))
  return outcome === 'ResourceNotFound' ? 'gone' : (await world.get('p', 'r')).properties
}

type Match = 'current' | 'stale' | '*'
type Kind = EntityWrite['kind']

// The operation, its If-Match, what it comes to, and what is there then: without an entity, and with OLD.
// prettier-ignore
const WRITES: readonly (readonly [Kind, Match | undefined, [string, EdmProperties | 'gone'], [string, EdmProperties | 'gone']])[] = [
  ['insert',        undefined, ['ok', NEW],                  ['EntityAlreadyExists', OLD]],
  ['replace',       'current', ['ResourceNotFound', 'gone'], ['ok', NEW]],
  ['replace',       '*',       ['ResourceNotFound', 'gone'], ['ok', NEW]],
  ['replace',       'stale',   ['ResourceNotFound', 'gone'], ['UpdateConditionNotSatisfied', OLD]],
  ['merge',         'current', ['ResourceNotFound', 'gone'], ['ok', MERGED]],
  ['merge',         '*',       ['ResourceNotFound', 'gone'], ['ok', MERGED]],
  ['merge',         'stale',   ['ResourceNotFound', 'gone'], ['UpdateConditionNotSatisfied', OLD]],
  ['upsertReplace', undefined, ['ok', NEW],                  ['ok', NEW]],
  ['upsertMerge',   undefined, ['ok', NEW],                  ['ok', MERGED]],
  ['delete',        'current', ['ResourceNotFound', 'gone'], ['ok', 'gone']],
  ['delete',        '*',       ['ResourceNotFound', 'gone'], ['ok', 'gone']],
  ['delete',        'stale',   ['ResourceNotFound', 'gone'], ['UpdateConditionNotSatisfied', OLD]],
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
      test(`${kind} ${match ?? ''} → ${onMissing[0]} on nothing, ${onExisting[0]} on an entity`, async () => {
        const world = await openWorld(options)
        const missing = await outcomeOf(world.write(writeOf(kind, match, STALE)))
        assert.deepEqual([missing, await propertiesOf(world)], onMissing)
        const etag = await put(world, OLD)
        const existing = await outcomeOf(world.write(writeOf(kind, match, etag)))
        assert.deepEqual([existing, await propertiesOf(world)], onExisting)
      })
    }

    test('100 clients read, add one and write back with If-Match: none is lost', async () => {
      const world = await openWorld(options)
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
      assert(retryCount > 0, 'they were in each other’s way')
    })

    test('of 50 clients that insert the same entity one succeeds', async () => {
      const world = await openWorld(options)
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          outcomeOf(world.write({ ...KEYS, kind: 'insert', properties: int('By', i) })),
        ),
      )
      assert.equal(outcomes.filter((outcome) => outcome === 'ok').length, 1)
      assert.equal(outcomes.filter((outcome) => outcome === 'EntityAlreadyExists').length, 49)
    })

    test('of 50 clients that delete what they have seen one succeeds', async () => {
      const world = await openWorld(options)
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

test('in a table that isn’t there → TableNotFound', async () => {
  const world = await openWorld()
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

test('a table is addressed without case', async () => {
  const world = await openWorld()
  await put(world, OLD)
  const entity = await world.kv.read((tx) => getEntity(tx, { ...TABLE, table: 'pEOPLE' }, KEYS))
  assert.deepEqual(entity.properties, OLD)
})

test('keys have case, may be empty, and are those of one entity only', async () => {
  const world = await openWorld()
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

test('what can’t be there is not found, and can’t be made', async () => {
  const world = await openWorld()
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

test('a merge changes the type of what it names', async () => {
  const world = await openWorld()
  await put(world, { ...int('A', 1), ...int('B', 2) })
  const properties: EdmProperties = { A: { type: 'Edm.Boolean', value: true } }
  await world.write({ ...KEYS, kind: 'merge', properties, ifMatch: '*' })
  assert.deepEqual(await propertiesOf(world), { ...properties, ...int('B', 2) })
})

test('a merge without properties changes nothing but the ETag', async () => {
  const world = await openWorld()
  const before = await put(world, OLD)
  await world.write({ ...KEYS, kind: 'merge', properties: {}, ifMatch: before })
  assert.deepEqual(await propertiesOf(world), OLD)
  assert.notEqual(entityETag((await world.get('p', 'r')).stamp), before)
})

test('two merges within the limits may not go beyond them together', async () => {
  const world = await openWorld()
  const many = (prefix: string): EdmProperties => {
    return Object.assign({}, ...Array.from({ length: 200 }, (_, i) => int(`${prefix}${i}`, i)))
  }
  await put(world, many('A'))
  const write: EntityWrite = { ...KEYS, kind: 'upsertMerge', properties: many('B') }
  assert.equal(await outcomeOf(world.write(write)), 'TooManyProperties')
  assert.deepEqual(await propertiesOf(world), many('A'))
})

test('every write in one tick of the clock has an ETag and a Timestamp of its own', async () => {
  const world = await openWorld()
  const etags: string[] = []
  for (let i = 0; i < 2_000; i += 1) etags.push(await put(world, OLD))
  assert.equal(new Set(etags).size, 2_000)
  assert.equal(etags[0], `W/"datetime'2026-11-15T19%3A46%3A33.0000000Z'"`)
})

test('an entity from a clock that was ahead gets a later ETag all the same', async () => {
  const world = await openWorld()
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

test('a property may be called __proto__', async () => {
  const world = await openWorld()
  const properties: EdmProperties = Object.fromEntries([
    ['__proto__', { type: 'Edm.Int32', value: 1 }],
    ['constructor', { type: 'Edm.Int32', value: 2 }],
  ])
  await put(world, properties)
  await world.write({ ...KEYS, kind: 'merge', properties: int('A', 3), ifMatch: '*' })
  const found = await propertiesOf(world)
  assert(found !== 'gone')
  assert.deepEqual(Object.keys(found), ['__proto__', 'constructor', 'A'])
  assert.equal(Object.getPrototypeOf(found), Object.prototype)
})

test('a refused write throws a StorageError and leaves nothing', async () => {
  const world = await openWorld()
  const write: EntityWrite = { ...KEYS, kind: 'insert', properties: int('a-b', 1) }
  await assert.rejects(world.write(write), StorageError)
  assert.equal(await propertiesOf(world), 'gone')
})
