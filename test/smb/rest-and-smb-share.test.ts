// A share over REST and SMB: deleting it while SMB clients use it, browsing its snapshots over SMB, and its quota and
// names, which are the same for both.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ShareServiceClient, StorageSharedKeyCredential } from '@azure/storage-file-share'
import type { ShareClient } from '@azure/storage-file-share'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { shareClient } from '../file/fixture.ts'
import { itemsOf, outcomeOf } from '../file/smb-client.ts'
import { openRestAndSmb } from './rest-and-smb.ts'
import { ACCESS, DISPOSITION, OPTION } from './client-message.ts'
import { statusOf, type SmbClient } from './smb-client.ts'

const world = await openRestAndSmb()

const GIB = 2 ** 30
const { create } = DISPOSITION

function serviceClient(options: { readonly allowTrailingDot?: boolean } = {}): ShareServiceClient {
  const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  return new ShareServiceClient(world.server.fileEndpoint, credential, options)
}

async function newShare(name: string): Promise<{ share: ShareClient; client: SmbClient }> {
  const share = shareClient(world.server, name)
  await share.create()
  return { share, client: await world.smb({ share: name }) }
}

test('a share that REST deletes is gone for connected SMB clients', async () => {
  const { share, client } = await newShare('deleted')
  const handle = await client.open('a', { access: ACCESS.all, disposition: create })
  await share.delete()
  assert.equal(await statusOf(handle.write(0, 'x')), 'FILE_CLOSED')
  assert.equal(await statusOf(handle.read(0, 1)), 'FILE_CLOSED')
  assert.equal(await statusOf(client.open('a')), 'NETWORK_NAME_DELETED')
  assert.equal(await statusOf(world.smb({ share: 'deleted' })), 'BAD_NETWORK_NAME')
})

test('a new share with the same name is another share', async () => {
  const { share, client } = await newShare('again')
  await share.delete()
  await share.create()
  const terms = { access: ACCESS.all, disposition: create }
  assert.equal(await statusOf(client.open('a', terms)), 'NETWORK_NAME_DELETED')
  assert.deepEqual(await itemsOf(share.rootDirectoryClient.listFilesAndDirectories()), [])
  const fresh = await world.smb({ share: 'again' })
  assert.equal(await statusOf(fresh.open('a', terms)), 'SUCCESS')
})

describe('a snapshot that REST takes', () => {
  /** SMB names a snapshot by its time in whole seconds. */
  const labelOf = (snapshot: string) =>
    `@GMT-${snapshot.slice(0, 10).replaceAll('-', '.')}-${snapshot.slice(11, 19).replaceAll(':', '.')}`

  async function newSnapshot(name: string) {
    const { share, client } = await newShare(name)
    await share.createDirectory('dir')
    const file = share.getDirectoryClient('dir').getFileClient('a')
    await file.create(6)
    await file.uploadRange('before', 0, 6)
    const { snapshot = '' } = await share.createSnapshot()
    return { share, client, file, label: labelOf(snapshot) }
  }

  test('is enumerated, latest first', async () => {
    const { share, client, label } = await newSnapshot('enumerated')
    world.server.advance(2_000)
    const { snapshot = '' } = await share.createSnapshot()
    const root = await client.open('', { options: OPTION.directory })
    assert.deepEqual(await root.snapshots(), [labelOf(snapshot), label])
  })

  test('shows its files, wherever its label is in the path', async () => {
    const { share, client, file, label } = await newSnapshot('browsed')
    await file.uploadRange('after.', 0, 6)
    const past = await client.open(`${label}\\dir\\a`)
    assert.equal(String(await past.read(0, 6)), 'before')
    assert.equal(String(await (await client.open('dir\\a')).read(0, 6)), 'after.')
    await file.forceCloseAllHandles()
    await file.delete()
    await share.deleteDirectory('dir')
    const same = await client.open(`dir\\${label}\\a`)
    assert.equal(String(await same.read(0, 6)), 'before')
    const directory = await client.open(`${label}\\dir`, { options: OPTION.directory })
    assert.deepEqual(await directory.names(), ['a'])
  })

  test('is read-only', async () => {
    const { client, label } = await newSnapshot('readonly')
    const path = `${label}\\dir\\a`
    assert.equal(
      await statusOf(client.open(path, { access: ACCESS.write })),
      'MEDIA_WRITE_PROTECTED',
    )
    const terms = { access: ACCESS.read, disposition: create }
    assert.equal(await statusOf(client.open(`${label}\\dir\\b`, terms)), 'MEDIA_WRITE_PROTECTED')
  })

  test('can be open without affecting others', async () => {
    const { client, file, label } = await newSnapshot('unhindered')
    await client.open(`${label}\\dir\\a`, { share: 0 })
    assert.equal(await outcomeOf(file.uploadRange('x', 0, 1)), 'ok')
    assert.equal(await outcomeOf(file.delete()), 'ok')
  })

  test('is gone for SMB after REST has deleted it', async () => {
    const { share, client, label } = await newSnapshot('dropped')
    const [found] = await itemsOf(
      serviceClient().listShares({ includeSnapshots: true, prefix: 'dropped' }),
    )
    await share.withSnapshot(found?.snapshot ?? '').delete()
    assert.equal(await statusOf(client.open(`${label}\\dir\\a`)), 'OBJECT_NAME_NOT_FOUND')
    const root = await client.open('', { options: OPTION.directory })
    assert.deepEqual(await root.snapshots(), [])
  })
})

