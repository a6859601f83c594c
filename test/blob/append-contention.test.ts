// Many writers append to one blob: each block is in it once, complete, at the offset that its response gave.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { outcome } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const APPENDERS = 50
const BLOCKS_EACH = 6

for (const onDisk of [false, true]) {
  describe(onDisk ? 'on disk' : 'in memory', async () => {
    const { send } = await startBlobFixture({ container: 'race', onDisk })

    const create = (name: string) =>
      send('PUT', `/race/${name}`, { 'x-ms-blob-type': 'AppendBlob' })

    test(`the offsets and counts that ${APPENDERS} writers get are exact`, async () => {
      await create('log')
      const blocks: { offset: number; count: number; body: string }[] = []
      const appender = async (_: unknown, who: number): Promise<void> => {
        for (let i = 0; i < BLOCKS_EACH; i += 1) {
          // Different lengths, some of several chunks.
          const body = `[${who}:${i}${'.'.repeat((who * 97 + i * 1_000) % 9_000)}]`
          const { status, headers } = await send('PUT', '/race/log?comp=appendblock', {}, body)
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
      const { text, headers } = await send('GET', '/race/log')
      assert.equal(text, sorted.map(({ body }) => body).join(''))
      const expected = String(APPENDERS * BLOCKS_EACH)
      assert.equal(headers['x-ms-blob-committed-block-count'], expected)
    })

    test('only one of many appends at the same position succeeds', async () => {
      await create('one')
      const racers = Array.from({ length: APPENDERS }, async (_, who) => {
        const body = `by ${who}`
        const atStart = { 'x-ms-blob-condition-appendpos': '0' }
        const appended = await send('PUT', '/race/one?comp=appendblock', atStart, body)
        return { outcome: outcome(appended), body }
      })
      const answers = await Promise.all(racers)
      const winners = answers.filter(({ outcome }) => outcome === '201')
      assert.equal(winners.length, 1)
      for (const { outcome } of answers) {
        if (outcome !== '201') assert.equal(outcome, '412 AppendPositionConditionNotMet')
      }
      const { text } = await send('GET', '/race/one')
      assert.equal(text, winners[0]?.body)
    })
  })
}
