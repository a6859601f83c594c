// What people bring from elsewhere: Azurite's databases, backups, histories.
import { HistoryError, decodeHistory } from '../../../src/torture/history/file.ts'
import {
  decodeAzuriteBlob, decodeBlock, decodeContainer, decodeAzuriteEntity, decodeAzuriteMessage, decodeQueue, decodeService, decodeTable, isCommitted,
} from '../../../src/run/azurite/document.ts' // prettier-ignore
import { readLoki } from '../../../src/run/azurite/loki-file.ts'
import { BackupDamaged, type BackupFiles } from '../../../src/start/backup/files.ts'
import { decodeManifest, segmentsByExtent } from '../../../src/start/backup/manifest.ts'
import { ChunkBuilder, decodeChunk, sha256Of } from '../../../src/start/backup/record-chunk.ts'
import { encodeHeader, readSegment } from '../../../src/start/backup/segment.ts'
import { decodeTarHeader, encodeTarHeader, TAR_BLOCK_BYTES } from '../../../src/start/backup/tar.ts'
import { StartError } from '../../../src/start/start-error.ts'
import { target, textOf } from '../target.ts'

const JSON_WORDS = ['{', '}', '[', ']', '"', '\\"', '\\u0000', ':', ',', 'null', '-1', '1e999', '"__proto__":', '0', 'true'] // prettier-ignore

const BLOB_DOCUMENT =
  '{"deleted":false,"accountName":"a","containerName":"c","name":"b","snapshot":"","isCommitted":true,"properties":{"creationTime":"2026-01-01T00:00:00.000Z","lastModified":"2026-01-01T00:00:00.000Z","etag":"\\"0x1\\"","contentLength":5,"contentType":"text/plain","contentMD5":{"type":"Buffer","data":[1,2]},"blobType":"BlockBlob","leaseState":"leased","accessTier":"Hot","copyId":"x"},"persistency":{"id":"e1","offset":0,"count":5},"committedBlocksInOrder":[{"name":"AAAA","size":5,"persistency":{"id":"e1","offset":0,"count":5}}],"metadata":{"k":"v"},"blobTags":{"blobTagSet":[{"key":"a","value":"b"}]},"leaseId":"l","leaseDurationSeconds":15,"$loki":1}'
const LOKI = `{"filename":"__azurite_db_blob__.json","collections":[{"name":"$CONTAINERS_COLLECTION$","data":[{"accountName":"a","name":"c","properties":{"lastModified":"2026-01-01T00:00:00.000Z","publicAccess":"blob"},"containerAcl":[{"id":"p","accessPolicy":{"start":"x","permission":"r"}}],"$loki":1}],"idIndex":[1]},{"name":"$BLOBS_COLLECTION$","data":[${BLOB_DOCUMENT}]}],"databaseVersion":1.5}`

const DECODERS = [
  decodeAzuriteBlob, decodeBlock, decodeContainer, decodeAzuriteEntity, decodeAzuriteMessage, decodeQueue, decodeService, decodeTable, isCommitted,
] as const // prettier-ignore

const FILE = 'database'

async function lokiOf(input: Buffer, partBytes: number): Promise<unknown> {
  async function* parts(): AsyncGenerator<Buffer> {
    for (let at = 0; at < input.length; at += partBytes) yield input.subarray(at, at + partBytes)
  }
  const documents: unknown[] = []
  try {
    for await (const document of readLoki(FILE, parts())) documents.push(document)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    // Where the damage was noticed depends on the parts.
    return { documents: documents.length, isDamaged: true }
  }
  return { documents, isDamaged: false }
}

function parsed(input: Buffer): unknown {
  try {
    return JSON.parse(textOf(input))
  } catch {
    return undefined
  }
}

const MANIFEST = {
  format: 1,
  storeId: 's',
  source: '/data',
  version: '1',
  takenMs: 1,
  recordCount: 1,
  contentBytes: 5,
  records: [{ sha256: 'a'.repeat(64), firstKey: 'AAA=', recordCount: 1, lengthBytes: 9 }],
  segments: [{ name: '00000000000001-0123456789abcdef', extent: 1, lengthBytes: 5 }],
}

/** One file of a backup, in memory. */
function onlyFile(bytes: Buffer): BackupFiles {
  return {
    text: 'backup',
    list: async () => new Map(),
    read: async (_name, offset, lengthBytes) => {
      if (offset + lengthBytes > bytes.length) throw new BackupDamaged('the file ends')
      return bytes.subarray(offset, offset + lengthBytes)
    },
    close: async () => undefined,
  }
}

function chunkOf(keys: readonly string[]): Buffer {
  const builder = new ChunkBuilder()
  for (const key of keys) builder.add({ key: Buffer.from(key), value: Buffer.from('{}') })
  return builder.take()?.bytes ?? Buffer.alloc(0)
}

const SLICE = { extent: 1, offset: 0, lengthBytes: 5, crc32: 7 }

