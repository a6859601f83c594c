import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  symlinkSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeKey } from '../kv/key.ts'
import { encodeRecord } from '../kv/record.ts'
import { openLmdbEngine } from '../kv/engine/lmdb.ts'
import { StoreInUse, takeOwnership } from './owner.ts'

const newFolder = () => mkdtempSync(join(tmpdir(), 'lazuli-owner-'))

test('a second server is refused while the first is alive, and not afterwards', async () => {
  const [engine, folder] = [openLmdbEngine(join(newFolder(), 'store')), newFolder()]
  const first = await takeOwnership(engine, { folder, pid: 11 })
  await assert.rejects(takeOwnership(engine, { folder, pid: 12 }), (error: Error) => {
    assert(error instanceof StoreInUse)
    assert.equal(
      error.message,
      `${folder} is in use by another Lazuli server (process 11); stop it or choose another --location`,
    )
    return true
  })
  await first.release()
  const second = await takeOwnership(engine, { folder, pid: 12 })
  await second.release()
  assert.deepEqual(readdirSync(folder), [])
})

test('only one of several servers that start together wins', async () => {
  const [engine, folder] = [openLmdbEngine(join(newFolder(), 'store')), newFolder()]
  const starts = Array.from({ length: 8 }, (_, pid) => takeOwnership(engine, { folder, pid }))
  const outcomes = await Promise.allSettled(starts)
  const won = outcomes.filter((each) => each.status === 'fulfilled')
  assert.equal(won.length, 1)
  await won[0]?.value.release()
})

test('processes never overwrite the changes of each other', async () => {
  const folder = newFolder()
  const script = `
    import { openLmdbEngine } from '${import.meta.resolve('../kv/engine/lmdb.ts')}'
    import { encodeKey } from '${import.meta.resolve('../kv/key.ts')}'
    const [engine, key] = [openLmdbEngine(process.argv[1]), encodeKey('count')]
    for (let count = 0; count < 100;) {
      const value = engine.local.get(key, 'whole')
      if (engine.replace(key, value, Buffer.from(String(Number(value ?? 0) + 1)))) count += 1
      await new Promise((resolve) => setImmediate(resolve))
    }
    await engine.close()`
  const args = ['--input-type=module', '-e', script, folder]
  const children = Array.from({ length: 3 }, () =>
    spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] }),
  )
  const exited = children.map(async (child) => (await once(child, 'exit'))[0] as unknown)
  assert.deepEqual(await Promise.all(exited), [0, 0, 0])
  const engine = openLmdbEngine(folder)
  assert.equal(String(engine.local?.get(encodeKey('count'), 'whole')), '300')
  await engine.close()
})

test('a killed owner is replaced at once', async () => {
  const folder = newFolder()
  const script = `
    import { openLmdbEngine } from '${import.meta.resolve('../kv/engine/lmdb.ts')}'
    import { takeOwnership } from '${import.meta.resolve('./owner.ts')}'
    const folder = process.argv[1]
    await takeOwnership(openLmdbEngine(folder), { folder, pid: process.pid })
    process.stdout.write('taken')
    setInterval(() => {}, 1_000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, folder])
  await new Promise((resolve) => child.stdout.once('data', resolve))
  const engine = openLmdbEngine(folder)
  await assert.rejects(takeOwnership(engine, { folder, pid: 2 }), StoreInUse)
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
  const owner = await takeOwnership(engine, { folder, pid: 2 })
  await owner.release()
  await engine.close()
})

type Owned = { readonly folder: string; readonly engine: ReturnType<typeof openLmdbEngine> }

function openFolder(folder: string): Owned {
  return { folder, engine: openLmdbEngine(join(folder, 'store')) }
}

test('a copy of a folder in use opens, and does not disturb the original', async () => {
  const original = openFolder(newFolder())
  const owner = await takeOwnership(original.engine, { folder: original.folder, pid: 1 })
  const folder = newFolder()
  cpSync(join(original.folder, 'store'), join(folder, 'store'), { recursive: true })
  const copy = openFolder(folder)
  const copied = await takeOwnership(copy.engine, { folder, pid: 2 })
  // Each folder now has an owner of its own.
  for (const { engine, folder: taken } of [original, copy]) {
    await assert.rejects(takeOwnership(engine, { folder: taken, pid: 3 }), StoreInUse)
  }
  await owner.release()
  await copied.release()
  await original.engine.close()
  await copy.engine.close()
  assert.deepEqual(readdirSync(folder), ['store'])
})

test('a folder is in use under each of its paths, and so is a store that two folders share', async () => {
  const { folder, engine } = openFolder(newFolder())
  const owner = await takeOwnership(engine, { folder, pid: 1 })
  const link = join(newFolder(), 'link')
  symlinkSync(folder, link)
  await assert.rejects(takeOwnership(engine, { folder: link, pid: 2 }), StoreInUse)
  const linked = newFolder()
  mkdirSync(join(linked, 'store'))
  linkSync(join(folder, 'store/data.mdb'), join(linked, 'store/data.mdb'))
  await assert.rejects(takeOwnership(engine, { folder: linked, pid: 2 }), StoreInUse)
  await owner.release()
  await engine.close()
})

test('a folder is in use although its owner knows it by a path that leads nowhere here', async () => {
  const before = join(newFolder(), 'before')
  const { engine } = openFolder(before)
  const owner = await takeOwnership(engine, { folder: before, pid: 1 })
  const now = join(newFolder(), 'now')
  renameSync(before, now)
  await assert.rejects(takeOwnership(engine, { folder: now, pid: 2 }), StoreInUse)
  await owner.release()
  await engine.close()
})

test('an owner that does not answer is alive', async () => {
  const { folder, engine } = openFolder(newFolder())
  const socket = join(folder, 'lazuli-old.sock')
  // So did earlier versions.
  const server = createServer((connection) => connection.destroy()).listen(socket)
  await once(server, 'listening')
  const mark = encodeRecord({ token: 'old', socket, pid: 7 }).value
  assert(engine.replace(encodeKey('owner'), undefined, mark))
  await assert.rejects(takeOwnership(engine, { folder, pid: 8 }), /process 7/)
  server.close()
  await once(server, 'close')
  const owner = await takeOwnership(engine, { folder, pid: 8 })
  await owner.release()
  await engine.close()
})
