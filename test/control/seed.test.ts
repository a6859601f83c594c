// Seeds and exports: a store from a folder or an object, and the same store again from what was exported.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { TableClient } from '@azure/data-tables'
import { BlobServiceClient } from '@azure/storage-blob'
import { ShareServiceClient } from '@azure/storage-file-share'
import { QueueServiceClient } from '@azure/storage-queue'
import { startServer, type LazuliServer, type ServerOptions } from '../../src/server.ts'
import { openStore } from '../../src/start/store/store.ts'
import { beginSeeding } from '../../src/storage/seeding.ts'
import { ACCOUNT_KEY } from '../harness.ts'
import { fillStore } from '../store-contents.ts'

async function start(t: TestContext, options: ServerOptions = {}): Promise<LazuliServer> {
  const server = await startServer(options)
  t.after(() => server.close())
  return server
}

async function newFolder(t: TestContext, files: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'lazuli-seed-'))
  t.after(() => rm(folder, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  return folder
}

function clientsOf({ connectionString }: LazuliServer) {
  return {
    blobs: BlobServiceClient.fromConnectionString(connectionString),
    queues: QueueServiceClient.fromConnectionString(connectionString),
    shares: ShareServiceClient.fromConnectionString(connectionString),
    table: (name: string) =>
      TableClient.fromConnectionString(connectionString, name, { allowInsecureConnection: true }),
  }
}

async function containersOf(server: LazuliServer): Promise<readonly string[]> {
  const names: string[] = []
  for await (const { name } of clientsOf(server).blobs.listContainers()) names.push(name)
  return names
}

/** Paths and contents of all files, and the folders. */
async function treeOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const tree = new Map<string, string>()
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    const text = entry.isDirectory() ? 'folder' : await readFile(path, 'latin1')
    tree.set(path.slice(folder.length), text)
  }
  return new Map([...tree].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

async function assertRoundTrip(t: TestContext, server: LazuliServer, options: ServerOptions = {}) {
  const [one, two] = [join(await newFolder(t), 'one'), join(await newFolder(t), 'two')]
  await server.export(one)
  const again = await start(t, { ...options, seed: one })
  await again.export(two)
  const [first, second] = [await treeOf(one), await treeOf(two)]
  assert.deepEqual([...second.keys()], [...first.keys()])
  for (const [path, text] of first) assert(second.get(path) === text, path)
  return { folder: one, again }
}

const FILES = {
  'blobs/pictures/cats/one.txt': 'meow',
  'blobs/pictures/100%.txt': 'all of it',
  'blobs/pictures/a%3Ab': 'a colon',
  'shares/docs/letters/hello.txt': 'hello',
  'queues.yaml':
    'work:\n  metadata: { team: blue }\n  messages:\n    - one <tag>\n    - text: never ends\n      timeToLiveSeconds: -1\n',
  'tables/People.csv':
    'PartitionKey,RowKey,Name,Age,Age@odata.type\np,1,"Smith, ""Jo""",42,Edm.Int32\np,2,Ann,,\n',
  'tables/Cities.json':
    '[{"PartitionKey":"de","RowKey":"b","Size":1.5,"Big":"5","Big@odata.type":"Edm.Int64"}]',
  'properties.json': JSON.stringify({
    services: {
      blob: {
        Cors: [
          {
            AllowedOrigins: 'http://a.test',
            AllowedMethods: 'GET',
            AllowedHeaders: '*',
            ExposedHeaders: '*',
            MaxAgeInSeconds: 5,
          },
        ],
      },
    },
    blobs: {
      pictures: { publicAccess: 'blob' },
      'pictures/cats/one.txt': {
        contentType: 'text/plain',
        tags: { kind: 'cat' },
        metadata: { m: '1' },
      },
      empty: { metadata: { a: 'b' } },
    },
    shares: { docs: { quota: 7 } },
  }),
}

test('a server starts with what a folder has', async (t) => {
  const folder = await newFolder(t, FILES)
  await mkdir(join(folder, 'shares/docs/nothing'))
  const server = await start(t, { seed: folder })
  const { blobs, queues, shares, table } = clientsOf(server)
  const pictures = blobs.getContainerClient('pictures')
  const cat = pictures.getBlobClient('cats/one.txt')
  assert.equal(await (await fetch(cat.url)).text(), 'meow')
  assert.equal((await cat.getProperties()).contentType, 'text/plain')
  assert.deepEqual((await cat.getTags()).tags, { kind: 'cat' })
  assert.equal(String(await pictures.getBlobClient('100%.txt').downloadToBuffer()), 'all of it')
  assert.equal(String(await pictures.getBlobClient('a:b').downloadToBuffer()), 'a colon')
  assert.deepEqual((await blobs.getContainerClient('empty').getProperties()).metadata, { a: 'b' })
  assert.equal((await blobs.getProperties()).cors?.[0]?.allowedOrigins, 'http://a.test')
  const { peekedMessageItems } = await queues
    .getQueueClient('work')
    .peekMessages({ numberOfMessages: 9 })
  assert.deepEqual(
    peekedMessageItems.map(({ messageText, expiresOn }) => [messageText, expiresOn.getFullYear() > 9000]),
    [['one <tag>', false], ['never ends', true]],
  ) // prettier-ignore
  const { Name, Age } = await table('People').getEntity('p', '1')
  assert.deepEqual([Name, Age], ['Smith, "Jo"', 42])
  assert.equal((await table('People').getEntity('p', '2')).Age, undefined)
  assert.deepEqual((await table('Cities').getEntity('de', 'b')).Big, 5n)
  const share = shares.getShareClient('docs')
  assert.equal((await share.getProperties()).quota, 7)
  const letter = share.getDirectoryClient('letters').getFileClient('hello.txt')
  assert.equal(String(await letter.downloadToBuffer()), 'hello')
  assert.equal(await share.getDirectoryClient('nothing').exists(), true)
  await assertRoundTrip(t, server)
})

test('an object does the same, also later and for several accounts', async (t) => {
  const accounts = { first: ACCOUNT_KEY, second: ACCOUNT_KEY }
  const server = await start(t, {
    accounts,
    seed: { accounts: { second: { queues: { later: { messages: ['x'] } } } } },
  })
  const bytes = new Uint8Array(9_000_000).fill(7)
  await server.seed({
    blobs: { box: { 'a': 'file', 'a/b': bytes, 'page': bytes.subarray(0, 1_024), 'log': bytes } },
    shares: { files: { 'deep/er/file': bytes, 'empty/': '' } },
    tables: { Tab: [{ PartitionKey: "o'clock", RowKey: '', Whole: 1, 'Whole@odata.type': 'Edm.Double' }] },
    properties: { blobs: { 'box/page': { type: 'page' }, 'box/log': { type: 'append' } } },
  }) // prettier-ignore
  const { blobs, shares, table } = clientsOf(server)
  const box = blobs.getContainerClient('box')
  for (const name of ['a/b', 'log']) {
    assert(Buffer.from(bytes).equals(await box.getBlobClient(name).downloadToBuffer()), name)
  }
  assert.equal((await box.getBlobClient('page').getProperties()).blobType, 'PageBlob')
  assert.equal((await box.getBlobClient('log').getProperties()).blobType, 'AppendBlob')
  const file = shares.getShareClient('files').getDirectoryClient('deep/er').getFileClient('file')
  assert(Buffer.from(bytes).equals(await file.downloadToBuffer()))
  assert.equal((await table('Tab').getEntity("o'clock", '')).Whole, 1)
  const { folder } = await assertRoundTrip(t, server, { accounts })
  assert.deepEqual(await readdir(join(folder, 'accounts')), ['first', 'second'])
})

test('what is exported from a store with some of everything gives the same export again', async (t) => {
  const server = await start(t)
  await fillStore(server)
  await assertRoundTrip(t, server)
})

test('a store that has data keeps it', async (t) => {
  const location = await newFolder(t)
  const seed = { blobs: { box: { doc: 'seeded' } } }
  const before = await startServer({ location, seed })
  const doc = (server: LazuliServer) =>
    clientsOf(server).blobs.getContainerClient('box').getBlockBlobClient('doc')
  await doc(before).upload('changed', 7)
  await before.close()
  const server = await start(t, { location, seed })
  assert.equal(String(await doc(server).downloadToBuffer()), 'changed')
  await server.seed(seed)
  assert.equal(String(await doc(server).downloadToBuffer()), 'seeded')
})

test('a seed that fails at the start leaves nothing, so the next start seeds again', async (t) => {
  const location = await newFolder(t)
  const wrong = { blobs: { box: { doc: 'x' } }, queues: { Wrong_Name: {} } }
  await assert.rejects(startServer({ location, seed: wrong }), /queues: Wrong_Name: 400/)
  const server = await start(t, { location, seed: { blobs: { other: { doc: 'x' } } } })
  assert.deepEqual(await containersOf(server), ['other'])
})

test('a seed that a crash interrupted is begun again', async (t) => {
  const location = await newFolder(t)
  const before = await startServer({ location, seed: { blobs: { half: { doc: 'x' } } } })
  await before.close()
  const store = await openStore({ folder: location, pid: process.pid }, Date.now)
  await store.kv.write(beginSeeding)
  await store.close()
  const server = await start(t, { location, seed: { blobs: { other: { doc: 'x' } } } })
  assert.deepEqual(await containersOf(server), ['other'])
})

const WRONG: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  ['another folder', { 'images/a': 'x' }, /"images" is not part of a seed: blobs, shares/],
  ['JSON that is none', { 'queues.json': '{' }, /queues\.json: .*JSON/],
  ['YAML that is none', { 'queues.yaml': 'a: [' }, /queues\.yaml: .*line 1/],
  ['entities that are no list', { 'tables/T.json': '{}' }, /T\.json must be a list/],
  ['a property that there is not', { 'properties.json': '{"blobs":{"a/b":{"colour":"red"}}}' }, /"colour" is none of/],
  ['a property of a container at a blob', { 'properties.json': '{"blobs":{"a/b":{"publicAccess":"blob"}}}' }, /"publicAccess" is none of/],
  ['properties of a path that the seed does not have', { 'blobs/box/b': 'x', 'properties.json': '{"blobs":{"box/c":{"tier":"Cool"}}}' }, /properties of box\/c: the seed has no such path/],
  ['access control in a flat account', { 'blobs/box/b': 'x', 'properties.json': '{"blobs":{"box/b":{"owner":"me"}}}' }, /blobs\/box\/b: 400 HierarchicalNamespaceNotEnabled/],
  ['the form of a file twice', { 'queues.json': '{}', 'queues.yaml': '{}' }, /has both/],
  ['an account that there is not', { 'accounts/nobody/queues.json': '{}' }, /no account "nobody"/],
] // prettier-ignore
for (const [what, files, message] of WRONG) {
  test(`${what} is refused`, async (t) => {
    const folder = await newFolder(t, files)
    const server = await start(t)
    await assert.rejects(server.seed(folder), message)
  })
}

test('an export writes into a new folder only', async (t) => {
  const folder = await newFolder(t, { mine: 'x' })
  const server = await start(t)
  await assert.rejects(server.export(folder), /is not empty/)
  await assert.rejects(server.seed(join(folder, 'mine')), /is not a folder/)
})
