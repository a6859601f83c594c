// OpenDAL, which other programs and languages use to reach storage, with its service for Data Lake Storage (azdls).
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, describe, test } from 'node:test'
import { DataLakeServiceClient, type DataLakeFileSystemClient } from '@azure/storage-file-datalake'
import { assertBytes } from '../assert-bytes.ts'
import { ACCOUNT_KEY, startTestServer, type TestServer } from '../harness.ts'
import { LAKE } from '../datalake/fixture.ts'
import { CLIENT_LIMIT_MS } from './program.ts'

type Operator = {
  write(path: string, content: Buffer | string, options?: { append: boolean }): Promise<unknown>
  read(path: string): Promise<Buffer>
  stat(path: string): Promise<{ contentLength: bigint | null; isDirectory(): boolean }>
  list(path: string, options?: { recursive: boolean }): Promise<{ path(): string }[]>
  createDir(path: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  delete(path: string): Promise<void>
  removeAll(path: string): Promise<void>
}
type OpenDal = {
  readonly Operator: new (service: string, options: Record<string, string>) => Operator
}

/** It is not a dependency: the set-up of the tests installs it. */
function load(): OpenDal | undefined {
  try {
    return createRequire(import.meta.url)('opendal') as OpenDal
  } catch {
    return undefined
  }
}

const opendal = load()
const skip = opendal === undefined && 'OpenDAL is not installed'

describe('OpenDAL', { skip, timeout: CLIENT_LIMIT_MS }, () => {
  let server: TestServer
  let operator: Operator
  let disk: DataLakeFileSystemClient

  before(async () => {
    assert(opendal !== undefined)
    server = await startTestServer()
    const service = DataLakeServiceClient.fromConnectionString(server.connectionStringOf(LAKE))
    disk = service.getFileSystemClient('disk')
    await disk.create()
    operator = new opendal.Operator('azdls', {
      // Its deletions don't say which service they are for.
      endpoint: `http://127.0.0.1:${server.dfsPort}/${LAKE}`,
      filesystem: 'disk',
      account_name: LAKE,
      account_key: ACCOUNT_KEY,
    })
  })

  after(() => server.close())

  const pathsOf = async (path: string) =>
    (await operator.list(path, { recursive: true })).map((entry) => entry.path()).toSorted()

  test('writes, reads, looks up and lists', async () => {
    await operator.write('a/b/größe +%.txt', 'hello')
    assert.equal((await operator.read('a/b/größe +%.txt')).toString(), 'hello')
    assert.equal((await operator.stat('a/b/größe +%.txt')).contentLength, 5n)
    assert.equal((await operator.stat('a/b/')).isDirectory(), true)
    await operator.createDir('a/empty/')
    assert.deepEqual(await pathsOf('a/'), ['a/', 'a/b/', 'a/b/größe +%.txt', 'a/empty/'])
    await assert.rejects(operator.read('a/none'), /NotFound/)
    const long = Buffer.alloc(3_000_000, 'z')
    await operator.write('long', long)
    assertBytes(await operator.read('long'), long)
    assertBytes(await disk.getFileClient('long').readToBuffer(), long)
  })

  test('appends to what is there', async () => {
    for (const text of ['one', 'two']) await operator.write('log', text, { append: true })
    assert.equal((await operator.read('log')).toString(), 'onetwo')
  })

  test('renames and deletes', async () => {
    await operator.write('from/f', 'text')
    await operator.rename('from/f', 'to/f')
    assert.equal((await operator.read('to/f')).toString(), 'text')
    await operator.delete('to/f')
    assert.equal(await disk.getFileClient('to/f').exists(), false)
    await operator.write('tree/x/y', 'text')
    await operator.removeAll('tree/')
    assert.equal(await disk.getDirectoryClient('tree').exists(), false)
  })
})
