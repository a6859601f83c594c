// Many clients write blocks of one blob: each acknowledged block is there, each commit is complete, and a reader sees
// one commit, never a mix of two. In memory and on disk.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startBlobFixture } from './fixture.ts'

const idOf = (text: string) => Buffer.from(text).toString('base64')
const BLOCK_BYTES = 10_000
/** The writers continue until the readers have read this often. */
const READS_MIN = 20

for (const onDisk of [false, true]) {
  describe(onDisk ? 'on disk' : 'in memory', async () => {
    const { container, send } = await startBlobFixture({ container: 'race', onDisk })

    const putBlock = (blob: string, id: string, body: Uint8Array) =>
      send('PUT', `/race/${blob}?comp=block&blockid=${encodeURIComponent(id)}`, {}, body)
    const commit = (blob: string, ids: readonly string[], headers = {}) => {
      const blocks = ids.map((id) => `<Latest>${id}</Latest>`).join('')
      const body = `<BlockList>${blocks}</BlockList>`
      return send('PUT', `/race/${blob}?comp=blocklist`, headers, body)
    }

    test('all of 64 blocks staged 16 at a time are there, each with its own bytes', async () => {
      const blob = container.getBlockBlobClient('parallel')
      const ids = Array.from({ length: 64 }, (_, i) => idOf(String(i).padStart(2, '0')))
      let next = 0
      const stage = async (): Promise<void> => {
        while (next < ids.length) {
          const at = next++
          await blob.stageBlock(ids[at] ?? '', Buffer.alloc(BLOCK_BYTES, at), BLOCK_BYTES)
        }
      }
      await Promise.all(Array.from({ length: 16 }, stage))
      const { uncommittedBlocks = [] } = await blob.getBlockList('uncommitted')
      assert.deepEqual(
        uncommittedBlocks.map(({ name }) => name),
        ids.toSorted(),
      )
      await blob.commitBlockList(ids)
      const whole = Buffer.concat(ids.map((_, i) => Buffer.alloc(BLOCK_BYTES, i)))
      assert.ok((await blob.downloadToBuffer()).equals(whole))
    })

    test('one of 16 versions of the same block is committed, complete', async () => {
      const puts = Array.from({ length: 16 }, (_, i) =>
        putBlock('same', idOf('a'), Buffer.alloc(BLOCK_BYTES, i)),
      )
      for (const { status } of await Promise.all(puts)) assert.equal(status, 201)
      assert.equal((await commit('same', [idOf('a')])).status, 201)
      const { body } = await send('GET', '/race/same')
      assert.equal(body.length, BLOCK_BYTES)
      assert.ok(body.equals(Buffer.alloc(BLOCK_BYTES, body[0])))
    })

    test('each of many concurrent commits is complete or refused', async () => {
      const [clients, rounds, blocks] = [4, 15, 5]
      const committed = new Map<string, number>()
      const seen: { readonly etag: string; readonly fill: number }[] = []
      const over = new AbortController()
      let last = 0
      const write = async (client: number): Promise<void> => {
        for (let round = 0; round < rounds || seen.length < READS_MIN; round += 1) {
          const fill = (last += 1) % 256
          const ids = Array.from({ length: blocks }, (_, i) => idOf(`${client}-${i}`))
          const body = Buffer.alloc(BLOCK_BYTES, fill)
          for (const { status } of await Promise.all(ids.map((id) => putBlock('mix', id, body)))) {
            assert.equal(status, 201)
          }
          const { status, headers } = await commit('mix', ids)
          if (status === 201) committed.set(String(headers.etag), fill)
          // Another client's commit discarded these blocks, as in Azure; the blocks committed before are no longer in
          // the blob either.
          else assert.equal(headers['x-ms-error-code'], 'InvalidBlockList')
        }
      }
      const read = async (): Promise<void> => {
        while (!over.signal.aborted) {
          const { status, headers, body } = await send('GET', '/race/mix')
          if (status === 404) continue
          const [fill = 0] = body
          assert.equal(body.length, blocks * BLOCK_BYTES)
          assert.ok(body.equals(Buffer.alloc(body.length, fill)), 'a body of one commit')
          seen.push({ etag: String(headers.etag), fill })
        }
      }
      const writers = Array.from({ length: clients }, (_, client) => write(client))
      const readers = [read(), read()]
      await Promise.all(writers).finally(() => over.abort())
      await Promise.all(readers)
      for (const { etag, fill } of seen) assert.equal(committed.get(etag), fill)
    })

    test('only one of 20 commits of a new blob with If-None-Match succeeds', async () => {
      await putBlock('one', idOf('a'), Buffer.from('x'))
      const racers = Array.from({ length: 20 }, () =>
        commit('one', [idOf('a')], { 'If-None-Match': '*' }),
      )
      const answers = await Promise.all(racers)
      assert.equal(answers.filter(({ status }) => status === 201).length, 1)
      const codes = new Set(answers.map(({ headers }) => headers['x-ms-error-code']))
      assert.deepEqual(codes, new Set([undefined, 'BlobAlreadyExists']))
    })
  })
}
