// The rows of Data Lake Storage, on the account with a hierarchical namespace. Azurite has no such service, so they are
// compared with Lazuli's own blobs.
import { Agent, request } from 'node:http'
import { mustCall } from './call.ts'
import { CONNECTION_COUNT, NUMBERS_PER_ROUND } from './rounds.ts'
import { checkLength, LONG_LIST_CONNECTIONS, type Row } from './row.ts'
import { ACCOUNT, accountSas, LAKE_ACCOUNT } from './sas.ts'
import type { Running } from './target.ts'
import { drive, numbered, type Outcome } from './wrk.ts'

const KIB = 1024
const RATIO = 0.8

export function lakeRows(): readonly Row[] {
  return [createRow, appendRow, readRow, listRow, renameRow]
}

const shared = {
  service: 'blob',
  onBare: false,
  onAzurite: false,
  azuriteSMin: 1,
  answerBytesMin: 0,
} as const

const SAS = accountSas(LAKE_ACCOUNT)
/** A plain GET is one of the Blob service, except from clients that expect errors in JSON. */
const JSON_ONLY = { accept: 'application/json' }
const BLOCK_BLOB = { 'x-ms-blob-type': 'BlockBlob' }

function lakeUrl(server: Running, path: string, query = ''): string {
  return `${server.endpoint('blob').replace(ACCOUNT, LAKE_ACCOUNT)}/${path}?${query}${SAS}`
}

async function createFilesystem(server: Running, name: string): Promise<void> {
  await mustCall(lakeUrl(server, name, 'resource=filesystem&'), { method: 'PUT', body: '' })
}

const PREPARE_CONCURRENCY = 16

/** `put` is called with each number below the count. */
async function forAll(count: number, put: (number: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await put(next++)
  }
  await Promise.all(Array.from({ length: PREPARE_CONCURRENCY }, worker))
}

const createRow: Row = {
  ...shared,
  name: 'create-path',
  work: 'Create Path',
  goal: { row: { name: 'put-4k', ratio: RATIO } },
  numberCount: 0,
  request: (server) => ({
    method: 'PUT',
    url: lakeUrl(server, 'create-path/file-{n}', 'resource=file&'),
  }),
  prepare: (server) => createFilesystem(server, 'create-path'),
  check: (server, number) =>
    checkLength(numbered(lakeUrl(server, 'create-path/file-{n}'), number), 0),
}

const APPEND_FILE_COUNT = 512
const ROUNDS_MAX = 10

/** Each round has files of its own, since a broken off round leaves it open how long they are. */
const appendRow: Row = {
  ...shared,
  name: 'append-path-4k',
  work: 'Append Data 4 KiB with flush',
  goal: { row: { name: 'put-4k', ratio: RATIO } },
  numberCount: APPEND_FILE_COUNT,
  request: (server) => ({
    method: 'PATCH',
    url: lakeUrl(
      server,
      'append-path-4k/{round}-{n}',
      'action=append&flush=true&position={lap4096}&',
    ),
    body: 'x'.repeat(4 * KIB),
  }),
  async prepare(server) {
    await createFilesystem(server, 'append-path-4k')
    await forAll(APPEND_FILE_COUNT * (ROUNDS_MAX + 1), (at) => {
      const round = Math.floor(at / APPEND_FILE_COUNT)
      const path = numbered(`append-path-4k/${round}-{n}`, at % APPEND_FILE_COUNT)
      return mustCall(lakeUrl(server, path, 'resource=file&'), { method: 'PUT', body: '' })
    })
  },
  async check(server, number) {
    const round = Math.floor(number / NUMBERS_PER_ROUND)
    const bytes = await mustCall(lakeUrl(server, numbered(`append-path-4k/${round}-{n}`, 0)))
    if (bytes.length === 0 || bytes.length % (4 * KIB) !== 0) throw new Error('a torn append')
  },
}

const READ_FILE_COUNT = 256