export const IMPORT_TARGETS = [
  target({
    name: 'azurite-loki',
    seeds: [LOKI, '{"collections":[]}', '{"collections":[{"data":[{"a":"}"}],"name":"late"}]}'],
    words: [...JSON_WORDS, '"collections":[', '"data":[', '"name":"'],
    lengthMax: 2_048,
    decode: async (input) => ({ input, found: await lokiOf(input, input.length || 1) }),
    // However the file is cut into parts, it says the same.
    again: async ({ input }) => ({ input, found: await lokiOf(input, 7) }),
    refuses: [],
  }),
  target({
    name: 'azurite-document',
    seeds: [
      BLOB_DOCUMENT,
      '{"accountName":"a","queueName":"q","messageId":"m","insertionTime":"2026-01-01T00:00:00Z","expirationTime":"2026-01-01T00:00:00Z","dequeueCount":1,"timeNextVisible":"2026-01-01T00:00:00Z","persistency":{"id":"e","offset":0,"count":1}}',
      '{"PartitionKey":"p","RowKey":"r","properties":{"A":1,"A@odata.type":"Edm.Int64","Timestamp":"2026-01-01T00:00:00Z"}}',
      '{"account":"a","table":"t","tableAcl":[]}',
    ],
    words: [...JSON_WORDS, '"persistency":', '"properties":', '"data":[', '"metadata":'],
    lengthMax: 2_048,
    decode: (input) => {
      const document = parsed(input)
      return DECODERS.map((decode) => {
        try {
          return decode(document)
        } catch (error) {
          if (error instanceof StartError) return error.message.slice(0, 200)
          throw error
        }
      })
    },
    refuses: [],
  }),
  target({
    name: 'backup-manifest',
    seeds: [JSON.stringify(MANIFEST), JSON.stringify({ ...MANIFEST, records: [], segments: [] })],
    words: [...JSON_WORDS, '"records":', '"segments":', '../', '"format":1'],
    // Its checksum would keep every change out.
    decode: (input) => {
      const text = JSON.stringify(parsed(input)) ?? 'null'
      const sha256 = sha256Of(Buffer.from(text))
      const manifest = decodeManifest(Buffer.from(`{"sha256":"${sha256}","manifest":${text}}`), 'b')
      const names = [...segmentsByExtent(manifest).values()].flat().map(({ name }) => name)
      const isOutside = [...names, ...manifest.records.map(({ sha256: name }) => name)].some((name) => /[./]/.test(name)) // prettier-ignore
      if (isOutside) throw new Error('a name leads out of the backup')
      return manifest
    },
    refuses: [StartError],
  }),
  target({
    name: 'backup-manifest-file',
    seeds: [`{"sha256":"${'a'.repeat(64)}","manifest":{"format":1}}`, '{"manifest":null}', 'null'],
    words: JSON_WORDS,
    decode: (input) => decodeManifest(input, 'b'),
    refuses: [StartError],
  }),
  target({
    name: 'backup-segment',
    seeds: [
      encodeHeader('s', 1, [SLICE, { ...SLICE, offset: 5 }]),
      Buffer.from([0xff, 0xff, 0xff, 0xff]),
    ],
    words: [...JSON_WORDS, '\0\0\0\0', '"slices":[', '[0,5,7]', '"extent":1'],
    decode: async (input) => {
      const { slices, entry } = await readSegment(onlyFile(input), { name: 'n', extent: 1 })
      if (!Number.isFinite(entry.lengthBytes)) throw new Error('its length is no number')
      return slices
    },
    refuses: [BackupDamaged],
  }),
  target({
    name: 'backup-records',
    seeds: [chunkOf(['a', 'bcd']), chunkOf([])],
    words: ['\0\0\0\0', '\u0001\0\0\0', '\u00ff\u00ff\u00ff\u00ff'],
    decode: (input) => decodeChunk(input, { sha256: sha256Of(input) }),
    again: (entries) => {
      const builder = new ChunkBuilder()
      for (const entry of entries) builder.add(entry)
      const bytes = builder.take()?.bytes ?? Buffer.alloc(0)
      return decodeChunk(bytes, { sha256: sha256Of(bytes) })
    },
    refuses: [BackupDamaged],
  }),
  target({
    name: 'backup-tar',
    seeds: [encodeTarHeader({ name: 'backup.json', lengthBytes: 5 }), encodeTarHeader({ name: 'a', lengthBytes: 2 ** 40 })],
    words: ['\0', '0000644\0', '\u0080\0\0\0', ' ', '7777777777'],
    lengthMax: TAR_BLOCK_BYTES,
    // With its own checksum, which would keep every change out, and with the right one.
    decode: (input) => {
      const header = Buffer.concat([input, Buffer.alloc(TAR_BLOCK_BYTES)], TAR_BLOCK_BYTES)
      const plain = decodeTarHeader(header)
      header.write('        ', 148, 'latin1')
      const sum = header.reduce((total, byte) => total + byte, 0)
      header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
      return [plain, decodeTarHeader(header)]
    },
    refuses: [],
  }),
  target({
    name: 'torture-history',
    seeds: [
      '{"lazuliHistory":1,"seed":1,"clients":2,"slackMs":0,"services":["blob"],"faults":false}\n{"number":1,"client":1,"object":"block/a","operation":{"name":"get"},"began":0,"ended":1,"answer":{"status":200}}\n',
    ],
    words: [...JSON_WORDS, '\n', '"answer":', '"operation":{"name":"', '"ended":'],
    decode: (input) => decodeHistory(textOf(input), (kind) => kind === 'block'),
    refuses: [HistoryError],
  }),
] // prettier-ignore
