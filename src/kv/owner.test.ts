import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openMemoryKv } from './memory.ts'
import { openLmdbKv } from './lmdb.ts'
import { StoreInUse, takeOwnership } from './owner.ts'

const newFolder = () => mkdtempSync(join(tmpdir(), 'lazuli-owner-'))

test('a second server is refused while the first lives, and not after it', async () => {
  const [kv, folder] = [openMemoryKv(), newFolder()]
  const first = await takeOwnership(kv, folder, 11)
  await assert.rejects(takeOwnership(kv, folder, 12), (error: Error) => {
    assert(error instanceof StoreInUse)
    assert.equal(error.message, `${folder} is in use by another Lazuli server (process 11)`)
    return true
  })
  await first.release()
  const second = await takeOwnership(kv, folder, 12)
  await second.release()
  assert.deepEqual(readdirSync(folder), [])
})

test('a worker process that holds the owner’s token shares the store', async () => {
  const [kv, folder] = [openMemoryKv(), newFolder()]
  const owner = await takeOwnership(kv, folder, 1)
  const worker = await takeOwnership(kv, folder, 2, owner.token)
  await worker.release()
  await assert.rejects(takeOwnership(kv, folder, 3, 'another token'), StoreInUse)
  await owner.release()
})

test('of servers that start together one wins', async () => {
  const [kv, folder] = [openMemoryKv({ waits: true }), newFolder()]
  const starts = Array.from({ length: 8 }, (_, pid) => takeOwnership(kv, folder, pid))
  const outcomes = await Promise.allSettled(starts)
  const won = outcomes.filter((each) => each.status === 'fulfilled')
  assert.equal(won.length, 1)
  await won[0]?.value.release()
})

test('an owner that was killed is replaced at once', async () => {
  const folder = newFolder()
  const script = `
    import { openLmdbKv } from '${import.meta.resolve('./lmdb.ts')}'
    import { takeOwnership } from '${import.meta.resolve('./owner.ts')}'
    await takeOwnership(openLmdbKv(process.argv[1]), process.argv[1], process.pid)
    process.stdout.write('taken')
    setInterval(() => {}, 1_000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, folder])
  await new Promise((resolve) => child.stdout.once('data', resolve))
  const kv = openLmdbKv(folder)
  await assert.rejects(takeOwnership(kv, folder, 2), StoreInUse)
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
  const owner = await takeOwnership(kv, folder, 2)
  await owner.release()
  await kv.close()
})
