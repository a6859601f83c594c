// `lazuli backup` and `lazuli restore` as people use them: of a running server and of a stopped one, to a folder and to a file.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { SKIP_REASON, testServer } from '../src/postgres/harness.ts'
import { startServer } from '../src/server.ts'
import { runRestore } from '../src/start/backup/restore.ts'
import type { Progress } from '../src/start/copy/progress.ts'
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

const DONE =
  /^backed up \d+ records and [\d.]+ MiB of content to (.*); [\d.]+ (?:K|M)iB were new, and were checked\n$/

async function filled(): Promise<{
  readonly folder: string
  readonly expected: readonly string[]
  readonly clock: () => number
}> {
  // prettier-ignore
  const folder = tempFolder('filled')
  let nowMs = Date.now()
  const server = await startServer({ location: folder, clock: () => (nowMs += 1) })
  await fillStore(server)
  await server.close()
  const clock = (): number => nowMs
  return { folder, clock, expected: await contents(folder, clock) }
}

async function contents(location: string, clock: () => number): Promise<readonly string[]> {
  const server = await startServer({ location, clock })
  try {
    return await contentsOf(server)
  } finally {
    await server.close()
  }
}

for (const name of ['backup', 'backup.tar']) {
  test(`some of everything goes to ${name} and back, and is the same to the SDKs`, async () => {
    const { folder, expected, clock } = await filled()
    assert(expected.length > 50)
    const place = join(tempFolder('place'), name)
    const backup = await run({ args: ['backup', place, '--location', folder] })
    assert.equal(backup.code, 0, backup.stderr)
    assert.match(backup.stdout, DONE)
    assert.match(backup.stderr, /^records: (\d+) of \1, 100 %$/m)
    assert.match(backup.stderr, /^content: [\d.]+ MiB of [\d.]+ MiB, 100 %$/m)
    const check = await run({ args: ['backup', place, '--verify'] })
    assert.match(check.stdout, /\d+ records and [\d.]+ MiB of content from \S+; no problems\n$/)
    const data = join(tempFolder('restored'), 'data')
    const restore = await run({ args: ['restore', place, '--location', data] })
    assert.equal(restore.code, 0, restore.stderr)
    assert.match(restore.stdout, /^restored \d+ records and .* from .*\n.* checked\nno problems\n$/)
    assert.deepEqual(await contents(data, clock), expected)
    const again = await run({ args: ['restore', place, '--location', data] })
    assert.match(again.stderr, /^lazuli: .* is not empty; copy to an empty folder or database\n$/)
  })
}

test('a running server is asked, which is the one of the data folder', async () => {
  const [folder, place] = [tempFolder('running'), join(tempFolder('place'), 'backup')]
  const server = await startServerProcess({ args: ['--location', folder] })
  const adminPort = new URL(server.adminUrl).port
  await createContainer(server, 'box')
  const body = Buffer.alloc(3_000_000, 'body')
  assert.equal((await putBlob(server, '/box/b', body)).status, 201)
  const args = ['backup', place, '--location', folder, '--adminPort', adminPort]
  const first = await run({ args })
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, DONE)
  const second = await run({ args: ['backup', place, '--adminUrl', server.adminUrl] })
  assert.match(second.stdout, /; (\d+ bytes|[\d.]+ KiB) were new, and were checked\n$/)
  const wrong = await run({ args: ['backup', join(folder, 'inside'), '--location', folder, '--adminPort', adminPort] }) // prettier-ignore
  assert.match(wrong.stderr, /^lazuli: \S+ is inside the data folder/)
  const other = await startServerProcess({ args: ['--location', tempFolder('other')] })
  const asked = await run({ args: ['backup', place, '--location', folder, '--adminPort', new URL(other.adminUrl).port] }) // prettier-ignore
  assert.match(asked.stderr, /^lazuli: location is not the data folder of this server, which is /)
  await stop(other)
  // The backup is valid while the server goes on, and after a crash.
  assert.equal((await putBlob(server, '/box/later', body)).status, 201)
  await stop(server, 'SIGKILL')
  const data = join(tempFolder('restored'), 'data')
  const restore = await run({ args: ['restore', place, '--location', data] })
  assert.equal(restore.code, 0, restore.stderr)
  const restored = await startServerProcess({ args: ['--location', data] })
  assertBytes((await getBlob(restored, '/box/b')).body, body)
  assert.equal((await getBlob(restored, '/box/later')).status, 404)
  await stop(restored)
})

