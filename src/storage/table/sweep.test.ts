import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Kv } from '../../kv/kv.ts'
import type { EntityWrite } from './entity.ts'
import { ENGINES, tableWorld, text, type TableWorld } from './harness.ts'
import { sweepTables } from './sweep.ts'

const insert = (partitionKey: string, rowKey: string): EntityWrite => {
  return { partitionKey, rowKey, kind: 'insert', properties: text(rowKey) }
}

async function fill(world: TableWorld, partitionCount: number): Promise<void> {
  const rows = Array.from({ length: 100 }, (_, i) => `${i}`)
  for (let p = 0; p < partitionCount; p += 1) {
    await world.writeAll(rows.map((row) => insert(`${p}`, row)))
  }
}

for (const [engine, options] of ENGINES) {
  describe(engine, () => {
    test('the sweep removes deleted tables completely, and nothing of others', async () => {
      const world = await tableWorld(options)
      await fill(world, 11)
      await world.drop()
      await world.create()
      await fill(world, 1)
      await world.drop()
      await world.create()
      await fill(world, 2)
      const before = await world.query({ countMax: 1_000 })
      assert.deepEqual(await sweepTables(world.kv), { recordCount: 1_200 })
      assert.deepEqual(await world.counts(), { entity: 200, 'next-id': 1, table: 1 })
      assert.deepEqual(await world.query({ countMax: 1_000 }), before)
      assert.deepEqual(await sweepTables(world.kv), { recordCount: 0 })
    })

    test('the next sweep continues after a crash', async () => {
      const world = await tableWorld(options)
      await fill(world, 11)
      await world.drop()
      let writeCount = 0
      const crashing: Kv = {
        ...world.kv,
        write: (body) => {
          writeCount += 1
          return writeCount > 2 ? Promise.reject(new Error('crash')) : world.kv.write(body)
        },
      }
      await assert.rejects(sweepTables(crashing), /crash/)
      const left = (await world.counts())['entity']
      assert(left !== undefined && left < 1_100)
      assert.deepEqual(await sweepTables(world.kv), { recordCount: left })
      assert.deepEqual(await world.counts(), { 'next-id': 1 })
    })

    test('a sweep removes nothing that concurrent writes need', async () => {
      const world = await tableWorld(options)
      await fill(world, 6)
      await world.drop()
      await world.create()
      await Promise.all([
        sweepTables(world.kv),
        sweepTables(world.kv),
        ...Array.from({ length: 30 }, (_, i) => world.write(insert('p', `${i}`))),
      ])
      assert.deepEqual(await world.counts(), { entity: 30, 'next-id': 1, table: 1 })
    })
  })
}
