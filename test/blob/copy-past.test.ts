// Copies with versioning and soft delete: the replaced blob becomes a version or a soft-deleted snapshot, and copying
// an old version makes it current.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { file, gate, heldFile } from '../source-server.ts'
import { NO_VERSIONING, softDelete, startCopyFixture, VERSIONING } from './fixture.ts'

const box = await startCopyFixture()

const copy = async (source: string, to: string) => {
  const { status, headers } = await box.send('PUT', `/box/${to}`, { 'x-ms-copy-source': source })
  assert.equal(status, 202)
  return String(headers['x-ms-version-id'] ?? '')
}

test('a copy creates a version and keeps the one it replaces', async () => {
  await box.setServiceProperties(VERSIONING)
  const old = await box.put('a', 'old')
  await box.put('b', 'new')
  const created = await copy(box.container.getBlobClient('b').url, 'a')
  assert.notEqual(created, '')
  assert.equal(await box.read('/box/a'), 'new')
  assert.equal(await box.read(`/box/a?versionid=${created}`), 'new')
  assert.equal(await box.read(`/box/a?versionid=${old}`), 'old')
})

test('a copy of a version to its own name promotes it', async () => {
  await box.setServiceProperties(VERSIONING)
  const first = await box.put('p', 'first')
  const second = await box.put('p', 'second')
  const { url } = box.container.getBlobClient('p').withVersion(first)
  const third = await copy(url, 'p')
  assert.equal(await box.read('/box/p'), 'first')
  for (const [id, text] of [[first, 'first'], [second, 'second'], [third, 'first']] as const) {
    assert.equal(await box.read(`/box/p?versionid=${id}`), text)
  } // prettier-ignore
})

test('a copy from another server is one version from start to end', async () => {
  await box.setServiceProperties(VERSIONING)
  const held = gate()
  box.web.answer('/held', heldFile(Buffer.from('text'), 1, held))
  const old = await box.put('r', 'old')
  const created = await copy(`${box.web.origin}/held`, 'r')
  assert.equal(await box.read(`/box/r?versionid=${old}`), 'old')
  held.open()
  box.web.answer('/held', file(Buffer.from('text')))
  const blob = box.container.getBlobClient('r')
  while ((await blob.getProperties()).copyStatus === 'pending') continue
  assert.equal(await box.read(`/box/r?versionid=${created}`), 'text')
  assert.equal((await blob.getProperties()).versionId, created)
})

test('a blob replaced by a copy can be undeleted with soft delete', async () => {
  await box.setServiceProperties(NO_VERSIONING + softDelete(1))
  await box.put('s', 'old')
  await box.put('t', 'new')
  await copy(box.container.getBlobClient('t').url, 's')
  const deleted = []
  const include = { includeDeleted: true, includeSnapshots: true, prefix: 's' }
  for await (const item of box.container.listBlobsFlat(include)) {
    if (item.deleted) deleted.push(item.snapshot)
  }
  assert.equal(deleted.length, 1)
  await box.container.getBlobClient('s').undelete()
  assert.equal(await box.read(`/box/s?snapshot=${deleted[0]}`), 'old')
  assert.equal(await box.read('/box/s'), 'new')
})
