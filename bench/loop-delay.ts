// Measures how long single requests at the service's limits block the event loop, and so every other request. The server
// is a separate process, so that only its work is measured.
//
//     node bench/loop-delay.ts [row …]      runs only these rows
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { startServer } from '../src/server.ts'
import { SMB_ROW } from './loop-smb.ts'
import { ACCOUNT, accountSas } from './sas.ts'

type Ports = Readonly<Record<'blob' | 'queue' | 'table' | 'file' | 'smb', number>>
type Ask = {
  readonly service: Exclude<keyof Ports, 'smb'>
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}
type Asked = { readonly status: number; readonly text: string }
export type World = {
  readonly smbPort: number
  ask(ask: Ask): Promise<Asked>
  source(service: keyof Ports, path: string): string
  measure(name: string, run: () => Promise<unknown>): Promise<void>
}
export type Row = { readonly name: string; run(world: World): Promise<void> }

const CONNECTIONS = 16
const PARTS = Number(process.env['PARTS'] ?? 50_000)

async function serve(folder: string): Promise<void> {
  const server = await startServer({ location: folder })
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const turns = new Turns()
  process.on('message', (word: string) => {
    if (word === 'begin') {
      delay.reset()
      turns.begin()
    }
    // A turn later, when the delay that is being measured has ended.
    setTimeout(() => {
      process.send?.({ maxMs: delay.max / 1e6, cpuMs: turns.maxMs })
      if (word === 'end') turns.end()
    }, 5)
  })
  const { blobPort, queuePort, tablePort, filePort, smbPort } = server
  const rest = { blob: blobPort, queue: queuePort, table: tablePort, file: filePort }
  process.send?.({ ...rest, smb: smbPort })
}

/** CPU time of the longest turn of the event loop. Unlike elapsed time, it does not depend on other load. */
class Turns {
  maxMs = 0
  #last = 0
  #isRunning = false

  begin(): void {
    this.maxMs = 0
    this.#last = cpuMs()
    if (!this.#isRunning) setImmediate(() => this.#turn())
    this.#isRunning = true
  }

  end(): void {
    this.#isRunning = false
  }

  #turn(): void {
    const now = cpuMs()
    this.maxMs = Math.max(this.maxMs, now - this.#last)
    this.#last = now
    if (this.#isRunning) setImmediate(() => this.#turn())
  }
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

function worldOf(child: ChildProcess, ports: Ports): World {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const sas = accountSas()
  const ask = ({ service, method, path, headers = {}, body }: Ask): Promise<Asked> =>
    new Promise((resolve, reject) => {
      const whole = `/${ACCOUNT}${path}${path.includes('?') ? '&' : '?'}${sas}`
      const given = { 'x-ms-version': '2025-11-05', ...headers }
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
      const port = ports[service]
      const options = { host: '127.0.0.1', port, method, path: whole, agent }
      const sent = httpRequest({
        ...options,
        headers: { 'content-length': 0, ...given, ...length },
      })
      sent.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        )
      })
      sent.on('error', reject)
      sent.end(body)
    })
  const command = async (
    word: string,
  ): Promise<{ readonly maxMs: number; readonly cpuMs: number }> => {
    child.send(word)
    const [report] = await once(child, 'message')
    return report
  }
  return {
    smbPort: ports.smb,
    ask: async (wanted) => {
      const answer = await ask(wanted)
      if (answer.status >= 400)
        console.log(
          wanted.method,
          wanted.path.slice(0, 60),
          answer.status,
          answer.text.slice(39, 100),
        )
      return answer
    },
    source: (service, path) => `http://127.0.0.1:${ports[service]}/${ACCOUNT}${path}?${sas}`,
    async measure(name, run) {
      await command('begin')
      const startedMs = performance.now()
      await run()
      const tookMs = performance.now() - startedMs
      const { maxMs, cpuMs } = await command('end')
      const [cpu, clock] = [cpuMs, maxMs].map((ms) => `${ms.toFixed(0)} ms`.padStart(9))
      console.log(`${name.padEnd(48)} ${cpu} of CPU, ${clock} of ${tookMs.toFixed(0)} ms`)
    },
  }
}

async function all(count: number, one: (at: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) await one(next++)
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work))
}

