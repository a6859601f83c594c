// The Avro encoding, read back by Azure's own SDK from a server that consists of nothing but this engine.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { BlockBlobClient } from '@azure/storage-blob'
import { encodeAvroHeader, encodeEndBlock, encodeErrorBlock, encodeProgressBlock } from './avro.ts'
import { blobChunks, CSV, decodeAvro, QUERY_NOW_MS, SYNC_MARKER } from '../run/example.ts'
import { QueryThreads } from '../run/query-threads.ts'
import type { AddressInfo } from 'node:net'

test('messages of any size are read back unchanged', () => {
  const uint32Max = Number.MAX_SAFE_INTEGER >>> 0
  const failure = {
    fatal: true,
    name: 'ParseError',
    description: 'é'.repeat(200),
    position: 2 ** 45,
  }
  const bytes = Buffer.concat([
    encodeAvroHeader(SYNC_MARKER),
    encodeErrorBlock(failure, SYNC_MARKER),
    encodeProgressBlock({ bytesScanned: uint32Max, totalBytes: 2 ** 50 }, SYNC_MARKER),
    encodeEndBlock(0, SYNC_MARKER),
  ])
  assert.deepEqual(
    decodeAvro(bytes).map(({ kind, fields }) => [kind, fields]),
    [
      ['error', failure],
      ['progress', { bytesScanned: uint32Max, totalBytes: 2 ** 50 }],
      ['end', { totalBytes: 0 }],
    ],
  )
})

test("Azure's SDK reads data, errors, progress and the end", async () => {
  const blob = Buffer.from(`100,hello\n${'150,250\n'.repeat(100_000)}`)
  const expression = 'select _2 from BlobStorage where _2 > 100'
  const threads = new QueryThreads(1)
  const server = createServer(async (_, response) => {
    response.writeHead(200, { 'content-type': 'avro/binary' })
    const source = { chunks: blobChunks(blob), totalBytes: blob.length, syncMarker: SYNC_MARKER }
    const query = { expression, input: CSV, output: CSV, nowMs: QUERY_NOW_MS }
    const { signal } = new AbortController()
    for await (const part of threads.run(query, source, signal)) response.write(part)
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    const client = new BlockBlobClient(`http://127.0.0.1:${port}/account/container/blob`)
    const [errors, progress]: [unknown[], number[]] = [[], []]
    const { readableStreamBody } = await client.query(expression, {
      onError: (error) => errors.push(error),
      onProgress: ({ loadedBytes }) => progress.push(loadedBytes),
    })
    assert(readableStreamBody !== undefined)
    const parts: Buffer[] = []
    for await (const part of readableStreamBody) parts.push(Buffer.from(part))
    assert.equal(Buffer.concat(parts).toString(), '250\n'.repeat(100_000))
    const description = 'Invalid type conversion.'
    assert.deepEqual(errors, [
      { isFatal: false, name: 'InvalidTypeConversion', description, position: 0 },
    ])
    assert.deepEqual(progress, [blob.length, blob.length])
  } finally {
    server.close()
    server.closeAllConnections()
    await threads.close()
  }
})
