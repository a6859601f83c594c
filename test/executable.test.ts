// The single executable, built for this machine and run without Node, npm or a checkout.
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
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

const BUILD = fileURLToPath(new URL('../scripts/executable/build.mjs', import.meta.url))
const FOLDER = tempFolder('executable')
const EXECUTABLE = join(FOLDER, `lazuli-${process.platform}-${process.arch}`)
const VERSION = /^\d+\.\d+\.\d+/

after(cleanUp)

describe('the single executable', () => {
  before(async () => {
    const built = await run({ program: [process.execPath, BUILD], args: [FOLDER] })
    assert.equal(built.code, 0, built.stderr)
  })

  /** With a cache of its own. */
  const place = () => {
    const cwd = tempFolder('executable-run')
    return { cwd, env: { XDG_CACHE_HOME: join(cwd, 'cache'), PATH: '/nowhere' } }
  }

  test('it serves, with its console and documentation, hashes long bodies in threads, and finds its data again', async () => {
    const where = { program: [EXECUTABLE], ...place() } as const
    const args = ['--location', join(where.cwd, 'data')]
    const body = Buffer.alloc(2 ** 21, 'x')
    const first = await startServerProcess({ ...where, args })
    assert.equal((await createContainer(first, 'box')).status, 201)
    assert.equal((await putBlob(first, '/box/a', body)).status, 201)
    for (const page of ['console/page/main.js', 'docs/testing'])
      assert.equal((await fetch(`${first.adminUrl}/${page}`)).status, 200, page)
    const style = await fetch(`${first.adminUrl}/docs/style.css`)
    assert.match(await style.text(), /--surface:[^]*\.docs \{/)
    assert.equal((await stop(first)).code, 0)
    const second = await startServerProcess({ ...where, args })
    assert.equal((await getBlob(second, '/box/a')).body.length, body.length)
    await stop(second)
  })

  test('called by the name azurite, it prints the lines of Azurite', async () => {
    const { cwd, env } = place()
    const link = join(cwd, 'azurite')
    symlinkSync(EXECUTABLE, link)
    const args = ['--inMemoryPersistence', '--blobPort', '0', '--adminPort', '0']
    const server = launch({ program: [link], args, cwd, env })
    await server.printed(/Azurite Blob service is successfully listening/)
    await stop(server)
  })

  test('two first starts at once unpack one copy', async () => {
    const where = { program: [EXECUTABLE], args: ['--version'], ...place() } as const
    const ended = await Promise.all([run(where), run(where), run(where)])
    for (const { code, stdout, stderr } of ended) {
      assert.equal(code, 0, stderr)
      assert.match(stdout, VERSION)
    }
    assert.equal(readdirSync(join(where.env.XDG_CACHE_HOME, 'lazuli')).length, 1)
  })

  test('it does not use a cache that others can write to', async () => {
    const { cwd, env } = place()
    const cache = join(env.XDG_CACHE_HOME, 'lazuli')
    mkdirSync(cache, { recursive: true })
    chmodSync(cache, 0o777)
    const temporary = join(cwd, 'temporary')
    mkdirSync(temporary)
    const launched = { program: [EXECUTABLE], args: ['--version'], cwd } as const
    const ended = await run({ ...launched, env: { ...env, TMPDIR: temporary } })
    assert.match(ended.stdout, VERSION, ended.stderr)
    assert.deepEqual(readdirSync(cache), [])
  })
})
