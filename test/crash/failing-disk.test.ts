// The n-th call to the file system fails, for each n, while clients of four services write: with an I/O error, with a full
// disk, with less written or read than asked. The server answers errors, loses nothing acknowledged and tears nothing, and
// goes on as soon as the fault is gone. A part of the calls is chosen by seed; DISK_EVERY=1 takes each.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { checkOpen } from '../../src/start/store/fsck.ts'
import { randomFrom } from '../random.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import { blobCell, fileCell, queueCell, tableCell, type Cell } from './cell.ts'
import { FailingDisk, type DiskFailure } from './failing-disk.ts'

const EVERY = Number(process.env['DISK_EVERY'] ?? 1)
/** Small and long, whole and in blocks: in a record, in an extent, past the page cache. */
const VERSIONS = [1, 3, 6, 14]
const VERSIONS_PERIOD = 42
/** More than any script needs. */
const CALLS_MAX = 400

describe('the disk fails', () => {
  let folder: string
  let server: RunningTestServer
  let disk: FailingDisk
  let cells: readonly Cell[]
  let period = 0

  before(async () => {
    folder = tempFolder('failing')
    server = await runTestServer({ folder, hasSmb: false, silent: true })
    cells = [blobCell(0), tableCell(0), fileCell(0), queueCell(0)]
    for (const cell of cells) await cell.create(server)
    disk = new FailingDisk(join(folder, 'extents'))
  })

  after(async () => {
    disk.restore()
    await server.close()
    await cleanUp()
  })

  /** Every request is answered, or its connection ends; returns the number of clients that saw an error. */
  async function write(): Promise<number> {
    period += 1
    const random = randomFrom(1)
    let failedCount = 0
    for (const version of VERSIONS) {
      for (const cell of cells) {
        try {
          await cell.write(server, VERSIONS_PERIOD * period + version, random)
        } catch (error) {
          assertServerError(error)
          failedCount += 1
        }
      }
    }
    return failedCount
  }

  /** Runs the script with each of its calls failing. Returns what was struck. */
  async function failEach(failure: DiskFailure): Promise<ReadonlyMap<string, number>> {
    const struck = new Map<string, number>()
    for (let nth = 1; nth <= CALLS_MAX; nth += EVERY) {
      disk.arm(nth, failure)
      const failedCount = await write()
      disk.disarm()
      if (disk.struck === undefined) break
      struck.set(disk.struck, (struck.get(disk.struck) ?? 0) + 1)
      if (failure === 'short write') assert.equal(failedCount, 0, 'the rest is written and read')
      for (const cell of cells) await cell.check(server)
      // Compaction and the removal of extents come under the same faults, at other calls.
      if (nth % 10 === 0) await server.store.sweep()
    }
    return struck
  }

  for (const failure of ['EIO', 'ENOSPC', 'short write'] as const) {
    test(`${failure} at any call of a request`, async (context) => {
      const struck = await failEach(failure)
      context.diagnostic([...struck].map(([name, count]) => `${count} × ${name}`).join(', '))
      for (const name of ['writev', 'fdatasync', 'read'])
        assert(struck.has(name), `no ${name} failed`)
      assert.equal(await write(), 0, 'all is well once the fault is gone')
      for (const cell of cells) await cell.check(server)
    })
  }

  test('EIO at any call of a sweep: the next one does its work', async () => {
    let struckCount = 0
    for (let nth = 1; nth <= CALLS_MAX; nth += 1) {
      assert.equal(await write(), 0)
      server.advance(24 * 60 * 60 * 1_000)
      disk.arm(nth, 'EIO')
      await server.store.sweep().catch(() => undefined)
      disk.disarm()
      if (disk.struck === undefined) break
      struckCount += 1
      for (const cell of cells) await cell.check(server)
    }
    assert(struckCount > 0, 'a sweep calls the disk')
    for (let pass = 0; pass < 5; pass += 1) await server.store.sweep()
    for (const cell of cells) await cell.check(server)
  })

  test('afterwards, fsck finds nothing', async () => {
    const { kv, extents } = server.store
    const { lines } = await checkOpen(kv, extents)
    assert.equal(lines.at(-1), 'no problems', lines.join('\n'))
  })
})

/** 500 or 503, or the connection ended in the middle of a body. Anything else is wrong. */
function assertServerError(error: unknown): void {
  assert(error instanceof Error)
  const isAnswer = /: 50[03] |: \{"odata.error":\{"code":"(InternalError|ServerBusy)"/.test(
    error.message,
  )
  const isEnd = 'code' in error && (error.code === 'ECONNRESET' || error.message === 'aborted')
  assert(isAnswer || isEnd, error)
}
