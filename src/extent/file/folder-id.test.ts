import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { chunksOf, patternBytes } from '../harness.ts'
import { soleWriter } from '../writers.ts'
import type { Kv } from '../../kv/kv.ts'
import { Machine, MachineStopped, SimulatedDisk } from './disk-simulation.ts'
import { openLocalExtents } from './local.ts'

const clock = () => 1_000_000

async function open(kv: Kv, disk: SimulatedDisk, machine = new Machine()) {
  const place = { folder: '/extents', isShared: true, disk: disk.on(machine) }
  return openLocalExtents({ ...place, kv, clock, writers: soleWriter('a') })
}

describe('a shared folder', () => {
  test('is opened again by its store', async () => {
    const [kv, disk] = [openMemoryKv(), new SimulatedDisk()]
    const store = await open(kv, disk)
    await store.write(chunksOf(patternBytes(1, 10)), 10, [])
    await store.close()
    await (await open(kv, disk)).close()
  })

  test('is opened by several nodes at once', async () => {
    const [kv, disk] = [openMemoryKv({ waits: true }), new SimulatedDisk()]
    const stores = await Promise.all([1, 2, 3].map(() => open(kv, disk)))
    for (const store of stores) await store.close()
    await (await open(kv, disk)).close()
  })

  test('of another store is refused, and keeps its files', async () => {
    const disk = new SimulatedDisk()
    const store = await open(openMemoryKv(), disk)
    await store.write(chunksOf(patternBytes(1, 10)), 10, [])
    await store.close()
    await assert.rejects(open(openMemoryKv(), disk), /belongs to another store/)
    const other = openMemoryKv()
    await (await open(other, new SimulatedDisk())).close()
    await assert.rejects(open(other, disk), /belongs to another store/)
    assert.equal(disk.totalBytes(), 10)
  })

  test('that is not mounted is refused', async () => {
    const kv = openMemoryKv()
    const store = await open(kv, new SimulatedDisk())
    await store.write(chunksOf(patternBytes(1, 10)), 10, [])
    await store.close()
    await assert.rejects(open(kv, new SimulatedDisk()), /Is it mounted/)
  })

  test('is opened after a crash at any call of the first start', async () => {
    for (const takesEffect of [false, true]) {
      for (let atCall = 1; atCall <= 5; atCall += 1) {
        const [kv, disk] = [openMemoryKv(), new SimulatedDisk()]
        const crash = { atCall, takesEffect, keepsUnsynced: false }
        await open(kv, disk, new Machine(crash)).then(
          (store) => store.close(),
          (error: unknown) => assert(error instanceof MachineStopped),
        )
        disk.restart(false)
        await (await open(kv, disk)).close()
      }
    }
  })
})
