// How long REST waits for an SMB client to flush what it caches.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Request } from '../../http/door/operation.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { CACHE_READ, CACHE_WRITE, putHolder, type FileEvent } from '../../storage/file/open/open.ts'
import { BreaksNeeded } from '../../storage/file/open/rest-access.ts'
import { afterBreaks } from './breaks.ts'

const FILE = { shareId: 1, nodeId: 5 }
const ASKED = new BreaksNeeded(1, 5, [{ holder: 'one', to: CACHE_READ }])

/** Only the query is looked at. */
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

/** Finds a cache in its way at its first attempt only. */
function askingOnce(): () => Promise<number> {
  let attempts = 0
  return async () => {
    attempts += 1
    if (attempts === 1) throw ASKED
    return attempts
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
      await afterBreaks(service, requestWith(timeout), askingOnce())
      assert.deepEqual(
        service.waits.map((wait) => [wait.delayMs, wait.isOver]),
        [[delayMs, true]],
      )
    })
  }

  test('is one for all attempts', async () => {
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
      if (attempts < 4) throw ASKED
      return 'done'
    })
    assert.deepEqual([answer, attempts, service.waits.length], ['done', 4, 1])
  })

  test('ends with 500 ClientCacheFlushDelay when its time is over', async () => {
    const service = newService()
    await service.kv.write(function* (tx) {
      putHolder(tx, FILE, { holder: 'one', kind: 'lease', state: CACHE_READ | CACHE_WRITE })
    })
    service.kv.listen((event) => {
      if (event.kind === 'break') service.waits[0]?.end()
    })
    const waiting = afterBreaks(service, requestWith(), async () => {
      throw ASKED
    })
    await assert.rejects(waiting, (error: unknown) => {
      return error instanceof StorageError && error.code === 'ClientCacheFlushDelay'
    })
  })

  test('is not begun for a client that has gone meanwhile: it is tried again at once', async () => {
    assert.equal(await afterBreaks(newService(), requestWith(), askingOnce()), 2)
  })

  test('is not begun for a client that has given its cache up meanwhile', async () => {
    const service = newService()
    await service.kv.write(function* (tx) {
      putHolder(tx, FILE, { holder: 'one', kind: 'lease', state: CACHE_READ })
    })
    assert.equal(await afterBreaks(service, requestWith(), askingOnce()), 2)
  })

  test('is not begun where no cache is in the way', async () => {
    const service = newService()
    assert.equal(await afterBreaks(service, requestWith(), async () => 'done'), 'done')
    assert.deepEqual(service.waits, [])
  })

  test('is not for other errors', async () => {
    const failing = afterBreaks(newService(), requestWith(), async () => {
      throw new StorageError('SharingViolation')
    })
    await assert.rejects(failing, /may be in use by an SMB client/)
  })
})
