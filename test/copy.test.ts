// `lazuli copy`, there and back: everything is the same to the SDKs, ETags and snapshots included; an unfinished copy is
// opened by nobody and can be completed.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { EXTENT_RANGE, OPEN_RANGE, type ExtentRecord } from '../src/extent/keys.ts'
import { scanSteps } from '../src/extent/scan.ts'
import { decodeRecord } from '../src/kv/record.ts'
import { SKIP_REASON, testServer, type TestServer } from '../src/postgres/harness.ts'
import { startServer, type LazuliServer } from '../src/server.ts'
import { runCopy } from '../src/start/copy/command.ts'
import { copyStore } from '../src/start/copy/copy.ts'
import { openStoreToCopy, openTarget } from '../src/start/copy/place.ts'
import type { Progress } from '../src/start/copy/progress.ts'
import type { StoreName } from '../src/start/options/command.ts'
import { checkLocation } from '../src/start/store/fsck.ts'
import { assertBytes } from './assert-bytes.ts'
import {
  cleanUp,
  createContainer,
  getBlob,
  launch,
  putBlob,
  run,
  startServerProcess,
  stop,
  tempFolder,
} from './server-process.ts'
import { contentsOf, fillStore } from './store-contents.ts'

after(cleanUp)

const SILENT: Progress = { show: () => undefined, say: () => undefined }

function copy(from: StoreName, to: StoreName, progress: Progress = SILENT, stop?: AbortSignal) {
  const signal = stop ?? new AbortController().signal
  return runCopy({ kind: 'copy', from, to }, { env: {}, pid: process.pid, progress, signal })
}

/** Starts a server on a folder, or a node on a database. */
function openNode(name: StoreName, clock: () => number): Promise<LazuliServer> {
  if ('folder' in name) return startServer({ location: name.folder, clock })
  const { url: store, bytesFolder } = name
  return startServer({
    store,
    clock,
    ...(bytesFolder !== undefined && { bytes: `folder:${bytesFolder}` }),
  })
}

async function contents(name: StoreName, clock: () => number): Promise<readonly string[]> {
  const server = await openNode(name, clock)
  try {
    return await contentsOf(server)
  } finally {
    await server.close()
  }
}

/** A folder with a store of format 3, and an hour after it was written. */
function oldStore(): string {
  const folder = tempFolder('old')
  const packed = readFileSync(join(import.meta.dirname, 'old-store/format-3.json.gz'))
  const files: Record<string, string> = JSON.parse(gunzipSync(packed).toString())
  for (const [path, base64] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), Buffer.from(base64, 'base64'))
  }
  return folder
}

const OLD_MS = Date.UTC(2026, 9, 1, 1)

/** A folder with some of everything, written at a time that stands still. */
async function newStore(): Promise<{ folder: string; clock: () => number }> {
  const folder = tempFolder('new')
  let nowMs = Date.now()
  const clock = (): number => nowMs
  const server = await startServer({ location: folder, clock: () => (nowMs += 1) })
  await fillStore(server)
  await server.close()
  return { folder, clock }
}

