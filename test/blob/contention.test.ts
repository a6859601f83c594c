// Many clients use one blob: only one creates it, a counter updated with If-Match loses no increment, and a reader sees
// one write, never a mix of two. In memory and on disk.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { md5Of, outcome, type RawResponse } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './fixture.ts'

const CLIENTS = 100
const OVERWRITES = 200
/** The writer continues until the readers have read this often. */
const READS_MIN = 20

for (const onDisk of [false, true]) {
  describe(onDisk ? 'on disk' : 'in memory', async () => {
    const { container, send } = await startBlobFixture({ container: 'race', onDisk })

    for (const lengthBytes of [10, 20_000]) {
      test(`only one of ${CLIENTS} clients creates a blob of ${lengthBytes} bytes`, async () => {
        const path = `/race/one-${lengthBytes}`
        const racers = Array.from({ length: CLIENTS }, async (_, i) => {
          const body = String.fromCharCode(97 + (i % 26)).repeat(lengthBytes)
          const put = await send('PUT', path, { ...BLOCK_BLOB, 'If-None-Match': '*' }, body)
          return { outcome: outcome(put), body, etag: put.headers.etag }
        })
        const answers = await Promise.all(racers)
        const winners = answers.filter(({ outcome }) => outcome === '201')
        assert.equal(winners.length, 1)
        for (const { outcome } of answers) {
          if (outcome !== '201') assert.equal(outcome, '409 BlobAlreadyExists')
        }
        const stored = await send('GET', path)
        assert.equal(stored.text, winners[0]?.body)
        assert.equal(stored.headers.etag, winners[0]?.etag)
      })
    }

    test(`${CLIENTS} clients that increment a counter with If-Match reach ${CLIENTS}`, async () => {
      await container.uploadBlockBlob('counter', '0', 1)
      const read = () => send('GET', '/race/counter')
      const countOn = async (read: RawResponse): Promise<boolean> => {
        const headers = { ...BLOCK_BLOB, 'If-Match': read.headers.etag ?? '' }
        const put = await send('PUT', '/race/counter', headers, String(Number(read.text) + 1))
        if (put.status === 201) return true
        assert.equal(outcome(put), '412 ConditionNotMet')
        return false
      }
      // All clients read before the first one writes, so only one succeeds.
      const reads = await Promise.all(Array.from({ length: CLIENTS }, read))
      const counted = await Promise.all(reads.map(countOn))
      assert.equal(counted.filter(Boolean).length, 1)
      // The others continue, a few at a time: all at once they would need CLIENTS² / 2 attempts.
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

    test('a reader sees one complete write during concurrent writes', async () => {
      const written = new Map<string, number>()
      const seen: { readonly etag: string; readonly fill: number }[] = []
      const phase = { isWriting: true }
      const write = async (): Promise<void> => {
        for (let i = 0; i < OVERWRITES || seen.length < READS_MIN; i += 1) {
          // Bodies stored in the record, in one extent, and in many chunks.
          const body = Buffer.alloc([100, 20_000, 90_000][i % 3] ?? 0, i)
          const headers = { ...BLOCK_BLOB, 'x-ms-meta-fill': String(i) }
          const put = await send('PUT', '/race/mix', headers, body)
          assert.equal(put.status, 201)
          written.set(put.headers.etag ?? '', i)
        }
        phase.isWriting = false
      }
      const read = async (): Promise<void> => {
        while (phase.isWriting) {
          const got = await send('GET', '/race/mix')
          if (got.status === 404) continue
          const fill = Number(got.headers['x-ms-meta-fill'])
          assert.equal(got.status, 200)
          assert.ok(got.body.equals(Buffer.alloc(got.body.length, fill)), 'a body of one write')
          assert.equal(got.headers['content-md5'], md5Of(got.body))
          seen.push({ etag: got.headers.etag ?? '', fill })
        }
      }
      await Promise.all([write(), ...Array.from({ length: 2 }, read)])
      for (const { etag, fill } of seen) assert.equal(written.get(etag), fill)
    })
  })
}
