// An account with a hierarchical namespace as a remote for rclone, which uses the Blob service: directories are blobs that are
// marked as folders there, and must neither show up as files nor be in the way.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DataLakeServiceClient, type DataLakeFileSystemClient } from '@azure/storage-file-datalake'
import { ACCOUNT_KEY, startTestServer, type TestServer } from '../harness.ts'
import { accountSas, cleanUp, tempFolder } from '../server-process.ts'
import { CLIENT_LIMIT_MS, clientOf, missingReason, type Client } from './program.ts'

const FILES: Readonly<Record<string, string>> = {
  'empty.txt': '',
  'sub/a+b %41 & c#d?.txt': 'awkward',
  'sub/deep/größe.html': '<p>',
}
const NAMES = Object.keys(FILES).sort()
const ALONE = { RCLONE_CONFIG: '', RCLONE_RETRIES: '1', RCLONE_LOW_LEVEL_RETRIES: '1' }
const remote = (path: string): string => `:azureblob:${path}`
const skip = missingReason('rclone', ['rclone', 'version']) ?? false

describe('rclone with a hierarchical namespace', { skip, timeout: CLIENT_LIMIT_MS }, () => {
  let server: TestServer
  let rclone: Client
  let disk: DataLakeFileSystemClient
  let folder: string

  before(async () => {
    server = await startTestServer()
    const connection = server.connectionStringOf('devlake1')
    const sas = accountSas({ name: 'devlake1', key: ACCOUNT_KEY })
    rclone = clientOf(['rclone'], {
      ...ALONE,
      RCLONE_AZUREBLOB_SAS_URL: `http://127.0.0.1:${server.blobPort}/devlake1?${sas}`,
    })
    disk = DataLakeServiceClient.fromConnectionString(connection).getFileSystemClient('disk')
    folder = tempFolder('rclone-datalake')
    for (const [name, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
    await rclone.ok('mkdir', remote('disk'))
    await rclone.ok('copy', folder, remote('disk/all'))
  })

  after(async () => {
    await cleanUp()
    await server.close()
  })

  test('what it uploads has directories', async () => {
    assert.equal(await disk.getDirectoryClient('all/sub/deep').exists(), true)
    const read = await disk.getFileClient('all/sub/deep/größe.html').readToBuffer()
    assert.equal(read.toString(), '<p>')
  })

  test('it finds again what it uploaded', async () => {
    await rclone.ok('check', '--download', folder, remote('disk/all'))
    const listed = await rclone.ok('lsf', '-R', '--files-only', remote('disk/all'))
    assert.deepEqual(listed.trimEnd().split('\n').sort(), NAMES)
    const level = await rclone.ok('lsf', remote('disk/all'))
    assert.deepEqual(level.trimEnd().split('\n').sort(), ['empty.txt', 'sub/'])
  })

  test('it downloads what was written by path', async () => {
    await disk.getFileClient('paths/x').upload(Buffer.from('by path'))
    const back = tempFolder('rclone-datalake-back')
    await rclone.ok('copy', remote('disk/paths'), back)
    assert.equal(readFileSync(join(back, 'x'), 'utf8'), 'by path')
  })

  test('it deletes files and purges', async () => {
    await rclone.ok('deletefile', remote('disk/all/empty.txt'))
    assert.equal(await disk.getFileClient('all/empty.txt').exists(), false)
    await rclone.ok('purge', remote('disk'))
    assert.equal(await disk.exists(), false)
  })
})
