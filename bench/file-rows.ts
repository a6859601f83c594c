// The rows of the File service. Azurite has none, so they are compared with Lazuli's own blobs of the same size: a file
// should cost little more, although its bytes can change and SMB clients may have it open.
import { mustCall } from './call.ts'
import { checkLength, type Row } from './row.ts'
import type { Running } from './target.ts'
import { numbered } from './wrk.ts'

const KIB = 1024
const MIB = 1024 * KIB
const RATIO = 0.8

/** As many files as the compared row has blobs, or 64 if that creates a new blob each time. */
type FileRow = Pick<Row, 'name' | 'work' | 'numberCount'> & {
  readonly bodyBytes: number
  readonly like: string
}

export function fileRows(): readonly Row[] {
  return [
    getRow({
      name: 'get-file-4k',
      work: 'Get File 4 KiB',
      numberCount: 256,
      bodyBytes: 4 * KIB,
      like: 'get-4k',
    }),
    getRow({
      name: 'get-file-1m',
      work: 'Get File 1 MiB',
      numberCount: 16,
      bodyBytes: MIB,
      like: 'get-1m',
    }),
    putRow({
      name: 'put-range-4k',
      work: 'Put Range 4 KiB',
      numberCount: 64,
      bodyBytes: 4 * KIB,
      like: 'put-4k',
    }),
    putRow({
      name: 'put-range-1m',
      work: 'Put Range 1 MiB',
      numberCount: 32,
      bodyBytes: MIB,
      like: 'put-1m',
    }),
  ]
}

/** Each row has a share of its own. The bare server has only one service. */
function fileUrl(server: Running, share: string, query = ''): string {
  const service = server.target.name === 'bare' ? 'blob' : 'file'
  return `${server.endpoint(service)}/${share}/file-{n}?${query}${server.sas}`
}

const shared = {
  service: 'file',
  onBare: true,
  onAzurite: false,
  azuriteSMin: 1,
} as const

function getRow(row: FileRow): Row {
  const { name, bodyBytes, like } = row
  return {
    ...shared,
    ...row,
    goal: { row: { name: like, ratio: RATIO } },
    answerBytesMin: bodyBytes,
    request: (server) => ({ method: 'GET', url: fileUrl(server, name) }),
    prepare: (server) => fill(server, row),
    check: (server) => checkLength(numbered(fileUrl(server, name), 0), bodyBytes),
  }
}

function putRow(row: FileRow): Row {
  const { name, bodyBytes, like } = row
  return {
    ...shared,
    ...row,
    goal: { row: { name: like, ratio: RATIO } },
    answerBytesMin: 0,
    request: (server) => putRequest(server, name, bodyBytes),
    prepare: (server) => fill(server, row),
    async check(server) {
      if (server.target.name === 'bare') return
      await checkLength(numbered(fileUrl(server, name), 0), bodyBytes)
    },
  }
}

function putRequest(server: Running, share: string, bodyBytes: number) {
  const range = `bytes=0-${bodyBytes - 1}`
  return {
    method: 'PUT',
    url: fileUrl(server, share, 'comp=range&'),
    headers: { 'x-ms-write': 'update', 'x-ms-range': range },
    body: 'x'.repeat(bodyBytes),
  }
}

async function fill(server: Running, row: FileRow): Promise<void> {
  if (server.target.name === 'bare') return
  const { name: share, bodyBytes, numberCount } = row
  const url = `${server.endpoint('file')}/${share}?restype=share&${server.sas}`
  await mustCall(url, { method: 'PUT', body: '' })
  const headers = { 'x-ms-type': 'file', 'x-ms-content-length': String(bodyBytes) }
  const { url: rangeUrl, ...range } = putRequest(server, share, bodyBytes)
  for (let number = 0; number < numberCount; number++) {
    await mustCall(numbered(fileUrl(server, share), number), { method: 'PUT', headers, body: '' })
    await mustCall(numbered(rangeUrl, number), range)
  }
}