describe('the quota', () => {
  test('is the size of the volume, and the files are its used space', async () => {
    const { share, client } = await newShare('sized')
    await share.setQuota(3)
    await share.rootDirectoryClient.getFileClient('big').create(GIB)
    const root = await client.open('', { options: OPTION.directory })
    assert.deepEqual(await root.volume(), { totalBytes: 3 * GIB, freeBytes: 2 * GIB })
  })

  test('limits SMB and REST together', async () => {
    const { share, client } = await newShare('full')
    await share.setQuota(1)
    const big = share.rootDirectoryClient.getFileClient('big')
    await big.create(GIB - 10)
    const handle = await client.open('a', { access: ACCESS.all, disposition: create })
    await handle.write(0, '0123456789')
    assert.equal(await statusOf(handle.write(10, 'x')), 'DISK_FULL')
    assert.equal(await statusOf(handle.setLength(11)), 'DISK_FULL')
    assert.equal(await statusOf(handle.write(0, 'x')), 'SUCCESS')
    const small = share.rootDirectoryClient.getFileClient('small')
    const refused = await outcomeOf(small.create(1))
    assert.match(refused, /ShareSizeLimitReached/)
    await handle.setLength(9)
    assert.equal(await outcomeOf(small.create(1)), 'ok')
    assert.equal(await statusOf(handle.write(9, 'x')), 'DISK_FULL')
    await small.delete()
    assert.equal(await statusOf(handle.write(9, 'x')), 'SUCCESS')
  })
})

describe('a name', () => {
  test('is found in any case and keeps its case', async () => {
    const { share, client } = await newShare('cases')
    const root = share.rootDirectoryClient
    await client.open('Größe', { disposition: create, options: OPTION.directory })
    const directory = root.getDirectoryClient('gRÖßE')
    await directory.getFileClient('Read Me.TXT').create(3)
    const terms = { access: ACCESS.all }
    assert.equal(await statusOf(client.open('GRÖßE\\read me.txt', terms)), 'SUCCESS')
    const taken = { ...terms, disposition: create }
    assert.equal(await statusOf(client.open('größe\\READ ME.txt', taken)), 'OBJECT_NAME_COLLISION')
    assert.deepEqual(
      (await itemsOf(root.listFilesAndDirectories())).map(({ name }) => name),
      ['Größe'],
    )
    const handle = await client.open('GRÖßE', { options: OPTION.directory })
    assert.deepEqual(await handle.names(), ['Read Me.TXT'])
  })

  test('keeps its trailing dots if REST requests it, as with SMB', async () => {
    const { client } = await newShare('dotted')
    const dotted = (allowTrailingDot: boolean) =>
      serviceClient({ allowTrailingDot }).getShareClient('dotted').rootDirectoryClient
    await client.open('a..', { access: ACCESS.all, disposition: create })
    assert.equal(await outcomeOf(dotted(true).getFileClient('a..').getProperties()), 'ok')
    const missing = '404 ResourceNotFound'
    assert.equal(await outcomeOf(dotted(false).getFileClient('a..').getProperties()), missing)
    await dotted(false).getFileClient('b.').create(1)
    assert.equal(await statusOf(client.open('b.')), 'OBJECT_NAME_NOT_FOUND')
    assert.equal(await statusOf(client.open('b')), 'SUCCESS')
    await dotted(true).getFileClient('c.').create(1)
    assert.equal(await statusOf(client.open('c.')), 'SUCCESS')
    const listing = dotted(true).listFilesAndDirectories()
    assert.deepEqual(
      (await itemsOf(listing)).map(({ name }) => name),
      ['a..', 'b', 'c.'],
    )
  })

  for (const [name, status, code] of [
    ['a*b', 'OBJECT_NAME_INVALID', '400 InvalidResourceName'],
    ['a:b', 'OBJECT_NAME_INVALID', '400 InvalidResourceName'],
    ['x'.repeat(256), 'OBJECT_NAME_INVALID', '400 InvalidFileOrDirectoryPathName'],
    ['x'.repeat(255), 'SUCCESS', 'ok'],
  ] as const) {
    test(`${name.slice(0, 4)}… of ${name.length} characters → ${status} and ${code}`, async () => {
      const client = await world.smb()
      const file = world.share.rootDirectoryClient.getFileClient(name)
      const terms = { access: ACCESS.all, disposition: create, options: OPTION.deleteOnClose }
      const opening = client.open(name, terms)
      assert.equal(await statusOf(opening), status)
      if (status === 'SUCCESS') await (await opening).close()
      assert.equal(await outcomeOf(file.create(1)), code)
    })
  }
})
