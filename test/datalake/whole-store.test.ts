// Trees as those see them who look at a whole store: lists of what clients hold, and fsck.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkLocation } from '../../src/start/store/fsck.ts'
import { startTestServer } from '../harness.ts'
import { expect, LAKE, sendAs, startLakeFixture, writeFile } from './fixture.ts'

const { server, lake, filesystem, write } = await startLakeFixture()

const LEASE = {
  'x-ms-lease-action': 'acquire',
  'x-ms-lease-duration': '-1',
  'x-ms-proposed-lease-id': 'aaaaaaaa-0000-4000-8000-000000000000',
}

test('what is held has the path that it has now, and its lease can be broken', async () => {
  const fs = await filesystem('held')
  await write(`${fs}/d/f`, '')
  await lake('PATCH', `${fs}/d/f?action=append&position=0`, {}, 'pending')
  expect(await lake('POST', `${fs}/d/f`, LEASE), '201')
  expect(await lake('PUT', `${fs}/e`, { 'x-ms-rename-source': `${fs}/d` }), '201')
  const resource = `/${LAKE}/held/e/f`
  const [leased] = await server.held.leases()
  const [uncommitted] = await server.held.uncommitted()
  assert.deepEqual([leased?.resource, uncommitted?.resource], [resource, resource])
  await server.held.breakLease(resource)
  expect(await lake('PATCH', `${fs}/e/f?action=flush&position=7`), '200')
})

test('a store with renamed, deleted and restored trees has no problems, also once it is swept', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'lazuli-lake-'))
  t.after(() => rm(folder, { recursive: true }))
  const own = await startTestServer({ location: folder })
  const send = sendAs(own.blobPort, LAKE)
  await send('PUT', '/checked?resource=filesystem')
  for (const path of ['a/b/c', 'a/d', 'e/f'])
    await writeFile(send, `/checked/${path}`, path.repeat(3_000))
  await send('PUT', '/checked/e/a', { 'x-ms-rename-source': '/checked/a' })
  await send('DELETE', '/checked/e/a/b?recursive=true')
  await send('PATCH', '/checked/e/f?action=append&position=9000', {}, 'pending')
  await own.sweep()
  await own.close()
  const { exitCode, lines } = await checkLocation(folder, process.pid)
  assert.equal(exitCode, 0, lines.join('\n'))
})
