// How many statements an operation sends to PostgreSQL: each read is one, and so is each commit. Bytes in extents are not
// counted; their number depends on the length of the body.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPostgresExtents } from '../../src/extent/postgres.ts'
import { soleWriter } from '../../src/extent/writers.ts'
import { smallPiece } from '../../src/extent/content/small.ts'
import { openPostgresEngine, type PostgresEngine } from '../../src/kv/engine/postgres.ts'
import type { Moment } from '../../src/node/moment.ts'
import { SKIP_REASON, testServer } from '../../src/postgres/harness.ts'
import { connectionSettings } from '../../src/postgres/settings.ts'
import type { Kv, Step, Tx } from '../../src/kv/kv.ts'
import { putBlock } from '../../src/storage/blob/content/block.ts'
import type { BlobGuard } from '../../src/storage/blob/guard.ts'
import { putBlob } from '../../src/storage/blob/put.ts'
import { startCluster, type TestNode } from '../cluster/cluster.ts'
import { LAKE, sendAs } from '../datalake/fixture.ts'
import { ACCOUNT, sendTo, xmlText, type RawResponse, type Send } from '../harness.ts'
import { entityPath, send as sendToTable } from '../table/fixture.ts'

const GUARD: BlobGuard = { conditions: {}, readRule: 'any' }
const BLOCK_BLOB = { 'x-ms-blob-type': 'BlockBlob' }
const SMALL = Buffer.alloc(4_096, 'x')
const LARGE = Buffer.alloc(2 ** 20, 'x')
const PREFIX_COUNT = 5_000
const BLOCK_COUNT = 50_000
const PATH_COUNT = 1_000
const DEEP = '/box/0/1/2/3/4/5/6/7/8/9'
const LIST = '?restype=container&comp=list'

const blockId = (at: number): string => Buffer.from(String(at).padStart(6, '0')).toString('base64')

/** The requests of the table, all to one node. */
class World {
  readonly blob: Send
  readonly lake: Send
  readonly queue: Send
  readonly file: Send
  readonly #node: TestNode

  constructor(node: TestNode) {
    this.#node = node
    this.blob = sendTo(node.blobPort)
    this.lake = sendAs(node.blobPort, LAKE)
    this.queue = sendTo(node.queuePort)
    this.file = sendTo(node.filePort)
  }

