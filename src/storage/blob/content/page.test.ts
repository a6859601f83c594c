// Page writes to blobs that are copied, incremental copies, immutable or encrypted.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Kv } from '../../../kv/kv.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { NO_CONDITIONS } from '../../shared/condition.ts'
import type { CopyState } from '../../shared/copy/copy-state.ts'
import { findBlob } from '../blob.ts'
import type { Blob } from '../record.ts'
import { createContainer } from '../container/container.ts'
import type { BlobGuard } from '../guard.ts'
import { blobKey } from '../keys.ts'
import { clearPages, putPage, putPageBlob } from './page.ts'

const ADDRESS = { account: 'a', container: 'c', blob: 'b' }
const GUARD: BlobGuard = { conditions: NO_CONDITIONS, readRule: 'any' }
const MOMENT = { nowMs: 1_000_000, stamp: 1_024_000_000 }
const LATER = { nowMs: 1_001_000, stamp: 1_025_024_000 }
const WRITE = { guard: GUARD, sequence: {}, range: { from: 0, to: 512 } }

async function storeOf(state: Partial<Blob>): Promise<Kv> {
  const kv = openMemoryKv()
  const page = { lengthBytes: 1024, sequenceNumber: 3n, mapId: 10 }
  const put = { guard: GUARD, createOnly: false, headers: {}, metadata: [] }
  await kv.write(function* (tx) {
    yield* createContainer(tx, ADDRESS, { id: 1, metadata: [] }, MOMENT)
    const blob = yield* putPageBlob(tx, ADDRESS, put, page, MOMENT)
    tx.put(blobKey(1, ADDRESS.blob), encodeRecord({ ...blob, ...state }))
  })
  return kv
}

const COPY: CopyState = {
  id: '00000000-0000-0000-0000-000000000001',
  source: 'http://elsewhere/disk',
  status: 'success',
  copiedBytes: 1024,
  totalBytes: 1024,
}

const FAR = LATER.nowMs + 1
const REJECTED: readonly (readonly [string, Partial<Blob>, string])[] = [
  ['a copy is in progress', { copy: { ...COPY, status: 'pending' } }, 'PendingCopyOperation'],
  [
    'the blob is an incremental copy',
    { copy: { ...COPY, isIncremental: true } },
    'OperationNotAllowedOnIncrementalCopyBlob',
  ],
  ['there is a legal hold', { legalHold: true }, 'BlobImmutableDueToLegalHold'],
  [
    'there is an immutability policy',
    { immutability: { untilMs: FAR, mode: 'Unlocked' } },
    'BlobImmutableDueToPolicy',
  ],
  [
    'the blob has an encryption scope that the request omits',
    { encryption: { scope: 's' } },
    'BlobUsesCustomerSpecifiedEncryption',
  ],
]
for (const [name, state, code] of REJECTED) {
  test(`clearing pages fails if ${name} → ${code}`, async () => {
    const kv = await storeOf(state)
    const clearing = kv.write((tx) => clearPages(tx, ADDRESS, WRITE, 9, LATER))
    await assert.rejects(clearing, { code })
  })
}

test('writing pages keeps the state of a finished copy', async () => {
  const kv = await storeOf({ copy: COPY })
  const blob = await kv.write((tx) => clearPages(tx, ADDRESS, WRITE, 9, LATER))
  assert.deepEqual([blob.copy, blob.modifiedMs, blob.stamp], [COPY, LATER.nowMs, LATER.stamp])
  const { stored } = await kv.read((tx) => findBlob(tx, ADDRESS, LATER.nowMs))
  assert.deepEqual(stored?.blob, blob)
})

test('bytes that were encrypted for a replaced blob are not written to its successor', async () => {
  const kv = await storeOf({})
  const body = { pieces: [], encryption: { scope: 's' } }
  const putting = kv.write((tx) => putPage(tx, ADDRESS, WRITE, body, LATER))
  await assert.rejects(putting, { code: 'BlobCustomerSpecifiedEncryptionMismatch' })
})
