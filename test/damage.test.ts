// Damaged bytes on disk: the client notices that its download is incomplete, the log says why, and the server keeps
// running.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { rawRequest } from './harness.ts'
import { runTestServer } from './running-server.ts'

test('a download from a truncated extent is aborted and logged', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-damage-'))
  const server = await runTestServer({ folder, silent: true })
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const put = (name: string, body: Buffer) => {
    const headers = { 'x-ms-blob-type': 'BlockBlob' }
    return rawRequest(server, { method: 'PUT', path: `/box/${name}`, headers, body })
  }
  await rawRequest(server, { method: 'PUT', path: '/box?restype=container' })
  assert.equal((await put('large', Buffer.alloc(3_000_000, 'x'))).status, 201)
  assert.equal((await put('small', Buffer.from('hello'))).status, 201)
  const [extent = ''] = readdirSync(join(folder, 'extents'))
  truncateSync(join(folder, 'extents', extent), 2_000_000)

  await assert.rejects(rawRequest(server, { method: 'GET', path: '/box/large' }))
  const small = await rawRequest(server, { method: 'GET', path: '/box/small' })
  assert.deepEqual([small.status, small.text], [200, 'hello'])
  await server.close()
  assert.match(server.logged(), /error: request failed .*extent 1: it ends at byte 2000000/)
})