  table(method: string, path: string, body?: string, headers = {}): Promise<RawResponse> {
    const request = { method, path, headers, ...(body !== undefined && { body }) }
    return sendToTable({ tablePort: this.#node.tablePort }, request)
  }

  /** Transactions with 500 steps each. */
  async fill(
    count: number,
    step: (tx: Tx, at: number, id: number, moment: Moment) => Step<unknown>,
  ) {
    const { kv, newId, moment } = this.#node.store
    for (let from = 0; from < count; from += 500) {
      const numbers = Array.from({ length: Math.min(500, count - from) }, (_, at) => from + at)
      const steps = numbers.map((at) => ({ at, id: newId(), moment: moment() }))
      await kv.write(function* (tx) {
        for (const each of steps) yield* step(tx, each.at, each.id, each.moment)
      })
    }
  }
}

type Row = {
  readonly name: string
  readonly reads: number
  readonly commits: number
  run(world: World, at: number): Promise<RawResponse>
}

async function appendAndFlush({ lake }: World): Promise<RawResponse> {
  const { headers } = await lake('HEAD', `${DEEP}/file`)
  const query = `action=append&position=${String(headers['content-length'])}&flush=true`
  return lake('PATCH', `${DEEP}/file?${query}`, {}, SMALL)
}

const LIST_OF_BLOCKS = `<BlockList>${Array.from({ length: BLOCK_COUNT }, (_, at) => `<Latest>${blockId(at)}</Latest>`).join('')}</BlockList>` // prettier-ignore

/** Each request is sent twice beforehand, to other objects where `at` is used, so what is cached is as in a running node. */
const ROWS: readonly Row[] = [
  { name: 'Put Blob', reads: 1, commits: 1, run: ({ blob }, at) => blob('PUT', `/box/small-${at}`, BLOCK_BLOB, SMALL) },
  { name: 'Put Blob again', reads: 1, commits: 1, run: ({ blob }) => blob('PUT', '/box/same', BLOCK_BLOB, SMALL) },
  { name: 'Put Blob of 1 MiB', reads: 2, commits: 1, run: ({ blob }, at) => blob('PUT', `/box/large-${at}`, BLOCK_BLOB, LARGE) },
  { name: 'Get Blob of 4 KiB', reads: 1, commits: 0, run: ({ blob }) => blob('GET', '/box/same') },
  { name: 'Get Blob never read before', reads: 1, commits: 0, run: ({ blob }, at) => blob('GET', `/box/small-${at}`) },
  { name: 'Get Blob of 1 MiB', reads: 1, commits: 0, run: ({ blob }) => blob('GET', '/box/large-0') },
  { name: 'Get Blob Properties', reads: 1, commits: 0, run: ({ blob }) => blob('HEAD', '/box/same') },
  { name: 'Set Blob Metadata', reads: 2, commits: 1, run: ({ blob }) => blob('PUT', '/box/same?comp=metadata', { 'x-ms-meta-a': 'b' }) },
  { name: 'Lease Blob', reads: 1, commits: 1, run: ({ blob }, at) => blob('PUT', `/box/small-${at}?comp=lease`, { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '60' }) },
  { name: 'Snapshot Blob', reads: 2, commits: 1, run: ({ blob }) => blob('PUT', '/box/same?comp=snapshot') },
  { name: 'Append Block', reads: 2, commits: 1, run: ({ blob }) => blob('PUT', '/box/append?comp=appendblock', {}, SMALL) },
  { name: 'Put Page', reads: 2, commits: 1, run: ({ blob }) => blob('PUT', '/box/page?comp=page', { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-4095' }, SMALL) },
  { name: 'Put Block', reads: 2, commits: 1, run: ({ blob }, at) => blob('PUT', `/box/staged?comp=block&blockid=${encodeURIComponent(blockId(at))}`, {}, SMALL) },
  { name: `List Blobs by delimiter: ${PREFIX_COUNT} prefixes`, reads: 1, commits: 0, run: ({ blob }) => blob('GET', `/prefixes${LIST}&delimiter=/`) },
  { name: 'List Blobs of a container with few', reads: 1, commits: 0, run: ({ blob }) => blob('GET', `/box${LIST}`) },
  { name: `Put Block List of ${BLOCK_COUNT} blocks`, reads: 220, commits: 100, run: ({ blob }) => blob('PUT', '/box/blocks?comp=blocklist', {}, LIST_OF_BLOCKS) },
  { name: 'Put Message', reads: 1, commits: 1, run: ({ queue }) => queue('POST', '/box/messages', {}, '<QueueMessage><MessageText>x</MessageText></QueueMessage>') },
  { name: 'Get Messages: 32', reads: 2, commits: 1, run: ({ queue }) => queue('GET', '/box/messages?numofmessages=32') },
  { name: 'Peek Messages: 32', reads: 1, commits: 0, run: ({ queue }) => queue('GET', '/box/messages?peekonly=true&numofmessages=32') },
  { name: 'Insert Entity', reads: 1, commits: 1, run: (world, at) => world.table('POST', '/box', JSON.stringify({ PartitionKey: 'p', RowKey: `r${at}` })) },
  { name: 'Get Entity', reads: 1, commits: 0, run: (world) => world.table('GET', entityPath('box', 'p', 'r0')) },
  { name: 'Merge Entity', reads: 1, commits: 1, run: (world) => world.table('MERGE', entityPath('box', 'p', 'r0'), '{"A":1}', { 'if-match': '*' }) },
  { name: 'a batch of 100 entities', reads: 1, commits: 1, run: (world, at) => world.table('POST', '/$batch', batchOf(at), { 'content-type': 'multipart/mixed; boundary=b' }) },
  { name: 'Create File ten directories deep', reads: 1, commits: 1, run: ({ file }, at) => file('PUT', `${DEEP}/f${at}`, { 'x-ms-type': 'file', 'x-ms-content-length': '4096' }) },
  { name: 'Put Range ten directories deep', reads: 1, commits: 1, run: ({ file }) => file('PUT', `${DEEP}/f0?comp=range`, { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-4095' }, SMALL) },
  { name: 'Put Blob ten paths deep', reads: 1, commits: 1, run: ({ lake }, at) => lake('PUT', `${DEEP}/f${at}`, BLOCK_BLOB, SMALL) },
  { name: 'Get Blob ten paths deep', reads: 1, commits: 0, run: ({ lake }) => lake('GET', `${DEEP}/f0`) },
  { name: 'Create Path ten paths deep', reads: 1, commits: 1, run: ({ lake }) => lake('PUT', `${DEEP}/file?resource=file`) },
  { name: 'Get Path Properties, then Append Data with a flush', reads: 3, commits: 1, run: appendAndFlush },
  { name: 'Rename Path ten paths deep', reads: 3, commits: 1, run: ({ lake }, at) => lake('PUT', `${DEEP}/g${at}`, { 'x-ms-rename-source': `${DEEP}/f${at}` }) },
  { name: `List Paths: ${PATH_COUNT} files in 10 directories`, reads: 12, commits: 0, run: ({ lake }) => lake('GET', '/paths?resource=filesystem&recursive=true') },
  { name: 'Delete Path with everything below', reads: 1, commits: 1, run: ({ lake }, at) => lake('DELETE', `/paths/${at}?recursive=true`) },
  { name: 'Get File ten directories deep', reads: 2, commits: 1, run: ({ file }) => file('GET', `${DEEP}/f0`) },
] // prettier-ignore

test('statements of operations', { skip: SKIP_REASON ?? false }, async (t) => {
  const server = await testServer()
  const settings = connectionSettings(server.url(await server.newDatabase()), {})
  const engine = await openPostgresEngine(settings)
  // Not `engine.statementCount()`: it has the statements in the background, too, such as those that ask for the size.
  let readCount = 0
  let commitCount = 0
  const commit: PostgresEngine['commit'] = (transactions, retry) => {
    commitCount += 1
    return engine.commit(transactions, retry)
  }
  const read: PostgresEngine['read'] = (wanted) => {
    readCount += 1
    return engine.read(wanted)
  }
  const snapshot: PostgresEngine['snapshot'] = async () => {
    const opened = await engine.snapshot()
    // Its beginning and its end are statements as well.
    readCount += 2
    const readOpened: typeof opened.read = (wanted) => {
      readCount += 1
      return opened.read(wanted)
    }
    return { ...opened, read: readOpened }
  }
  const openEngine = async (): Promise<PostgresEngine> => ({ ...engine, commit, read, snapshot })
  const openExtents = (kv: Kv) =>
    openPostgresExtents({ settings, kv, clock: Date.now, writers: soleWriter('node') })
  const [node] = (await startCluster(t, { count: 1, openEngine, openExtents })).nodes
  assert(node !== undefined)
  const world = new World(node)
  await prepare(world)
  for (const { name, reads, commits, run } of ROWS) {
    await t.test(`${name}: ${reads} reads and ${commits} commits at most`, async (row) => {
      for (const at of isLarge(name) ? [] : [0, 1]) assertSuccess(await run(world, at))
      const measure = async (at: number) => {
        const [readsBefore, commitsBefore] = [readCount, commitCount]
        assertSuccess(await run(world, at))
        return { done: readCount - readsBefore, committed: commitCount - commitsBefore }
      }
      // On a busy machine, a body is interrupted for others now and then, and reads once more. Hardly three times in a row.
      let measured = await measure(2)
      for (const at of [3, 4]) if (measured.done > reads) measured = await measure(at)
      const { done, committed } = measured
      row.diagnostic(`${done} reads, ${committed} commits`)
      assert(done <= reads, `${done} reads`)
      assert(committed <= commits, `${committed} commits`)
    })
  }
})

function isLarge(name: string): boolean {
  return name.includes(String(BLOCK_COUNT))
}

function assertSuccess({ status, text }: RawResponse): void {
  assert(status < 300, `${status} ${text}`)
  if (text.includes('multipart')) assert.equal(xmlText(text, 'code'), undefined)
}

async function prepare(world: World): Promise<void> {
  const { blob, queue, file } = world
  for (const name of ['box', 'prefixes'])
    assertSuccess(await blob('PUT', `/${name}?restype=container`))
  assertSuccess(await blob('PUT', '/box/append', { 'x-ms-blob-type': 'AppendBlob' }))
  assertSuccess(await blob('PUT', '/box/page', { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '4096' })) // prettier-ignore
  // For those that are measured again.
  for (const at of [3, 4]) {
    assertSuccess(await blob('PUT', `/box/small-${at}`, BLOCK_BLOB, SMALL))
  }
  assertSuccess(await queue('PUT', '/box'))
  assertSuccess(await world.table('POST', '/Tables', JSON.stringify({ TableName: 'box' })))
  assertSuccess(await file('PUT', '/box?restype=share'))
  const directories = DEEP.split('/').slice(2)
  for (const at of directories.keys()) {
    const path = `/box/${directories.slice(0, at + 1).join('/')}?restype=directory`
    assertSuccess(await file('PUT', path))
  }
  const put = { guard: GUARD, createOnly: false, headers: {}, metadata: [] }
  for (const name of ['box', 'paths']) {
    assertSuccess(await world.lake('PUT', `/${name}?resource=filesystem`))
  }
  await world.fill(PATH_COUNT, (tx, at, _id, moment) => {
    const address = { account: LAKE, container: 'paths', blob: `${at % 10}/${at}` }
    return putBlob(tx, address, put, { bytes: SMALL.subarray(0, 10) }, moment)
  })
  for (const at of [3, 4]) {
    assertSuccess(await world.lake('PUT', `${DEEP}/f${at}`, BLOCK_BLOB, SMALL))
  }
  await world.fill(PREFIX_COUNT, (tx, at, _id, moment) => {
    const address = { account: ACCOUNT, container: 'prefixes', blob: `${at}/x` }
    return putBlob(tx, address, put, { bytes: SMALL.subarray(0, 10) }, moment)
  })
  await world.fill(BLOCK_COUNT, (tx, at, id, moment) => {
    const address = { account: ACCOUNT, container: 'box', blob: 'blocks' }
    const content = { id, pieces: [smallPiece(id, Buffer.from('x'))] }
    return putBlock(tx, address, { blockId: blockId(at), guard: GUARD }, { lengthBytes: 1, content }, moment) // prettier-ignore
  })
  for (let at = 0; at < 110; at += 1) {
    const body = '<QueueMessage><MessageText>x</MessageText></QueueMessage>'
    assertSuccess(await queue('POST', '/box/messages', {}, body))
  }
}

/** https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions */
function batchOf(number: number): string {
  const parts = Array.from({ length: 100 }, (_, at) => {
    const body = JSON.stringify({ PartitionKey: 'batch', RowKey: `${number}-${at}` })
    const head = 'Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n'
    const request = `POST http://127.0.0.1/${ACCOUNT}/box HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=nometadata\r\nPrefer: return-no-content\r\nContent-Length: ${body.length}\r\n\r\n`
    return `--c\r\n${head}${request}${body}\r\n`
  })
  return `--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n${parts.join('')}--c--\r\n--b--\r\n`
}