const readRow: Row = {
  ...shared,
  name: 'read-path-4k',
  work: 'Read Path 4 KiB',
  goal: { row: { name: 'get-4k', ratio: RATIO } },
  numberCount: READ_FILE_COUNT,
  answerBytesMin: 4 * KIB,
  request: (server) => ({
    method: 'GET',
    url: lakeUrl(server, 'read-path-4k/dir/file-{n}'),
    headers: JSON_ONLY,
  }),
  async prepare(server) {
    await createFilesystem(server, 'read-path-4k')
    await forAll(READ_FILE_COUNT, async (at) => {
      const path = numbered('read-path-4k/dir/file-{n}', at)
      await mustCall(lakeUrl(server, path, 'resource=file&'), { method: 'PUT', body: '' })
      const append = lakeUrl(server, path, 'action=append&flush=true&position=0&')
      await mustCall(append, { method: 'PATCH', body: 'x'.repeat(4 * KIB) })
    })
  },
  check: (server) =>
    checkLength(numbered(lakeUrl(server, 'read-path-4k/dir/file-{n}'), 0), 4 * KIB),
}

const LIST_COUNT = 5_000
const FILES_PER_DIRECTORY = 100

const listRow: Row = {
  ...shared,
  name: 'list-paths',
  work: 'List Paths, recursive, pages of 5,000',
  goal: { row: { name: 'list-5000', ratio: RATIO } },
  connectionCount: LONG_LIST_CONNECTIONS,
  numberCount: 1,
  answerBytesMin: LIST_COUNT * 100,
  request: (server) => ({ method: 'GET', url: listUrl(server) }),
  async prepare(server) {
    await createFilesystem(server, 'list-paths')
    await forAll(LIST_COUNT, (at) => {
      const directory = Math.floor(at / FILES_PER_DIRECTORY)
      const url = lakeUrl(server, numbered(`list-paths/d${directory}/blob-{n}`, at))
      return mustCall(url, { method: 'PUT', headers: BLOCK_BLOB, body: 'x'.repeat(100) })
    })
  },
  async check(server) {
    const { paths } = JSON.parse((await mustCall(listUrl(server))).toString())
    if (paths.length !== LIST_COUNT) throw new Error(`a page of ${paths.length} paths`)
  },
}

function listUrl(server: Running): string {
  return lakeUrl(
    server,
    'list-paths',
    `resource=filesystem&recursive=true&maxResults=${LIST_COUNT}&`,
  )
}

const RENAMED_FILE_COUNT = 100_000
const RENAME_COUNT = 50
const LOAD_S = 3

/** At least 50 a second are at most 20 ms each. */
const renameRow: Row = {
  ...shared,
  name: 'rename-100k',
  work: 'Rename Path of a directory with 100,000 files, one at a time',
  goal: { perSecond: 50 },
  numberCount: 1,
  request: (server) => ({ method: 'GET', url: lakeUrl(server, 'rename-100k') }),
  drive: renameBackAndForth,
  async prepare(server, folder) {
    await createFilesystem(server, 'rename-100k')
    const url = lakeUrl(server, 'rename-100k/a/file-{n}')
    for (let stored = 0; stored < RENAMED_FILE_COUNT;) {
      const { refused, broken, nextNumber } = await drive({
        request: { method: 'PUT', url, headers: BLOCK_BLOB, body: 'x'.repeat(100) },
        numberCount: 0,
        firstNumber: stored,
        connectionCount: CONNECTION_COUNT,
        durationS: LOAD_S,
        folder,
      })
      if (refused + broken > 0) throw new Error(`puts failed after ${stored}`)
      // The last puts may not have been answered.
      stored = nextNumber - CONNECTION_COUNT
    }
  },
  check: (server) =>
    checkLength(numbered(lakeUrl(server, 'rename-100k/a/file-{n}'), RENAMED_FILE_COUNT - 1), 100),
}

async function renameBackAndForth(server: Running): Promise<Outcome> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let refused = 0
  const startedMs = performance.now()
  for (let at = 0; at < RENAME_COUNT; at += 1) {
    const [from, to] = at % 2 === 0 ? ['a', 'b'] : ['b', 'a']
    if (
      (await rename(agent, lakeUrl(server, `rename-100k/${to}`), `/rename-100k/${from}`)) >= 300
    ) {
      refused += 1
    }
  }
  const durationUs = (performance.now() - startedMs) * 1_000
  agent.destroy()
  const quantiles = { p50Us: 0, p99Us: 0, nextNumber: 0 }
  return { requests: RENAME_COUNT, durationUs, bytes: 0, refused, broken: 0, ...quantiles }
}

function rename(agent: Agent, url: string, source: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-ms-rename-source': source, 'Content-Length': '0' }
    const sent = request(url, { method: 'PUT', agent, headers }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end()
  })
}
