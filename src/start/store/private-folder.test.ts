import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startServer } from '../../server.ts'
import { openLog } from '../log/log.ts'
import { defaultOptions } from '../options/options.ts'
import { tightenLocation } from './private-folder.ts'

const folder = mkdtempSync(join(tmpdir(), 'lazuli-private-'))
after(() => rmSync(folder, { recursive: true }))

const uid = statSync(folder).uid

/** `0755 store`, `0600 store/data.mdb` … */
function modesOf(path: string): string[] {
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).sort()
  return ['.', ...names].map((name) => `${modeOf(join(path, name))} ${name}`)
}

function modeOf(path: string): string {
  return `0${(statSync(path).mode & 0o777).toString(8)}`
}

/** As an older server created it, with the usual umask. */
function wideLocation(name: string): string {
  const path = join(folder, name)
  for (const each of [path, join(path, 'store'), join(path, 'extents')]) mkdirSync(each)
  for (const each of ['.gitignore', 'store/data.mdb', 'extents/0001']) {
    writeFileSync(join(path, each), '')
    chmodSync(join(path, each), 0o644)
  }
  for (const each of ['', 'store', 'extents']) chmodSync(join(path, each), 0o755)
  return path
}

async function tightened(path: string, as: number | undefined): Promise<string[]> {
  const lines: string[] = []
  const report = (level: string, message: string): void => {
    lines.push(`${level} ${message.replace(path, 'X')}`)
  }
  await tightenLocation(path, { uid: as, report })
  return lines
}

test('everything that a server creates is readable by its owner only', async () => {
  const location = join(folder, 'new')
  const before = process.umask(0o022)
  try {
    const server = await startServer({ location })
    const wide = modesOf(location).filter((line) => !/^0[67]00 |\.sock$/.test(line))
    await server.close()
    assert.deepEqual(wide, [])
    assert.equal(modeOf(location), '0700')
  } finally {
    process.umask(before)
  }
})

test('a folder that others can read is restricted, once', async () => {
  const path = wideLocation('wide')
  assert.deepEqual(await tightened(path, uid), [
    'info X: restricted to its owner; other users could read the data before',
  ])
  assert.deepEqual(modesOf(path), [
    '0700 .',
    '0600 .gitignore',
    '0700 extents',
    '0600 extents/0001',
    '0700 store',
    '0600 store/data.mdb',
  ])
  assert.deepEqual(await tightened(path, uid), [])
})

test('a folder with other files keeps its mode, and so do those files', async () => {
  const path = wideLocation('shared')
  writeFileSync(join(path, 'code.ts'), '')
  symlinkSync(join(path, 'code.ts'), join(path, 'store', 'link'))
  chmodSync(join(path, 'code.ts'), 0o644)
  assert.equal((await tightened(path, uid)).length, 1)
  assert.deepEqual(modesOf(path), [
    '0755 .',
    '0600 .gitignore',
    '0644 code.ts',
    '0700 extents',
    '0600 extents/0001',
    '0700 store',
    '0600 store/data.mdb',
    '0644 store/link',
  ])
})

test("another user's folder is left alone, with a warning", async () => {
  const path = wideLocation('foreign')
  assert.deepEqual(await tightened(path, uid + 1), [
    'warn X belongs to another user and keeps its permissions: others may be able to read it',
  ])
  assert.equal(modeOf(path), '0755')
})

test('nothing is changed on Windows, which has no modes', async () => {
  const path = wideLocation('windows')
  assert.deepEqual(await tightened(path, undefined), [])
  assert.equal(modeOf(path), '0755')
})

test('the debug log is readable by its owner only', async () => {
  const debug = join(folder, 'debug.log')
  writeFileSync(debug, '')
  chmodSync(debug, 0o644)
  const options = defaultOptions({ debug, silent: true })
  const log = await openLog({ options, stdout: process.stdout, clock: Date.now })
  await log.close()
  assert.equal(modeOf(debug), '0600')
})
