// Copies where former states are kept: what a copy replaces stays as a version or a soft-deleted snapshot,
// and an old version is made the current one by copying it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { file, gate, heldFile, startSourceServer, type SourceServer } from '../source-server.ts'
import { NO_VERSIONING, openBox, softDelete, VERSIONING, type Box } from './past.ts'

let web: SourceServer
let box: Box

before(async () => {
  web = await startSourceServer()
  const options = { onDisk: false, allowCopyFrom: [web.origin] }
  box = await openBox(options)
})

after(async () => {
  await box.server.close()
  await web.close()
})

const copy = async (source: string, to: string) => {
  const { status, headers } = await box.send('PUT', `/box/${to}`, { 'x-ms-copy-source': source })
  assert.equal(status, 202)
  return String(headers['x-ms-version-id'] ?? '')
}

test('a copy is a version, and so is what it replaces', async () => {
  await box.turn(VERSIONING)
  const old = await box.put('a', 'old')
  await box.put('b', 'new')
  const made = await copy(box.container.getBlobClient('b').url, 'a')
  assert.notEqual(made, '')
  assert.equal(await box.read('/box/a'), 'new')
  assert.equal(await box.read(`/box/a?versionid=${made}`), 'new')
  assert.equal(await box.read(`/box/a?versionid=${old}`), 'old')
})

test('a version is promoted by copying it to its own name', async () => {
  await box.turn(VERSIONING)
  const first = await box.put('p', 'first')
  const second = await box.put('p', 'second')
  const { url } = box.container.getBlobClient('p').withVersion(first)
  const third = await copy(url, 'p')
  assert.equal(await box.read('/box/p'), 'first')
  for (const [id, text] of [[first, 'first'], [second, 'second'], [third, 'first']] as const) {
    assert.equal(await box.read(`/box/p?versionid=${id}`), text)
  } // prettier-ignore
})

test('a copy from elsewhere is one version from its beginning to its end', async () => {
  await box.turn(VERSIONING)
  const held = gate()
  web.answer('/held', heldFile(Buffer.from('text'), 1, held))
  const old = await box.put('r', 'old')
  const made = await copy(`${web.origin}/held`, 'r')
  assert.equal(await box.read(`/box/r?versionid=${old}`), 'old')
  held.open()
  web.answer('/held', file(Buffer.from('text')))
  const blob = box.container.getBlobClient('r')
  while ((await blob.getProperties()).copyStatus === 'pending') continue
  assert.equal(await box.read(`/box/r?versionid=${made}`), 'text')
  assert.equal((await blob.getProperties()).versionId, made)
})

test('with soft delete, what a copy replaces can be had back', async () => {
  await box.turn(NO_VERSIONING + softDelete(1))
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
