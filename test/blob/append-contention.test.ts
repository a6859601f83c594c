// Many writers at one append blob: every block is there once, whole, where the answer said that it went.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { rawRequest, startTestServer, type TestServer } from '../harness.ts'

const APPENDERS = 50
const BLOCKS_EACH = 6

for (const onDisk of [false, true]) {
  describe(onDisk ? 'on disk' : 'in memory', () => {
    let server: TestServer

    before(async () => {
      server = await startTestServer({ onDisk })
      await rawRequest(server, { method: 'PUT', path: '/race?restype=container' })
    })

    after(() => server.close())

    const create = (name: string) =>
      rawRequest(server, {
        method: 'PUT',
        path: `/race/${name}`,
        headers: { 'x-ms-blob-type': 'AppendBlob' },
      })

    test(`${APPENDERS} appenders: offsets and counts are exact, the content is the blocks`, async () => {
      await create('log')
      const blocks: { offset: number; count: number; body: string }[] = []
      const appender = async (_: unknown, who: number): Promise<void> => {
        for (let i = 0; i < BLOCKS_EACH; i += 1) {
          // Other lengths, up to some that take several chunks.
          const body = `[${who}:${i}${'.'.repeat((who * 97 + i * 1_000) % 9_000)}]`
          const { status, headers } = await rawRequest(server, {
            method: 'PUT',
            path: '/race/log?comp=appendblock',
            body,
          })
          assert.equal(status, 201)
          const offset = Number(headers['x-ms-blob-append-offset'])
          const count = Number(headers['x-ms-blob-committed-block-count'])
          blocks.push({ offset, count, body })
        }
      }
      await Promise.all(Array.from({ length: APPENDERS }, appender))
      const sorted = blocks.toSorted((a, b) => a.count - b.count)
      let end = 0
      for (const [index, { offset, count, body }] of sorted.entries()) {
        assert.deepEqual([count, offset], [index + 1, end])
        end += body.length
      }
      const { text, headers } = await rawRequest(server, { method: 'GET', path: '/race/log' })
      assert.equal(text, sorted.map(({ body }) => body).join(''))
      const expected = String(APPENDERS * BLOCKS_EACH)
      assert.equal(headers['x-ms-blob-committed-block-count'], expected)
    })

    test('of those that append at one position one succeeds', async () => {
      await create('one')
      const racers = Array.from({ length: APPENDERS }, async (_, who) => {
        const { status, headers } = await rawRequest(server, {
          method: 'PUT',
          path: '/race/one?comp=appendblock',
          headers: { 'x-ms-blob-condition-appendpos': '0' },
          body: `by ${who}`,
        })
        return { status, code: headers['x-ms-error-code'], body: `by ${who}` }
      })
      const answers = await Promise.all(racers)
      const winners = answers.filter(({ status }) => status === 201)
      assert.equal(winners.length, 1)
      for (const { status, code } of answers) {
        if (status !== 201) {
          assert.deepEqual([status, code], [412, 'AppendPositionConditionNotMet'])
        }
      }
      const { text } = await rawRequest(server, { method: 'GET', path: '/race/one' })
      assert.equal(text, winners[0]?.body)
    })
  })
}
