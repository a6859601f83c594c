// Query threads: no query blocks the calling thread or another query, and nothing is read or computed ahead of demand.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { setImmediate } from 'node:timers/promises'
import { after, describe, test } from 'node:test'
import { promisify } from 'node:util'
import {
  CSV,
  decodeAvro,
  JSON_LINES,
  QUERY_NOW_MS,
  replyOf,
  SYNC_MARKER,
  blobChunks,
} from './example.ts'
import { QueryError } from '../query-error.ts'
import { QueryThreads } from './query-threads.ts'

const ALL = 'SELECT * FROM BlobStorage'
const HOSTILE = `SELECT 1 FROM BlobStorage WHERE ${Array.from({ length: 1_500 }, () => "_1 LIKE '%a%a%a%a%b'").join(' OR ')}`
const LONG = Buffer.from(`${'a'.repeat(60)}\n`.repeat(50_000))

function run(
  threads: QueryThreads,
  expression: string,
  blob: Uint8Array,
  {
    signal = new AbortController().signal,
    chunks = blobChunks(blob),
    input = CSV as typeof CSV | typeof JSON_LINES,
  } = {},
) {
  const source = { chunks, totalBytes: blob.length, syncMarker: SYNC_MARKER }
  return threads.run({ expression, input, output: CSV, nowMs: QUERY_NOW_MS }, source, signal)
}

async function textOf(answer: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const part of answer) parts.push(part)
  return replyOf(decodeAvro(Buffer.concat(parts))).text
}

describe('query threads', () => {
  const threads = new QueryThreads(1)
  after(() => threads.close())

  test('run many queries at a time in one thread', async () => {
    const blobs = Array.from({ length: 20 }, (_, at) => Buffer.from(`row ${at}\n`.repeat(30_000)))
    const texts = await Promise.all(blobs.map((blob) => textOf(run(threads, ALL, blob))))
    assert.deepEqual(texts, blobs.map(String))
    assert.equal(threads.queryCount, 0)
  })

  test('reject an invalid query before it runs', async () => {
    const check = (expression: string) => threads.check({ expression, input: CSV, output: CSV })
    await check(ALL)
    await assert.rejects(check('SELEKT'), new QueryError('ErrorProcessingQueryExpression', "Syntax error! Expected 'SELECT', found 'SELEKT'.")) // prettier-ignore
    assert.equal(threads.queryCount, 0)
  })

  test('run other queries beside a long one, and end it when it is aborted', async () => {
    const abort = new AbortController()
    const hostile = run(threads, HOSTILE, LONG, { signal: abort.signal })
    let turns = 0
    const state = { isCounting: true }
    const counting = (async () => {
      for (; state.isCounting; turns += 1) await setImmediate()
    })()
    let isOver = false
    const outcome = textOf(hostile).finally(() => {
      isOver = true
    })
    assert.equal(await textOf(run(threads, ALL, Buffer.from('a\n'))), 'a\n')
    assert.equal(isOver, false)
    abort.abort()
    await assert.rejects(outcome, { name: 'QueryCancelled' })
    state.isCounting = false
    await counting
    assert(turns > 1, 'the event loop kept running')
    assert.equal(threads.queryCount, 0)
    assert.equal(await textOf(run(threads, ALL, Buffer.from('b\n'))), 'b\n')
  })

  test('read and compute nothing ahead of demand', async () => {
    let readBytes = 0
    async function* counted() {
      for await (const chunk of blobChunks(LONG)) {
        readBytes += chunk.length
        yield chunk
      }
    }
    const answer = run(threads, ALL, LONG, { chunks: counted() })
    await answer.next()
    assert.equal(readBytes, 0, 'the first part is the Avro header')
    let answeredBytes = 0
    while (answeredBytes < LONG.length / 2) {
      const { value } = await answer.next()
      answeredBytes += value?.length ?? 0
      assert(readBytes <= answeredBytes + 256 * 1024)
    }
    await answer.return(undefined)
    assert(readBytes < LONG.length)
    assert.equal(threads.queryCount, 0)
  })
})

test('a thread that runs out of memory fails its queries and is replaced', async () => {
  const threads = new QueryThreads(1, { heapMibMax: 24 })
  try {
    const blob = Buffer.from(`[${'[0],'.repeat(500_000)}[0]]`)
    await assert.rejects(textOf(run(threads, ALL, blob, { input: JSON_LINES })), { code: 'ERR_WORKER_OUT_OF_MEMORY' }) // prettier-ignore
    assert.equal(await textOf(run(threads, ALL, Buffer.from('a\n'))), 'a\n')
  } finally {
    await threads.close()
  }
})

test('closing the threads fails running queries', async () => {
  const threads = new QueryThreads(1)
  const outcome = textOf(run(threads, HOSTILE, LONG))
  await threads.check({ expression: ALL, input: CSV, output: CSV })
  const [closed] = await Promise.allSettled([threads.close(), assert.rejects(outcome, /has ended/)])
  assert.equal(closed.status, 'fulfilled')
})

test('an idle thread does not keep the process alive', async () => {
  const code = `
    import { QueryThreads } from ${JSON.stringify(new URL('query-threads.ts', import.meta.url).href)}
    const input = ${JSON.stringify(CSV)}
    await new QueryThreads(1).check({ expression: ${JSON.stringify(ALL)}, input, output: input })
    console.log('checked')`
  const args = ['--input-type=module', '--eval', code]
  // The timeout kills a process that does not exit, which fails the test.
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
  assert.equal(stdout, 'checked\n')
})
