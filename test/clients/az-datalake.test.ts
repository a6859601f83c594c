// Data Lake Storage with `az storage fs`, as scripts use it. Every call takes a second to start, so there are few of them, two
// at a time, and the SDK checks their results.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { DataLakeServiceClient, type DataLakeFileSystemClient } from '@azure/storage-file-datalake'
import { startTestServer, type TestServer } from '../harness.ts'
import { cleanUp, tempFolder } from '../server-process.ts'
import { AZ_SUITE, azStorage } from './az.ts'
import type { Client } from './program.ts'

describe('az storage fs', AZ_SUITE, () => {
  let server: TestServer
  let az: Client
  let box: DataLakeFileSystemClient
  let folder: string

  before(async () => {
    server = await startTestServer()
    folder = tempFolder('az-datalake')
    const connection = server.connectionStringOf('devlake1')
    az = azStorage(connection)
    box = DataLakeServiceClient.fromConnectionString(connection).getFileSystemClient('box')
    await box.create()
  })

  after(async () => {
    await cleanUp()
    await server.close()
  })

  const json = async (...args: string[]) => JSON.parse(await az.ok('fs', ...args))
  const IN_BOX = ['--file-system', 'box']
  const textOf = async (path: string) => String(await box.getFileClient(path).readToBuffer())

  test('create, show and delete of a filesystem', async () => {
    await json('create', '--name', 'made')
    assert.equal((await json('show', '--name', 'made')).name, 'made')
    assert.equal(await json('exists', '--name', 'made').then(({ exists }) => exists), true)
    await az.ok('fs', 'delete', '--name', 'made', '--yes')
    assert.equal(await json('exists', '--name', 'made').then(({ exists }) => exists), false)
  })

  test('file upload, show, download and move', async () => {
    const source = join(folder, 'source.txt')
    writeFileSync(source, 'content')
    await az.ok('fs', 'file', 'upload', ...IN_BOX, '--path', 'dir/file', '--source', source)
    assert.equal(await textOf('dir/file'), 'content')
    assert.equal((await json('file', 'show', ...IN_BOX, '--path', 'dir/file')).size, 7)
    const back = join(folder, 'back.txt')
    await az.ok('fs', 'file', 'download', ...IN_BOX, '--path', 'dir/file', '--destination', back)
    assert.equal(readFileSync(back, 'utf8'), 'content')
    await az.ok('fs', 'file', 'move', ...IN_BOX, '--path', 'dir/file', '--new-path', 'box/moved')
    assert.equal(await textOf('moved'), 'content')
  })

  test('directory create, list, move and delete', async () => {
    await az.ok('fs', 'directory', 'create', ...IN_BOX, '--name', 'tree/deep')
    await box.getFileClient('tree/deep/x').create()
    await az.ok(
      'fs',
      'directory',
      'move',
      ...IN_BOX,
      '--name',
      'tree',
      '--new-directory',
      'box/wood',
    )
    const listed = await json('file', 'list', ...IN_BOX, '--path', 'wood')
    assert.deepEqual(
      listed.map(({ name }: { name: string }) => name),
      ['wood/deep', 'wood/deep/x'],
    )
    await az.ok('fs', 'directory', 'delete', ...IN_BOX, '--name', 'wood', '--yes')
    assert.equal(await box.getDirectoryClient('wood').exists(), false)
  })

  test('access set, show and update-recursive', async () => {
    await box.getFileClient('acl/x').create()
    const acl = 'user::rwx,group::r-x,other::--x'
    await az.ok('fs', 'access', 'set', ...IN_BOX, '--path', 'acl', '--acl', acl)
    const shown = await json('access', 'show', ...IN_BOX, '--path', 'acl')
    assert.deepEqual([shown.acl, shown.permissions, shown.owner], [acl, 'rwxr-x--x', '$superuser'])
    const user = 'user:bbbbbbbb-0000-4000-8000-000000000000:r-x'
    const changed = await json(
      'access',
      'update-recursive',
      ...IN_BOX,
      '--path',
      'acl',
      '--acl',
      user,
    )
    assert.deepEqual(changed.counters, {
      directoriesSuccessful: 1,
      failureCount: 0,
      filesSuccessful: 1,
    })
  })
})