test('without control, a server makes no backups', async () => {
  const [folder, place] = [tempFolder('running'), join(tempFolder('place'), 'backup')]
  const server = await startServerProcess({ args: ['--location', folder, '--control=false'] })
  const refused = await run({ args: ['backup', place, '--adminUrl', server.adminUrl] })
  assert.deepEqual([refused.code, refused.stdout], [1, ''])
  assert.match(refused.stderr, /^lazuli: control is off: start the server with --control/)
  await stop(server)
})

test('a restore that was interrupted is opened by nobody, and the same command completes it', async () => {
  const { folder, expected, clock } = await filled()
  const place = join(tempFolder('place'), 'backup')
  await run({ args: ['backup', place, '--location', folder] })
  const data = join(tempFolder('restored'), 'data')
  for (const at of ['content', 'records', 'comparing records', 'checking the copy …']) {
    const stopping = new AbortController()
    const progress: Progress = {
      show: (what) => what === at && stopping.abort(),
      say: (line) => line === at && stopping.abort(),
    }
    const { signal } = stopping
    await assert.rejects(
      runRestore({ from: place, to: { folder: data } }, { env: {}, pid: 1, progress, signal }),
      /the restore was stopped; run the same command again to go on/,
    )
    await assert.rejects(
      startServer({ location: data }),
      /is an unfinished copy of .*: run the same command again to complete it/,
    )
  }
  const restore = await run({ args: ['restore', place, '--location', data] })
  assert.equal(restore.code, 0, restore.stderr)
  assert.deepEqual(await contents(data, clock), expected)
})

test('a killed backup leaves the earlier one, and the next run goes on', async () => {
  const [folder, place] = [tempFolder('killed'), join(tempFolder('place'), 'backup')]
  const server = await startServerProcess({ args: ['--location', folder] })
  await createContainer(server, 'box')
  await putBlob(server, '/box/a', Buffer.alloc(1_000_000, 'a'))
  await stop(server)
  assert.equal((await run({ args: ['backup', place, '--location', folder] })).code, 0)
  const more = await startServerProcess({ args: ['--location', folder] })
  for (let n = 0; n < 20; n += 1) await putBlob(more, `/box/b${n}`, Buffer.alloc(2_000_000, 'b'))
  await stop(more)
  const killed = launch({ args: ['backup', place, '--location', folder] })
  await killed.printed(/^content: /m)
  killed.child.kill('SIGKILL')
  await killed.ended
  const check = await run({ args: ['backup', place, '--verify'] })
  assert.equal(check.code, 0, check.stderr)
  const again = await run({ args: ['backup', place, '--location', folder] })
  assert.equal(again.code, 0, again.stderr)
  assert.equal((await run({ args: ['backup', place, '--verify'] })).code, 0)
})

