// The table of measurements. A row has a name, goals, a preparation and the request that is sent repeatedly.
import { mustCall } from './call.ts'
import { fileRows } from './file-rows.ts'
import { lakeRows } from './lake-rows.ts'
import { queueRows } from './queue-rows.ts'
import {
  blobUrl,
  checkLength,
  createContainer,
  LONG_LIST_CONNECTIONS,
  putRequest,
  type Row,
} from './row.ts'
import { tableRows } from './table-rows.ts'
import type { Running } from './target.ts'
import { numbered } from './wrk.ts'
import { writeRows } from './write-rows.ts'

const KIB = 1024
const MIB = 1024 * KIB
const LIST_COUNT = 1000
const PREPARE_CONCURRENCY = 16

function listUrl(server: Running, container: string, count = LIST_COUNT): string {
  const query = `restype=container&comp=list&maxresults=${count}`
  return `${server.endpoint('blob')}/${container}?${query}&${server.sas}`
}

async function fill(server: Running, container: string, count: number, bodyBytes: number) {
  await createContainer(server, container)
  const { url, ...request } = putRequest(server, container, bodyBytes)
  let next = 0
  const worker = async () => {
    while (next < count) await mustCall(numbered(url, next++), request)
  }
  await Promise.all(Array.from({ length: PREPARE_CONCURRENCY }, worker))
}

type BlobRow = Pick<Row, 'name' | 'work' | 'goal' | 'numberCount'> & { readonly bodyBytes: number }

function getRow(row: BlobRow): Row {
  const { name, bodyBytes, numberCount } = row
  return {
    ...row,
    service: 'blob',
    onBare: true,
    answerBytesMin: bodyBytes,
    azuriteSMin: 1,
    request: (server) => ({ method: 'GET', url: blobUrl(server, name) }),
    prepare: (server) => fill(server, name, numberCount, bodyBytes),
    check: (server, number) =>
      checkLength(numbered(blobUrl(server, name), number % numberCount), bodyBytes),
  }
}

function putRow(row: BlobRow): Row {
  const { name, bodyBytes, numberCount } = row
  return {
    ...row,
    service: 'blob',
    onBare: true,
    answerBytesMin: 0,
    azuriteSMin: 1,
    request: (server) => putRequest(server, name, bodyBytes),
    prepare: (server) => createContainer(server, name),
    check(server, number) {
      const stored = numberCount === 0 ? number : number % numberCount
      return checkLength(numbered(blobUrl(server, name), stored), bodyBytes)
    },
  }
}

type ListRow = Pick<Row, 'name' | 'goal' | 'connectionCount'> & { readonly count: number }

function listRow({ count, ...row }: ListRow): Row {
  const { name, goal } = row
  return {
    ...row,
    work: `List Blobs, pages of ${count.toLocaleString('en')}`,
    service: 'blob',
    onBare: false,
    onAzurite: goal.azurite !== undefined,
    numberCount: 1,
    answerBytesMin: count * 100,
    azuriteSMin: 3,
    request: (server) => ({ method: 'GET', url: listUrl(server, name, count) }),
    prepare: (server) => fill(server, name, count, 100),
    async check(server) {
      const page = (await mustCall(listUrl(server, name, count))).toString()
      const found = page.split('<Name>').length - 1
      if (found !== count) throw new Error(`a page of ${found} blobs`)
    },
  }
}

// The goals are the project's own. Puts of 1 MiB cycle through 32 names, so that a fast server does not fill the disk.
export const ROWS: readonly Row[] = [
  getRow({
    name: 'get-4k',
    work: 'Get Blob 4 KiB',
    goal: { azurite: 18, bare: 0.5 },
    numberCount: 256,
    bodyBytes: 4 * KIB,
  }),
  putRow({
    name: 'put-4k',
    work: 'Put Blob 4 KiB, other names',
    goal: { azurite: 25, bare: 0.3 },
    numberCount: 0,
    bodyBytes: 4 * KIB,
  }),
  putRow({
    name: 'put-4k-one',
    work: 'Put Blob 4 KiB, one name',
    goal: { azurite: 25, bare: 0.3 },
    numberCount: 1,
    bodyBytes: 4 * KIB,
  }),
  getRow({
    name: 'get-1m',
    work: 'Get Blob 1 MiB',
    goal: { azurite: 8 },
    numberCount: 16,
    bodyBytes: MIB,
  }),
  putRow({
    name: 'put-1m',
    work: 'Put Blob 1 MiB',
    goal: { azurite: 4 },
    numberCount: 32,
    bodyBytes: MIB,
  }),
  listRow({ name: 'list', goal: { azurite: 15 }, count: LIST_COUNT }),
  ...writeRows(),
  ...queueRows(),
  ...tableRows(),
  ...fileRows(),
  listRow({ name: 'list-5000', goal: {}, count: 5_000, connectionCount: LONG_LIST_CONNECTIONS }),
  ...lakeRows(),
]
