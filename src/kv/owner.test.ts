import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeKey } from './key.ts'
import { openMemoryKv } from './memory.ts'
import { openLmdbKv } from './lmdb.ts'
import { StoreInUse, takeOwnership } from './owner.ts'

const newFolder = () => mkdtempSync(join(tmpdir(), 'lazuli-owner-'))

test('a second server is refused while the first lives, and not after it', async () => {
  const [kv, folder] = [openMemoryKv(), newFolder()]
  const first = await takeOwnership(kv, { folder, pid: 11 })
  await assert.rejects(takeOwnership(kv, { folder, pid: 12 }), (error: Error) => {
    assert(error instanceof StoreInUse)
    assert.equal(error.message, `${folder} is in use by another Lazuli server (process 11)`)
    return true
  })
  await first.release()
  const second = await takeOwnership(kv, { folder, pid: 12 })
  await second.release()
  assert.deepEqual(readdirSync(folder), [])
})

test('a worker process that holds the owner’s token shares the store', async () => {
  const [kv, folder] = [openMemoryKv(), newFolder()]
  const owner = await takeOwnership(kv, { folder, pid: 1, workers: true })
  const worker = await takeOwnership(kv, { folder, pid: 2, ownerToken: owner.token })
  await worker.release()
  await assert.rejects(
    takeOwnership(kv, { folder, pid: 3, ownerToken: 'another token' }),
    StoreInUse,
  )
  await owner.release()
})

test('an owner that writes alone has no workers', async () => {
  const [kv, folder] = [openMemoryKv(), newFolder()]
  const owner = await takeOwnership(kv, { folder, pid: 1 })
  const worker = takeOwnership(kv, { folder, pid: 2, ownerToken: owner.token })
  await assert.rejects(worker, StoreInUse)
  await owner.release()
})

test('of servers that start together one wins', async () => {
  const [kv, folder] = [openMemoryKv({ waits: true }), newFolder()]
  const starts = Array.from({ length: 8 }, (_, pid) => takeOwnership(kv, { folder, pid }))
  const outcomes = await Promise.allSettled(starts)
  const won = outcomes.filter((each) => each.status === 'fulfilled')
  assert.equal(won.length, 1)
  await won[0]?.value.release()
})

test('processes take turns: none overwrites what another has written meanwhile', async () => {
  const folder = newFolder()
  const script = `
    import { openLmdbKv } from '${import.meta.resolve('./lmdb.ts')}'
    import { encodeKey } from '${import.meta.resolve('./key.ts')}'
    const [kv, key] = [openLmdbKv(process.argv[1]), encodeKey('count')]
    const increment = () => kv.write(function* (tx) {
      const value = yield* tx.get(key)
      tx.put(key, Buffer.from(String(Number(value ?? 0) + 1)))
    })
    for (let i = 0; i < 50; i += 1) await Promise.all([increment(), increment()])
    await kv.close()`
  const args = ['--input-type=module', '-e', script, folder]
  const children = Array.from({ length: 3 }, () =>
    spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] }),
  )
  const exited = children.map(async (child) => (await once(child, 'exit'))[0] as unknown)
  assert.deepEqual(await Promise.all(exited), [0, 0, 0])
  const kv = openLmdbKv(folder)
  assert.equal(await kv.read((tx) => tx.getWith(encodeKey('count'), String)), '300')
  await kv.close()
})

test('an owner that was killed is replaced at once', async () => {
  const folder = newFolder()
  const script = `
    import { openLmdbKv } from '${import.meta.resolve('./lmdb.ts')}'
    import { takeOwnership } from '${import.meta.resolve('./owner.ts')}'
    const folder = process.argv[1]
    await takeOwnership(openLmdbKv(folder), { folder, pid: process.pid })
    process.stdout.write('taken')
    setInterval(() => {}, 1_000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, folder])
  await new Promise((resolve) => child.stdout.once('data', resolve))
  const kv = openLmdbKv(folder)
  await assert.rejects(takeOwnership(kv, { folder, pid: 2 }), StoreInUse)
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
  const owner = await takeOwnership(kv, { folder, pid: 2 })
  await owner.release()
  await kv.close()
})