const blob = (method: string, path: string, headers?: Ask['headers'], body?: Ask['body']): Ask => ({
  service: 'blob', method, path, ...(headers && { headers }), ...(body !== undefined && { body }),
}) // prettier-ignore
const blockId = (at: number): string => Buffer.from(String(at).padStart(48, '0')).toString('base64')
const QUERY = (expression: string): string =>
  `<?xml version="1.0"?><QueryRequest><QueryType>SQL</QueryType><Expression>${expression}</Expression></QueryRequest>`
const BLOCK = { 'x-ms-blob-type': 'BlockBlob' }

const ROWS: readonly Row[] = [
  {
    name: 'query',
    async run({ ask, measure }) {
      await ask(blob('PUT', '/query?restype=container'))
      await ask(blob('PUT', '/query/small', BLOCK, `${'a'.repeat(60)}\n`.repeat(200)))
      const hostile = Array.from({ length: 1_500 }, () => "_1 LIKE '%a%a%a%a%a%a%a%a%b'").join(
        ' OR ',
      )
      const sql = QUERY(`SELECT * FROM BlobStorage WHERE ${hostile}`)
      await measure('Query Blob Contents, 1,500 LIKEs over 12 KB', () =>
        ask(blob('POST', '/query/small?comp=query', {}, sql)),
      )
      await ask(blob('PUT', '/query/long', BLOCK, `${'a'.repeat(2_000_000)}\n`))
      await measure('Query Blob Contents, 1,500 LIKEs over 2 MB', () =>
        ask(blob('POST', '/query/long?comp=query', {}, sql)),
      )
    },
  },
  {
    name: 'blocks',
    async run({ ask, measure, source }) {
      await ask(blob('PUT', '/blocks?restype=container'))
      await all(PARTS, (at) =>
        ask(
          blob('PUT', `/blocks/b?comp=block&blockid=${encodeURIComponent(blockId(at))}`, {}, 'x'),
        ),
      )
      const ids = Array.from({ length: PARTS }, (_, at) => `<Latest>${blockId(at)}</Latest>`).join(
        '',
      )
      const list = `<?xml version="1.0"?><BlockList>${ids}</BlockList>`
      await measure('Get Block List, uncommitted', () =>
        ask(blob('GET', '/blocks/b?comp=blocklist&blocklisttype=all')),
      )
      await measure('Put Block List, uncommitted', () =>
        ask(blob('PUT', '/blocks/b?comp=blocklist', {}, list)),
      )
      await measure('Put Block List, committed', () =>
        ask(blob('PUT', '/blocks/b?comp=blocklist', {}, list)),
      )
      await measure('Get Block List, committed', () =>
        ask(blob('GET', '/blocks/b?comp=blocklist&blocklisttype=all')),
      )
      await measure('Get Blob of blocks', () => ask(blob('GET', '/blocks/b')))
      await measure('Snapshot Blob of blocks', () => ask(blob('PUT', '/blocks/b?comp=snapshot')))
      await measure('Copy Blob of blocks', () =>
        ask(blob('PUT', '/blocks/c', { 'x-ms-copy-source': source('blob', '/blocks/b') })),
      )
      await measure('Put Blob over blocks', () => ask(blob('PUT', '/blocks/c', BLOCK, 'x')))
      await measure('Delete Blob of blocks', () =>
        ask(blob('DELETE', '/blocks/b', { 'x-ms-delete-snapshots': 'include' })),
      )
    },
  },
  {
    name: 'staged',
    async run({ ask, measure }) {
      await ask(blob('PUT', '/staged?restype=container'))
      await all(PARTS, (at) =>
        ask(
          blob('PUT', `/staged/b?comp=block&blockid=${encodeURIComponent(blockId(at))}`, {}, 'x'),
        ),
      )
      await measure('Put Blob over uncommitted blocks', () =>
        ask(blob('PUT', '/staged/b', BLOCK, 'x')),
      )
    },
  },
  {
    name: 'pages',
    async run({ ask, measure, source }) {
      await ask(blob('PUT', '/pages?restype=container'))
      const length = String(PARTS * 1024)
      await ask(
        blob('PUT', '/pages/p', {
          'x-ms-blob-type': 'PageBlob',
          'x-ms-blob-content-length': length,
        }),
      )
      const page = Buffer.alloc(512, 1)
      await all(PARTS, (at) =>
        ask(
          blob(
            'PUT',
            '/pages/p?comp=page',
            { 'x-ms-page-write': 'update', range: `bytes=${at * 1024}-${at * 1024 + 511}` },
            page,
          ),
        ),
      )
      await measure('Get Page Ranges', () => ask(blob('GET', '/pages/p?comp=pagelist')))
      await measure('Get Page Ranges, 10,000', () =>
        ask(blob('GET', '/pages/p?comp=pagelist&maxresults=10000')),
      )
      let snapshot = ''
      await measure('Get Page Blob', () => ask(blob('GET', '/pages/p')))
      await measure('Snapshot Page Blob', async () => {
        await ask(blob('PUT', '/pages/p?comp=snapshot'))
      })
      const listed = await ask(blob('GET', '/pages?restype=container&comp=list&include=snapshots'))
      snapshot = /<Snapshot>([^<]*)</.exec(listed.text)?.[1] ?? ''
      await measure('Get Page Ranges Diff', () =>
        ask(blob('GET', `/pages/p?comp=pagelist&prevsnapshot=${encodeURIComponent(snapshot)}`)),
      )
      await measure('Copy Page Blob', () =>
        ask(blob('PUT', '/pages/q', { 'x-ms-copy-source': source('blob', '/pages/p') })),
      )
      await measure('Clear Pages, all', () =>
        ask(
          blob('PUT', '/pages/q?comp=page', {
            'x-ms-page-write': 'clear',
            range: `bytes=0-${PARTS * 1024 - 1}`,
          }),
        ),
      )
      await measure('Resize Page Blob to 0', () =>
        ask(blob('PUT', '/pages/p?comp=properties', { 'x-ms-blob-content-length': '0' })),
      )
    },
  },
  {
    name: 'lists',
    async run({ ask, measure }) {
      await ask(blob('PUT', '/lists?restype=container'))
      const meta = Object.fromEntries(
        Array.from({ length: 10 }, (_, at) => [`x-ms-meta-m${at}`, 'v'.repeat(200)]),
      )
      const tags = { 'x-ms-tags': Array.from({ length: 10 }, (_, at) => `k${at}=v${at}`).join('&') }
      await all(20_000, (at) =>
        ask(
          blob(
            'PUT',
            `/lists/d${at % 10_000}/${String(at).padStart(8, '0')}`,
            { ...BLOCK, ...meta, ...tags },
            'x',
          ),
        ),
      )
      await measure('List Blobs, 5,000 with metadata and tags', () =>
        ask(blob('GET', '/lists?restype=container&comp=list&include=metadata,tags')),
      )
      await measure('List Blobs, delimiter, 5,000', () =>
        ask(blob('GET', '/lists?restype=container&comp=list&delimiter=/')),
      )
      const where = encodeURIComponent(
        Array.from({ length: 10 }, (_, at) => `"k${at}"='v${at}'`).join(' AND '),
      )
      await measure('Find Blobs by Tags, 10 conditions', () =>
        ask(blob('GET', `/?comp=blobs&where=${where}`)),
      )
      const none = encodeURIComponent(`"k0"='v0' AND "k1"='none'`)
      await measure('Find Blobs by Tags, none', () =>
        ask(blob('GET', `/?comp=blobs&where=${none}`)),
      )
      const many = encodeURIComponent(
        Array.from({ length: 2_000 }, () => `"k0">='a'`).join(' AND '),
      )
      await measure('Find Blobs by Tags, 2,000 conditions', () =>
        ask(blob('GET', `/?comp=blobs&where=${many}`)),
      )
      const orMany = Array.from({ length: 1_000 }, (_, at) => `"k0"='x${at}'`).join(' OR ')
      await measure('Put Blob, x-ms-if-tags of 1,000 conditions', () =>
        ask(blob('GET', '/lists/d0/00000000', { 'x-ms-if-tags': orMany })),
      )
      const parts = Array.from(
        { length: 256 },
        (_, at) =>
          `--batch\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: ${at}\r\n\r\nDELETE /${ACCOUNT}/lists/d${at}/${String(at).padStart(8, '0')}?${accountSas()} HTTP/1.1\r\nContent-Length: 0\r\n\r\n`,
      )
      await measure('Blob Batch, 256 deletes', () =>
        ask(
          blob(
            'POST',
            '/?comp=batch',
            { 'content-type': 'multipart/mixed; boundary=batch' },
            `${parts.join('')}--batch--\r\n`,
          ),
        ),
      )
      await measure('Delete Container', () => ask(blob('DELETE', '/lists?restype=container')))
      const wide = `<?xml version="1.0"?><BlockList>${'<Latest>QQ==</Latest>'.repeat(60_000)}</BlockList>`
      await ask(blob('PUT', '/xml?restype=container'))
      await measure('XML of 60,000 nodes', () =>
        ask(blob('PUT', '/xml/x?comp=blocklist', {}, wide)),
      )
      const deep = `<?xml version="1.0"?><BlockList><Latest>${'A'.repeat(12_000_000)}</Latest></BlockList>`
      await measure('XML of 12 MB', () => ask(blob('PUT', '/xml/x?comp=blocklist', {}, deep)))
    },
  },
  {
    name: 'snapshots',
    async run({ ask, measure }) {
      await ask(blob('PUT', '/many?restype=container'))
      await ask(blob('PUT', '/many/b', BLOCK, 'x'))
      await all(20_000, () => ask(blob('PUT', '/many/b?comp=snapshot')))
      await measure('Delete Blob of 20,000 snapshots', () =>
        ask(blob('DELETE', '/many/b', { 'x-ms-delete-snapshots': 'include' })),
      )
    },
  },
  {
    name: 'tables',
    async run({ ask, measure }) {
      const json = {
        'content-type': 'application/json',
        accept: 'application/json;odata=nometadata',
        dataserviceversion: '3.0',
      }
      const table = (method: string, path: string, body?: string, headers: Ask['headers'] = json): Ask => ({
        service: 'table', method, path, headers, ...(body !== undefined && { body }) }) // prettier-ignore
      await ask(table('POST', '/Tables', JSON.stringify({ TableName: 'many' })))
      const wide = Object.fromEntries(
        Array.from({ length: 20 }, (_, at) => [`P${at}`, 'v'.repeat(40)]),
      )
      await all(30_000, (at) =>
        ask(
          table(
            'POST',
            '/many',
            JSON.stringify({
              PartitionKey: 'p',
              RowKey: String(at).padStart(8, '0'),
              N: at,
              ...wide,
            }),
          ),
        ),
      )
      await measure('Query Entities, none matches', () =>
        ask(table('GET', `/many()?$filter=${encodeURIComponent('N lt 0')}`)),
      )
      const long = Array.from(
        { length: 400 },
        (_, at) => `(N eq -${at + 1} or P1 eq 'q${at}')`,
      ).join(' or ')
      await measure('Query Entities, 400 conditions, none matches', () =>
        ask(table('GET', `/many()?$filter=${encodeURIComponent(long)}`)),
      )
      await measure('Query Entities, 1,000', () => ask(table('GET', '/many()')))
      const big = JSON.stringify({
        PartitionKey: 'b',
        RowKey: '1',
        ...Object.fromEntries(
          Array.from({ length: 15 }, (_, at) => [`P${at}`, 'é'.repeat(32_000)]),
        ),
      })
      await measure('Insert Entity, 1 MB', () => ask(table('POST', '/many', big)))
      const changes = Array.from(
        { length: 100 },
        (_, at) =>
          `--changeset_c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST http://127.0.0.1/${ACCOUNT}/many HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=nometadata\r\nPrefer: return-no-content\r\nDataServiceVersion: 3.0;\r\n\r\n${JSON.stringify({ PartitionKey: 'z', RowKey: String(at), ...Object.fromEntries(Array.from({ length: 200 }, (_, p) => [`P${p}`, 'v'.repeat(180)])) })}\r\n`,
      )
      const body = `--batch_b\r\nContent-Type: multipart/mixed; boundary=changeset_c\r\n\r\n${changes.join('')}--changeset_c--\r\n--batch_b--\r\n`
      await measure(`Table Batch, 100 of ${(body.length / 1e6).toFixed(1)} MB`, () =>
        ask(
          table('POST', '/$batch', body, {
            ...json,
            'content-type': 'multipart/mixed; boundary=batch_b',
          }),
        ),
      )
      await measure('Delete Table', () => ask(table('DELETE', "/Tables('many')")))
    },
  },
  {
    name: 'queues',
    async run({ ask, measure }) {
      const queue = (method: string, path: string, body?: string): Ask => ({ service: 'queue', method, path, ...(body !== undefined && { body }) }) // prettier-ignore
      await ask(queue('PUT', '/many'))
      await all(30_000, () =>
        ask(
          queue(
            'POST',
            '/many/messages',
            '<QueueMessage><MessageText>x</MessageText></QueueMessage>',
          ),
        ),
      )
      await measure('Clear Messages, 30,000', () => ask(queue('DELETE', '/many/messages')))
    },
  },
  {
    name: 'files',
    async run({ ask, measure, source }) {
      const file = (method: string, path: string, headers?: Ask['headers'], body?: Ask['body']): Ask => ({
        service: 'file', method, path, headers: { 'x-ms-file-request-intent': 'backup', ...headers }, ...(body !== undefined && { body }) }) // prettier-ignore
      await ask(file('PUT', '/share?restype=share'))
      const length = String(PARTS * 1024)
      await ask(file('PUT', '/share/f', { 'x-ms-type': 'file', 'x-ms-content-length': length }))
      const bytes = Buffer.alloc(512, 1)
      await all(PARTS, (at) =>
        ask(
          file(
            'PUT',
            '/share/f?comp=range',
            { 'x-ms-write': 'update', range: `bytes=${at * 1024}-${at * 1024 + 511}` },
            bytes,
          ),
        ),
      )
      await measure('List Ranges', () => ask(file('GET', '/share/f?comp=rangelist')))
      await measure('Copy File', () =>
        ask(file('PUT', '/share/g', { 'x-ms-copy-source': source('file', '/share/f') })),
      )
      await measure('Snapshot Share', () => ask(file('PUT', '/share?restype=share&comp=snapshot')))
      await measure('Put Range after a snapshot', () =>
        ask(
          file(
            'PUT',
            '/share/f?comp=range',
            { 'x-ms-write': 'update', range: 'bytes=0-511' },
            bytes,
          ),
        ),
      )
      await measure('Clear Range, all', () =>
        ask(
          file('PUT', '/share/g?comp=range', {
            'x-ms-write': 'clear',
            range: `bytes=0-${PARTS * 1024 - 1}`,
          }),
        ),
      )
      await measure('Set File Length to 0', () =>
        ask(
          file('PUT', '/share/f?comp=properties', {
            'x-ms-content-length': '0',
            'x-ms-file-permission': 'preserve',
            'x-ms-file-attributes': 'preserve',
            'x-ms-file-creation-time': 'preserve',
            'x-ms-file-last-write-time': 'preserve',
          }),
        ),
      )
      await all(20_000, (at) =>
        ask(
          file('PUT', `/share/n${String(at).padStart(8, '0')}`, {
            'x-ms-type': 'file',
            'x-ms-content-length': '0',
          }),
        ),
      )
      await measure('List Directory, 5,000', () =>
        ask(
          file(
            'GET',
            '/share?restype=directory&comp=list&include=timestamps,etag,attributes,permissionkey',
          ),
        ),
      )
      await measure('Delete Share', () =>
        ask(file('DELETE', '/share?restype=share', { 'x-ms-delete-snapshots': 'include' })),
      )
    },
  },
  SMB_ROW,
]

async function main(words: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'lazuli-loop-'))
  const child = fork(fileURLToPath(import.meta.url), ['server', folder])
  try {
    const [ports] = (await once(child, 'message')) as [Ports]
    const world = worldOf(child, ports)
    const rows = ROWS.filter(({ name }) => words.length === 0 || words.includes(name))
    for (const row of rows) await row.run(world)
  } finally {
    child.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

const [first = '', folder = ''] = process.argv.slice(2)
if (first === 'server') await serve(folder)
else {
  await main(process.argv.slice(2))
  process.exit(0)
}
