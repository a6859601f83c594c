// Incremental Copy Blob: snapshots of a page blob become snapshots of a blob that accepts no other writes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcome, type Headers } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { server, container, send } = await startBlobFixture()
const source = container.getPageBlobClient('source')

await source.create(1024, { metadata: { a: '1' }, blobSequenceNumber: 4 })

/** Writes the first page and takes a snapshot. */
async function snapshotWith(byte: number): Promise<string> {
  await source.uploadPages(Buffer.alloc(512, byte), 0, 512)
  return (await source.createSnapshot()).snapshot ?? ''
}

function copy(to: string, url: string, headers: Headers = {}) {
  const all = { 'x-ms-copy-source': url, ...headers }
  return send('PUT', `/box/${to}?comp=incrementalcopy`, all)
}

const at = (snapshot: string) => source.withSnapshot(snapshot).url

test('each copy is a complete snapshot of the destination', async () => {
  const backup = container.getPageBlobClient('backup')
  const snapshots: string[] = []
  for (const byte of [1, 2]) {
    const answer = await backup.startCopyIncremental(at(await snapshotWith(byte)))
    assert.equal(answer.copyStatus, 'pending')
    const properties = await backup.getProperties()
    assert.equal(properties.copyId, answer.copyId)
    assert.equal(properties.etag, answer.etag)
    assert.equal(properties.copyStatus, 'success')
    assert.equal(properties.isIncrementalCopy, true)
    assert.deepEqual([properties.metadata, properties.blobSequenceNumber], [{ a: '1' }, 4])
    snapshots.push(properties.destinationSnapshot ?? '')
  }
  const firstBytes = []
  for (const snapshot of snapshots) {
    const bytes = await backup.withSnapshot(snapshot).downloadToBuffer()
    assert.equal(bytes.length, 1024)
    firstBytes.push(bytes[0])
  }
  assert.deepEqual(firstBytes, [1, 2])
  const listed = []
  for await (const item of container.listBlobsFlat({ includeSnapshots: true, prefix: 'backup' })) {
    if (item.snapshot) listed.push(item.snapshot)
  }
  assert.deepEqual(listed, snapshots)
  const path = '/box?restype=container&comp=list&prefix=backup&include='
  const { text } = await send('GET', `${path}snapshots`)
  for (const snapshot of snapshots) {
    assert.ok(text.includes(`<CopyDestinationSnapshot>${snapshot}</CopyDestinationSnapshot>`))
  }
  const plain = await send('GET', `${path}metadata`)
  assert.doesNotMatch(plain.text, /CopyDestinationSnapshot/)
  await source.uploadPages(Buffer.alloc(512, 9), 0, 512)
  await server.sweep()
  assert.equal((await backup.withSnapshot(snapshots[1] ?? '').downloadToBuffer())[0], 2)
})

test('the destination itself cannot be read or written', async () => {
  const backup = container.getPageBlobClient('closed')
  await backup.startCopyIncremental(at(await snapshotWith(3)))
  const code = 'OperationNotAllowedOnIncrementalCopyBlob'
  await assert.rejects(backup.downloadToBuffer(), { code })
  await assert.rejects(backup.create(512), { code })
  await assert.rejects(backup.syncCopyFromURL(source.url), { statusCode: 409 })
  await backup.delete({ deleteSnapshots: 'include' })
})

test('the source has to be a snapshot of a page blob', async () => {
  assert.equal(outcome(await copy('x', source.url)), '409 IncrementalCopySourceMustBeSnapshot')
  const elsewhere = 'https://example.com/file?snapshot=2026-01-01T00:00:00.0000000Z'
  assert.equal(outcome(await copy('x', elsewhere)), '409 InvalidSourceBlobUrl')
  const version = `${source.url}?versionid=2026-01-01T00:00:00.0000000Z`
  assert.equal(outcome(await copy('x', version)), '409 InvalidSourceBlobUrl')
  const missing = at('2026-01-01T00:00:00.0000000Z')
  assert.equal(outcome(await copy('x', missing)), '404 CannotVerifyCopySource')
  const block = container.getBlockBlobClient('block')
  await block.upload('x', 1)
  const { snapshot = '' } = await block.createSnapshot()
  const url = block.withSnapshot(snapshot).url
  assert.equal(outcome(await copy('x', url)), '409 InvalidSourceBlobType')
})

test('the destination accepts only newer snapshots of the same source', async () => {
  const [first, second] = [await snapshotWith(4), await snapshotWith(5)]
  assert.equal(outcome(await copy('bound', at(second))), '202')
  const code = '409 IncrementalCopyOfEarlierSnapshotNotAllowed'
  assert.equal(outcome(await copy('bound', at(first))), code)
  const other = container.getPageBlobClient('other')
  await other.create(512)
  const { snapshot = '' } = await other.createSnapshot()
  const url = other.withSnapshot(snapshot).url
  assert.equal(outcome(await copy('bound', url)), '409 IncrementalCopyBlobMismatch')
  assert.equal(outcome(await copy('other', at(second))), '409 IncrementalCopyBlobMismatch')
  await container.getBlockBlobClient('text').upload('x', 1)
  assert.equal(outcome(await copy('text', at(second))), '409 InvalidBlobType')
})

test('conditions of the destination are checked', async () => {
  const snapshot = await snapshotWith(6)
  const to = async (headers: Headers) => outcome(await copy('conditioned', at(snapshot), headers))
  assert.equal(await to({ 'if-match': '*' }), '412 TargetConditionNotMet')
  assert.equal(await to({ 'if-none-match': '*' }), '202')
  assert.equal(await to({ 'if-none-match': '*' }), '409 BlobAlreadyExists')
  assert.equal(await to({ 'if-match': '"0x1"' }), '412 TargetConditionNotMet')
})
