// AzCopy: folders up, down, from one place to another, in sync and away, by the Blob service and by Data Lake Storage.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { BlobServiceClient, ContainerSASPermissions } from '@azure/storage-blob'
import {
  DataLakeServiceClient,
  FileSystemSASPermissions,
  type AccessControlType,
} from '@azure/storage-file-datalake'
import { startTestServer, type TestServer } from '../harness.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { CLIENT_LIMIT_MS, clientOf, missingReason, type Client } from './program.ts'

const FILES: Readonly<Record<string, string>> = {
  'empty.txt': '',
  'sub/a+b %41 & c#d.txt': 'awkward',
  'sub/deep/long.txt': 'x'.repeat(300_000),
}
const NAMES = Object.keys(FILES).toSorted()
const READER = '11111111-0000-4000-8000-000000000000'
const EXPIRES = new Date('2099-01-01T00:00:00Z')
const skip = missingReason('AzCopy', ['azcopy', '--version']) ?? false

function writeFiles(files: Readonly<Record<string, string>>): string {
  const folder = tempFolder('azcopy')
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

function checkFiles(folder: string): void {
  for (const [name, text] of Object.entries(FILES)) {
    assert.equal(readFileSync(join(folder, name), 'utf8'), text)
  }
}

/** The URL of a place below the one that the SAS is for. */
const below = (sasUrl: string, path: string) => sasUrl.replace('?', `/${path}?`)

describe('AzCopy', { skip, timeout: CLIENT_LIMIT_MS }, () => {
  let server: TestServer
  let azcopy: Client

  before(async () => {
    server = await startTestServer()
    const [log, plans] = [tempFolder('azcopy-log'), tempFolder('azcopy-plans')]
    azcopy = clientOf(['azcopy'], {
      AZCOPY_LOG_LOCATION: log,
      AZCOPY_JOB_PLAN_LOCATION: plans,
      AZCOPY_DISABLE_SYSLOG: 'true',
      AZCOPY_CONCURRENCY_VALUE: '4',
    })
  })

  after(async () => {
    await cleanUp()
    await server.close()
  })

  /** By the host name, it can't tell which service the URL is of. */
  const copy = (from: string, to: string, kinds: string, ...more: string[]) =>
    azcopy.ok('copy', from, to, '--recursive', '--as-subdir=false', '--from-to', kinds, ...more)

  test('copies a folder to blobs, to another container, and back', async () => {
    const service = BlobServiceClient.fromConnectionString(server.connectionString)
    const permissions = ContainerSASPermissions.parse('rwdlac')
    const [box, other] = await Promise.all(
      ['box', 'other'].map(async (name) => {
        const container = service.getContainerClient(name)
        await container.create()
        return container.generateSasUrl({ permissions, expiresOn: EXPIRES })
      }),
    )
    const folder = writeFiles(FILES)
    await copy(folder, below(box ?? '', 'all'), 'LocalBlob')
    await copy(below(box ?? '', 'all'), below(other ?? '', 'copied'), 'BlobBlob')
    const back = tempFolder('azcopy-back')
    await copy(below(other ?? '', 'copied'), back, 'BlobLocal')
    checkFiles(back)
    await azcopy.ok('remove', below(box ?? '', 'all'), '--recursive', '--from-to', 'BlobTrash')
    const left = service.getContainerClient('box').listBlobsFlat()
    assert.equal((await left.next()).done, true)
  })

  test('copies a folder to a filesystem with directories, in sync, with permissions, and back', async () => {
    const connection = server.connectionStringOf('devlake1')
    const service = DataLakeServiceClient.fromConnectionString(connection)
    const lake = service.getFileSystemClient('lake')
    await lake.create()
    const permissions = FileSystemSASPermissions.parse('racwdlmeop')
    const url = await lake.generateSasUrl({ permissions, expiresOn: EXPIRES })
    const folder = writeFiles(FILES)
    await copy(folder, below(url, 'all'), 'LocalBlobFS')
    const paths: string[] = []
    for await (const { name = '', isDirectory } of lake.listPaths({ recursive: true })) {
      if (isDirectory !== true) paths.push(name.slice('all/'.length))
    }
    assert.deepEqual(paths.toSorted(), NAMES)
    assert.equal(await lake.getDirectoryClient('all/sub/deep').exists(), true)

    writeFileSync(join(folder, 'empty.txt'), 'no more')
    await azcopy.ok('sync', folder, below(url, 'all'), '--from-to', 'LocalBlobFS')
    const changed = await lake.getFileClient('all/empty.txt').readToBuffer()
    assert.equal(changed.toString(), 'no more')
    await lake.getFileClient('all/empty.txt').delete()
    await lake.getFileClient('all/empty.txt').create()

    const use = { read: true, write: false, execute: true }
    const entry = (accessControlType: AccessControlType, entityId = '') =>
      ({ accessControlType, entityId, defaultScope: false, permissions: use }) as const
    const types = ['user', 'group', 'mask', 'other'] as const
    const acl = [...types.map((type) => entry(type)), entry('user', READER)]
    await lake.getDirectoryClient('all/sub').setAccessControl(acl)
    await copy(below(url, 'all'), below(url, 'copied'), 'BlobFSBlobFS', '--preserve-permissions')
    const copied = await lake.getDirectoryClient('copied/sub').getAccessControl()
    assert.deepEqual(copied.acl.find(({ entityId }) => entityId === READER)?.permissions, use)

    const back = tempFolder('azcopy-back')
    await copy(below(url, 'copied'), back, 'BlobFSLocal')
    checkFiles(back)
    await azcopy.ok('remove', below(url, 'all'), '--recursive', '--from-to', 'BlobFSTrash')
    assert.equal(await lake.getDirectoryClient('all').exists(), false)
  })
})
