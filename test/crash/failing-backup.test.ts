// The n-th call to the file system fails, for each n, while a backup is written, checked and restored. Whatever fails is
// reported, a place has a whole backup at any time, and the same command completes what was interrupted.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { BlobServiceClient } from '@azure/storage-blob'
import { startServer, type LazuliServer } from '../../src/server.ts'
import { backUp } from '../../src/start/backup/backup.ts'
import { openStoppedSource } from '../../src/start/backup/live-source.ts'
import { openBackup, writeBackupTo } from '../../src/start/backup/open-backup.ts'
import { runRestore } from '../../src/start/backup/restore.ts'
import { checkBackup } from '../../src/start/backup/verify.ts'
import type { Progress } from '../../src/start/copy/progress.ts'
import { checkLocation } from '../../src/start/store/fsck.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { FailingDisk, type DiskFailure } from './failing-disk.ts'

after(cleanUp)

const SILENT: Progress = { show: () => undefined, say: () => undefined }
const RUN = { env: {}, pid: process.pid, progress: SILENT, signal: new AbortController().signal }
/** More than any of the commands makes. */
const CALLS_MAX = 400

async function withServer(location: string, use: (server: LazuliServer) => Promise<void>) {
  const server = await startServer({ location })
  try {
    await use(server)
  } finally {
    await server.close()
  }
}

const boxOf = ({ connectionString }: LazuliServer) =>
  BlobServiceClient.fromConnectionString(connectionString).getContainerClient('box')

/** Some bytes in records, some in extents. */
async function put(location: string, name: string): Promise<void> {
  await withServer(location, async (server) => {
    await boxOf(server).createIfNotExists()
    for (const length of [10, 20_000]) {
      await boxOf(server).getBlockBlobClient(`${name}-${length}`).upload(name.repeat(length), name.length * length) // prettier-ignore
    }
  })
}

async function namesIn(location: string): Promise<string> {
  const names: string[] = []
  await withServer(location, async (server) => {
    for await (const { name } of boxOf(server).listBlobsFlat()) {
      const [text = '', count] = name.split('-')
      const bytes = await boxOf(server).getBlobClient(name).downloadToBuffer()
      assert.equal(bytes.toString(), text.repeat(Number(count)))
      names.push(name)
    }
  })
  return names.join(' ')
}

async function backUpTo(place: string, location: string): Promise<void> {
  const source = await openStoppedSource(location, process.pid)
  try {
    const writer = await writeBackupTo(place)
    try {
      await backUp(source, writer, { ...RUN, version: '1.2.3', nowMs: Date.now })
    } finally {
      await writer.close()
    }
  } finally {
    await source.close()
  }
}

async function check(place: string): Promise<void> {
  const { files, manifest } = await openBackup(place)
  try {
    await checkBackup(files, manifest, RUN)
  } finally {
    await files.close()
  }
}

async function restore(place: string, folder: string): Promise<void> {
  const lines = await runRestore({ from: place, to: { folder } }, RUN)
  assert.equal(lines.at(-1), 'no problems')
}

/** Calls `work` with each of its calls failing; `then` after each. Returns what was struck. */
async function failEach(
  folder: string,
  failure: DiskFailure,
  work: (nth: number) => Promise<void>,
  then: (nth: number, hasFailed: boolean) => Promise<void>,
): Promise<ReadonlySet<string>> {
  const disk = new FailingDisk(folder)
  const struck = new Set<string>()
  try {
    for (let nth = 1; nth <= CALLS_MAX; nth += 1) {
      disk.arm(nth, failure)
      const hasFailed = await work(nth).then(
        () => false,
        () => true,
      )
      disk.disarm()
      if (disk.struck === undefined) {
        assert(!hasFailed, 'nothing fails by itself')
        return struck
      }
      struck.add(disk.struck)
      await then(nth, hasFailed)
    }
    throw new Error('The work makes more calls than that.')
  } finally {
    disk.restore()
  }
}

for (const name of ['backup', 'backup.tar']) {
  for (const failure of ['EIO', 'ENOSPC', 'short write'] as const) {
    test(`${failure} at any call of a backup to ${name}`, async () => {
      const [location, parent] = [tempFolder('failing'), tempFolder('place')]
      const place = join(parent, name)
      await put(location, 'first')
      await backUpTo(place, location)
      await put(location, 'second')
      const struck = await failEach(
        parent,
        failure,
        () => backUpTo(place, location),
        async (_nth, hasFailed) => {
          if (failure === 'short write') assert(!hasFailed, 'the rest is written and read')
          await check(place)
        },
      )
      for (const call of ['open', 'writev', 'fdatasync', 'read', 'rename']) {
        assert(struck.has(call), `no ${call} failed`)
      }
      const data = join(tempFolder('restored'), 'data')
      await restore(place, data)
      assert.equal(await namesIn(data), 'first-10 first-20000 second-10 second-20000')
    })
  }
}

/** Otherwise there is nothing, and a server opens it as a new store. */
async function isUnfinished(location: string): Promise<boolean> {
  try {
    await withServer(location, async (server) => assert(!(await boxOf(server).exists())))
    return false
  } catch (error) {
    assert.match(String(error), /unfinished/)
    return true
  }
}

test('EIO at any call of a restore: nobody opens half of it, and the same command completes it', async () => {
  const [location, parent] = [tempFolder('failing'), tempFolder('place')]
  const place = join(parent, 'backup')
  await put(location, 'first')
  await backUpTo(place, location)
  const target = (nth: number) => join(parent, String(nth), 'data')
  let unfinishedCount = 0
  const struck = await failEach(
    parent,
    'EIO',
    async (nth) => {
      mkdirSync(join(parent, String(nth)))
      await restore(place, target(nth))
    },
    async (nth, hasFailed) => {
      if (hasFailed && existsSync(join(target(nth), 'store'))) {
        if (await isUnfinished(target(nth))) unfinishedCount += 1
        // Nothing was there yet. Now it is the store of the server that has opened it.
        else rmSync(target(nth), { recursive: true })
      }
      if (hasFailed) await restore(place, target(nth))
      assert.equal((await checkLocation(target(nth), process.pid)).exitCode, 0)
      assert.equal(await namesIn(target(nth)), 'first-10 first-20000')
    },
  )
  for (const call of ['open', 'writev', 'read']) assert(struck.has(call), `no ${call} failed`)
  assert(unfinishedCount > 0)
})