test('what is no backup, or can not be one, is refused in one line', async () => {
  const folder = tempFolder('refused')
  mkdirSync(join(folder, 'empty'))
  writeFileSync(join(folder, 'text.tar'), 'x'.repeat(2_000))
  const refusals: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['backup'], 2, /^lazuli: lazuli backup needs a folder or a \.tar file\n$/],
    [['restore'], 2, /^lazuli: lazuli restore needs a folder or a \.tar file\n$/],
    [['backup', 'a', 'b'], 2, /^lazuli: unexpected argument b/],
    [['backup', 'a', '--store', 'postgres://db/x'], 2, /^lazuli: lazuli backup is for data folders\. .* pg_basebackup/],
    [['backup', 'a', '--location', join(folder, 'none')], 1, /^lazuli: cannot read the data folder/],
    [['backup', 'a', '--location', join(folder, 'empty')], 1, /^lazuli: there is no store in the folder/],
    [['restore', join(folder, 'empty'), '--location', join(folder, 'x')], 1, /is not a complete backup\n$/],
    [['restore', join(folder, 'text.tar'), '--location', join(folder, 'x')], 1, /is no backup, or it is damaged at byte 0\n$/],
    [['restore', join(folder, 'none'), '--location', join(folder, 'x')], 1, /^lazuli: there is no backup/],
  ] // prettier-ignore
  for (const [args, code, message] of refusals) {
    const ended = await run({ args, cwd: folder })
    assert.equal(ended.code, code, `${args.join(' ')}: ${ended.stderr}`)
    assert.match(ended.stderr, message)
  }
})

test('a damaged backup is restored only with --acceptDamage, which says what is lost', async () => {
  const [folder, place] = [tempFolder('partly'), join(tempFolder('place'), 'backup')]
  const server = await startServerProcess({ args: ['--location', folder] })
  await createContainer(server, 'box')
  for (const name of ['lost', 'kept'])
    await putBlob(server, `/box/${name}`, Buffer.alloc(1_000_000, name))
  await stop(server)
  await run({ args: ['backup', place, '--location', folder] })
  const [segment = ''] = readdirSync(join(place, 'extents'))
  const path = join(place, 'extents', segment)
  const bytes = readFileSync(path)
  bytes[bytes.indexOf('lostlost') + 10] = 0
  writeFileSync(path, bytes)
  const data = join(tempFolder('restored'), 'data')
  const args = ['restore', place, '--location', data]
  const refused = await run({ args })
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^sliceDamaged .*"lost"/m)
  assert.match(
    refused.stderr,
    /lazuli: the copy has 1 problems; restore another backup, or .*--acceptDamage/,
  )
  const accepted = await run({ args: [...args, '--acceptDamage'] })
  assert.equal(accepted.code, 0, accepted.stderr)
  assert.match(accepted.stdout, /^sliceDamaged .*"lost"/m)
  const restored = await startServerProcess({ args: ['--location', data] })
  assertBytes((await getBlob(restored, '/box/kept')).body, Buffer.alloc(1_000_000, 'kept'))
  await stop(restored)
})

test('the tar file is one that tar reads', async (t) => {
  const { folder } = await filled()
  const place = join(tempFolder('place'), 'backup.tar')
  await run({ args: ['backup', place, '--location', folder] })
  const out = tempFolder('untarred')
  const tar = await run({ program: ['tar', '-xf', place, '-C', out], args: [] }).catch(
    () => undefined,
  )
  if (tar === undefined) return t.skip('the command tar is not installed')
  assert.deepEqual([tar.code, tar.stderr], [0, ''])
  assert.match(readFileSync(join(out, 'backup.json'), 'utf8'), /^\{"sha256":/)
  const check = await run({ args: ['backup', out, '--verify'] })
  assert.equal(check.code, 0, check.stderr)
})

describe('with a database', { skip: SKIP_REASON }, () => {
  test('a backup of a folder goes into a database', async () => {
    const { folder, expected, clock } = await filled()
    const place = join(tempFolder('place'), 'backup')
    await run({ args: ['backup', place, '--location', folder] })
    const postgres = await testServer()
    const store = postgres.url(await postgres.newDatabase())
    const restore = await run({ args: ['restore', place, '--store', store] })
    assert.equal(restore.code, 0, restore.stderr)
    const node = await startServer({ store, clock })
    assert.deepEqual(await contentsOf(node), expected)
    await node.close()
  })
})