describe('lazuli copy', { skip: SKIP_REASON }, () => {
  let postgres: TestServer
  before(async () => {
    postgres = await testServer()
  })
  const database = async (bytesFolder?: string): Promise<StoreName> => ({
    url: postgres.url(await postgres.newDatabase()),
    bytesFolder,
  })
  const folder = (): StoreName => ({ folder: join(tempFolder('copy'), 'data') })

  test('a store of an earlier version goes to a database and back', async () => {
    const source = { folder: oldStore() }
    const [there, back] = [await database(), folder()]
    const clock = (): number => OLD_MS
    const lines = await copy(source, there)
    assert.match(lines[0] ?? '', /^copied \d+ records and .* of content from .* to postgres:/)
    assert.equal(lines.at(-1), 'no problems')
    const expected = await contents(source, clock)
    assert(expected.length > 20, expected.join('\n'))
    assert.deepEqual(await contents(there, clock), expected)
    await copy(there, back)
    assert.deepEqual(await contents(back, clock), expected)
  })

  test('a store with some of everything goes all ways', async () => {
    const { folder: path, clock } = await newStore()
    const shared = tempFolder('shared')
    const places = [folder(), await database(), await database(), await database(shared), folder()]
    const expected = await contents({ folder: path }, clock)
    let from: StoreName = { folder: path }
    for (const to of places) {
      await copy(from, to)
      assert.deepEqual(await contents(to, clock), expected)
      from = to
    }
    assert('folder' in from)
    const { exitCode, lines } = await checkLocation(from.folder, process.pid)
    assert.deepEqual([exitCode, lines.at(-1)], [0, 'no problems'])
  })

  test('a copy accepts writes, with ETags above all earlier ones even if the clock was set back', async (t) => {
    const { folder: path, clock } = await newStore()
    const to = await database()
    await copy({ folder: path }, to)
    const server = await openNode(to, () => clock() - 3_600_000)
    t.after(() => server.close())
    const blobs = (await contentsOf(server)).filter((line) => line.startsWith('["blob"'))
    const etags = blobs.map((line) => /"etag":"0x8D([0-9A-F]+)"/.exec(line)?.[1] ?? '').toSorted()
    assert.equal((await putBlob(server, '/box/added', Buffer.from('x'))).status, 201)
    const [added = ''] = (await contentsOf(server)).filter((line) =>
      line.includes('"name":"added"'),
    )
    const etag = /"etag":"0x8D([0-9A-F]+)"/.exec(added)?.[1] ?? ''
    assert(etag > (etags.at(-1) ?? ''), `${etag} after ${etags.at(-1)}`)
  })

  test('wherever it is interrupted, nobody opens the target, and the same copy completes it', async () => {
    const { folder: path, clock } = await newStore()
    const source = { folder: path }
    const expected = await contents(source, clock)
    for (const way of [await database(), folder()]) {
      for (const at of ['content', 'records', 'comparing records', 'checking the copy …']) {
        const stop = new AbortController()
        const progress: Progress = {
          show: (what) => what === at && stop.abort(),
          say: (line) => line === at && stop.abort(),
        }
        const stopped = copy(source, way, progress, stop.signal)
        await assert.rejects(stopped, /^StartError: the copy was stopped; run the same command/)
        await assert.rejects(
          openNode(way, clock),
          /unfinished copy of .*: run the same command again/,
        )
        await assert.rejects(copy(way, folder()), /unfinished copy of/)
      }
      await copy(source, way)
      assert.deepEqual(await contents(way, clock), expected)
    }
  })

  test('an unfinished copy is not completed from a source that was used since', async () => {
    const { folder: path, clock } = await newStore()
    const [source, to] = [{ folder: path }, await database()]
    const stop = new AbortController()
    const progress: Progress = { show: () => stop.abort(), say: () => undefined }
    await assert.rejects(copy(source, to, progress, stop.signal), /stopped/)
    await assert.rejects(copy({ folder: oldStore() }, to), /is an unfinished copy of .*; empty the/)
    await (await openNode(source, clock)).close()
    await assert.rejects(copy(source, to), /was used since the copy to postgres:.* began; empty/)
  })

  test('a source that changes meanwhile fails the copy', async () => {
    const { folder: path, clock } = await newStore()
    const [source, to] = [await database(), folder()]
    await copy({ folder: path }, source)
    const settings = { env: {}, pid: process.pid }
    const [opened, target] = [
      await openStoreToCopy(source, settings),
      await openTarget(to, settings),
    ]
    let asked = 0
    const state = async (): Promise<string> => {
      asked += 1
      // The last thing that the copy does before it finishes.
      if (asked === 2) await (await openNode(source, clock)).close()
      return opened.state()
    }
    const { signal } = new AbortController()
    const copying = copyStore({ ...opened, state }, target, { progress: SILENT, signal })
    await assert.rejects(copying, /was changed while it was copied; empty the target, and start/)
    await Promise.all([opened.close(), target.close()])
    await assert.rejects(openNode(to, clock), /unfinished copy/)
  })

  test('two copies into the same database do not mix', async () => {
    const { folder: path, clock } = await newStore()
    const [source, to] = [{ folder: path }, await database()]
    const expected = await contents(source, clock)
    const settings = { env: {}, pid: process.pid }
    const opened = await openStoreToCopy(source, settings)
    const { signal } = new AbortController()
    let second: Promise<unknown> | undefined
    const [one, two] = [await openTarget(to, settings), await openTarget(to, settings)]
    const progress: Progress = {
      show: (what) => {
        if (what === 'records') second ??= copyStore(opened, two, { progress: SILENT, signal })
      },
      say: () => undefined,
    }
    const first = copyStore(opened, one, { progress, signal, recordsMax: 50 })
    await assert.rejects(first, /another process copies to the same place; this one gives up/)
    await second
    await Promise.all([opened.close(), one.close(), two.close()])
    assert.deepEqual(await contents(to, clock), expected)
  })

  test('extents that a killed server left open are complete and sealed in the copy', async (t) => {
    const path = tempFolder('killed')
    const server = await startServerProcess({ args: ['--location', path] })
    await createContainer(server, 'box')
    const body = Buffer.alloc(300_000, 'kept')
    assert.equal((await putBlob(server, '/box/b', body)).status, 201)
    await stop(server, 'SIGKILL')
    const [there, further] = [await database(), await database()]
    await copy({ folder: path }, there)
    await copy(there, further)
    const source = await openStoreToCopy(further, { env: {}, pid: process.pid })
    const states: string[] = []
    for await (const { value } of scanSteps(source.kv, EXTENT_RANGE)) {
      states.push(decodeRecord<ExtentRecord>(value).state)
    }
    assert.deepEqual(states, ['sealed'])
    assert.deepEqual(await source.kv.read((tx) => tx.scanKeys({ ...OPEN_RANGE, countMax: 1 })), [])
    await source.close()
    const node = await openNode(further, Date.now)
    t.after(() => node.close())
    assertBytes((await getBlob(node, '/box/b')).body, body)
  })

  test('a damaged source is not copied', async () => {
    const { folder: path } = await newStore()
    const extents = join(path, 'extents')
    writeFileSync(join(extents, '00000000000001.extent'), 'short')
    await assert.rejects(copy({ folder: path }, folder()), /the source is damaged \(extent 1: its/)
  })

  test('the command shows progress and says what it has done', async () => {
    const { folder: path } = await newStore()
    const url = postgres.url(await postgres.newDatabase())
    const { code, stdout, stderr } = await run({ args: ['copy', '--from', path, '--to', url] })
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^copied \d+ records and \d+\.\d MiB of content from .*\n\d+ records, \d+ extents, \d+ bytes of content checked\nno problems\n$/) // prettier-ignore
    assert.match(stderr, /^content: [\d.]+ MiB of [\d.]+ MiB, 100 %$/m)
    assert.match(stderr, /^records: (\d+) of \1, 100 %$/m)
    assert.match(stderr, /^checking the copy …$/m)
    const again = await run({ args: ['copy', '--from', path, '--to', url] })
    assert.deepEqual([again.code, again.stdout], [1, ''])
    assert.match(again.stderr, /^lazuli: postgres:.* is not empty; copy to an empty folder or d/)
  })

  test('the command refuses a store in use, and one that is not there', async () => {
    const path = tempFolder('used')
    const url = postgres.url(await postgres.newDatabase())
    const server = await startServer({ location: path })
    const used = await run({ args: ['copy', '--from', path, '--to', url] })
    assert.match(used.stderr, /^lazuli: .* is in use by another Lazuli server/)
    await server.close()
    const node = await openNode({ url, bytesFolder: undefined }, Date.now)
    const running = await run({ args: ['copy', '--from', url, '--to', join(path, 'new')] })
    assert.match(running.stderr, /^lazuli: postgres:.* is in use by .*; stop all nodes first\n$/)
    await node.close()
    const none = await run({ args: ['copy', '--from', join(path, 'none'), '--to', url] })
    assert.match(none.stderr, /^lazuli: cannot read the data folder .*none: no such file or folder/)
    const empty = await run({ args: ['copy', '--from', tempFolder('empty'), '--to', url] })
    assert.match(empty.stderr, /^lazuli: there is no store in the folder /)
    assert.deepEqual([used.code, running.code, none.code, empty.code], [1, 1, 1, 1])
  })

  test('Ctrl-C stops the command where it can go on, and leaves no writer', async () => {
    const { folder: path } = await newStore()
    const name = await postgres.newDatabase()
    const url = postgres.url(name)
    const copying = launch({ args: ['copy', '--from', path, '--to', url] })
    await copying.printed(/^content: /m)
    copying.child.kill('SIGINT')
    const { code, stderr } = await copying.ended
    // It may have been complete already.
    if (code !== 0) assert.match(stderr, /^lazuli: the copy was stopped; run the same command/m)
    const connection = await postgres.connectTo(name)
    const writers = { name: 'writers', text: 'SELECT number FROM lazuli.writer' }
    assert.deepEqual(await connection.run(writers, [], performance.now() + 5_000), [])
    await connection.close()
    const again = await run({ args: ['copy', '--from', path, '--to', url] })
    assert.equal(again.code, code === 0 ? 1 : 0, again.stderr)
  })
})
