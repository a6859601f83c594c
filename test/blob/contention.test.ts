// Many clients at one blob: of those that create it one wins, a counter that is read and written under
// If-Match adds up, and a reader sees one write or another, never a mix. In memory and on disk.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob'
import { rawRequest, startTestServer, type RawResponse, type TestServer } from '../harness.ts'

const CLIENTS = 100
const OVERWRITES = 200
/** The writer goes on until as much was read. */
const READS_MIN = 20

for (const onDisk of [false, true]) {
  describe(onDisk ? 'on disk' : 'in memory', () => {
    let server: TestServer
    let container: ContainerClient

    before(async () => {
      server = await startTestServer({ onDisk })
      const service = BlobServiceClient.fromConnectionString(server.connectionString)
      container = service.getContainerClient('race')
      await container.create()
    })

    after(() => server.close())

    for (const lengthBytes of [10, 20_000]) {
      test(`of ${CLIENTS} that create a blob of ${lengthBytes} bytes one succeeds`, async () => {
        const path = `/race/one-${lengthBytes}`
        const racers = Array.from({ length: CLIENTS }, async (_, i) => {
          const body = String.fromCharCode(97 + (i % 26)).repeat(lengthBytes)
          const headers = { 'x-ms-blob-type': 'BlockBlob', 'If-None-Match': '*' }
          const { status, headers: got } = await rawRequest(server, {
            method: 'PUT',
            path,
            headers,
            body,
          })
          return { status, code: got['x-ms-error-code'], body, etag: got.etag }
        })
        const answers = await Promise.all(racers)
        const winners = answers.filter(({ status }) => status === 201)
        assert.equal(winners.length, 1)
        for (const { status, code } of answers) {
          if (status !== 201) assert.deepEqual([status, code], [409, 'BlobAlreadyExists'])
        }
        const stored = await rawRequest(server, { method: 'GET', path })
        assert.equal(stored.text, winners[0]?.body)
        assert.equal(stored.headers.etag, winners[0]?.etag)
      })
    }

    test(`${CLIENTS} that count under If-Match reach ${CLIENTS}`, async () => {
      await container.uploadBlockBlob('counter', '0', 1)
      const read = () => rawRequest(server, { method: 'GET', path: '/race/counter' })
      const countOn = async (read: RawResponse): Promise<boolean> => {
        const put = await rawRequest(server, {
          method: 'PUT',
          path: '/race/counter',
          headers: { 'x-ms-blob-type': 'BlockBlob', 'If-Match': read.headers.etag ?? '' },
          body: String(Number(read.text) + 1),
        })
        if (put.status === 201) return true
        const code = put.headers['x-ms-error-code']
        assert.deepEqual([put.status, code], [412, 'ConditionNotMet'])
        return false
      }
      // All have read before the first one writes, so one succeeds.
      const reads = await Promise.all(Array.from({ length: CLIENTS }, read))
      const counted = await Promise.all(reads.map(countOn))
      assert.equal(counted.filter(Boolean).length, 1)
      // The others go on, a few at a time: all at once they would need CLIENTS² / 2 tries.
      let waiting = CLIENTS - 1
      const goOn = async (): Promise<void> => {
        while (waiting > 0) {
          waiting -= 1
          while (!(await countOn(await read())));
        }
      }
      await Promise.all(Array.from({ length: 6 }, goOn))
      const counter = await container.getBlobClient('counter').downloadToBuffer()
      assert.equal(counter.toString(), String(CLIENTS))
    })

    test('a reader sees one write whole, whatever is written meanwhile', async () => {
      const written = new Map<string, number>()
      const seen: { readonly etag: string; readonly fill: number }[] = []
      const phase = { isWriting: true }
      const write = async (): Promise<void> => {
        for (let i = 0; i < OVERWRITES || seen.length < READS_MIN; i += 1) {
          // Bodies of all places: in the record, in one extent, in many chunks.
          const body = Buffer.alloc([100, 20_000, 90_000][i % 3] ?? 0, i)
          const headers = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-fill': String(i) }
          const put = await rawRequest(server, { method: 'PUT', path: '/race/mix', headers, body })
          assert.equal(put.status, 201)
          written.set(put.headers.etag ?? '', i)
        }
        phase.isWriting = false
      }
      const read = async (): Promise<void> => {
        while (phase.isWriting) {
          const got = await rawRequest(server, { method: 'GET', path: '/race/mix' })
          if (got.status === 404) continue
          const fill = Number(got.headers['x-ms-meta-fill'])
          assert.equal(got.status, 200)
          assert.ok(got.body.equals(Buffer.alloc(got.body.length, fill)), 'a body of one write')
          const md5 = createHash('md5').update(got.body).digest('base64')
          assert.equal(got.headers['content-md5'], md5)
          seen.push({ etag: got.headers.etag ?? '', fill })
        }
      }
      await Promise.all([write(), ...Array.from({ length: 2 }, read)])
      for (const { etag, fill } of seen) assert.equal(written.get(etag), fill)
    })
  })
}
