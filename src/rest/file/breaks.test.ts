// How long REST waits for an SMB client to flush its cache.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Request } from '../../http/door/operation.ts'
import type { Attempted } from '../../kv/kv.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { CACHE_READ, CACHE_WRITE, putHolder, type FileEvent } from '../../storage/file/open/open.ts'
import type { BreaksNeeded } from '../../storage/file/open/rest-access.ts'
import { afterBreaks, attemptAfterBreaks } from './breaks.ts'

const FILE = { shareId: 1, nodeId: 5 }
const BREAKS = [{ holder: 'one', to: CACHE_READ }]
const NEEDS_BREAK = { need: { kind: 'breaks', ...FILE, breaks: BREAKS } satisfies BreaksNeeded }

/** A request with nothing but a query. */
function requestWith(timeout?: string): Request {
  const query = new Map(timeout === undefined ? [] : [['timeout', timeout]])
  return { query } as unknown as Request
}

function newService() {
  const kv = openMemoryKv<FileEvent>()
  const waits: { readonly delayMs: number; end(): void; isOver: boolean }[] = []
  const after = (delayMs: number, then: () => void) => {
    const wait = { delayMs, end: then, isOver: false }
    waits.push(wait)
    return () => {
      wait.isOver = true
    }
  }
  return { kv, after, waits }
}

/** An operation that finds a cache in its way on its first attempt only. */
function needingBreakOnce(): () => Promise<Attempted<number>> {
  let attempts = 0
  return async () => {
    attempts += 1
    return attempts === 1 ? NEEDS_BREAK : { value: attempts }
  }
}

describe('the wait for a client', () => {
  for (const [timeout, delayMs] of [
    [undefined, 30_000],
    ['5', 5_000],
    ['30', 30_000],
    ['90', 30_000],
    ['0', 30_000],
    ['soon', 30_000],
  ] as const) {
    test(`is ${delayMs} ms with timeout=${timeout}`, async () => {
      const service = newService()
      await afterBreaks(service, requestWith(timeout), needingBreakOnce())
      assert.deepEqual(
        service.waits.map((wait) => [wait.delayMs, wait.isOver]),
        [[delayMs, true]],
      )
    })
  }

  test('has one deadline for all attempts', async () => {
    const service = newService()
    await service.kv.write(function* (tx) {
      putHolder(tx, FILE, { holder: 'one', kind: 'lease', state: CACHE_READ | CACHE_WRITE })
    })
    service.kv.listen((event) => {
      if (event.kind !== 'break') return
      void service.kv.write(function* (tx) {
        putHolder(tx, FILE, { holder: 'one', kind: 'lease', state: CACHE_READ | CACHE_WRITE })
        tx.announce({ kind: 'released', ...FILE })
      })
    })
    let attempts = 0
    const answer = await afterBreaks(service, requestWith(), async () => {
      attempts += 1
      return attempts < 4 ? NEEDS_BREAK : { value: 'done' }
    })
    assert.deepEqual([answer, attempts, service.waits.length], ['done', 4, 1])
  })

  test('ends with 500 ClientCacheFlushDelay at the deadline', async () => {
    const service = newService()
    await service.kv.write(function* (tx) {
      putHolder(tx, FILE, { holder: 'one', kind: 'lease', state: CACHE_READ | CACHE_WRITE })
    })
    service.kv.listen((event) => {
      if (event.kind === 'break') service.waits[0]?.end()
    })
    const waiting = afterBreaks(service, requestWith(), async () => NEEDS_BREAK)
    await assert.rejects(waiting, (error: unknown) => {
      return error instanceof StorageError && error.code === 'ClientCacheFlushDelay'
    })
  })

  test('is skipped for a client that has disconnected meanwhile', async () => {
    assert.equal(await afterBreaks(newService(), requestWith(), needingBreakOnce()), 2)
  })

  test('is skipped for a client that has released its cache meanwhile', async () => {
    const service = newService()
    await service.kv.write(function* (tx) {
      putHolder(tx, FILE, { holder: 'one', kind: 'lease', state: CACHE_READ })
    })
    assert.equal(await afterBreaks(service, requestWith(), needingBreakOnce()), 2)
  })

  test('starts no timer if no cache is in the way', async () => {
    const service = newService()
    assert.equal(await afterBreaks(service, requestWith(), async () => ({ value: 'done' })), 'done')
    assert.deepEqual(service.waits, [])
  })

  test('does not apply to other needs', async () => {
    const service = newService()
    const other = { need: { kind: 'other' } }
    assert.equal(await attemptAfterBreaks(service, requestWith(), async () => other), other)
    await assert.rejects(
      afterBreaks(service, requestWith(), async () => other),
      { name: 'AssertionError' },
    )
    assert.deepEqual(service.waits, [])
  })

  test('does not apply to errors', async () => {
    const failing = afterBreaks(newService(), requestWith(), async () => {
      throw new StorageError('SharingViolation')
    })
    await assert.rejects(failing, /may be in use by an SMB client/)
  })
})
