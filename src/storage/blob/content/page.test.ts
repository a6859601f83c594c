// Writes of pages on blobs in states that only other operations bring about: copies and retention.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Kv } from '../../../kv/kv.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { NO_CONDITIONS } from '../../shared/condition.ts'
import type { CopyState } from '../../shared/copy-state.ts'
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
const REFUSED: readonly (readonly [string, Partial<Blob>, string])[] = [
  ['a copy is under way', { copy: { ...COPY, status: 'pending' } }, 'PendingCopyOperation'],
  [
    'incremental copies made it',
    { copy: { ...COPY, isIncremental: true } },
    'OperationNotAllowedOnIncrementalCopyBlob',
  ],
  ['it is held', { legalHold: true }, 'BlobImmutableDueToLegalHold'],
  [
    'a policy keeps it',
    { immutability: { untilMs: FAR, mode: 'Unlocked' } },
    'BlobImmutableDueToPolicy',
  ],
  [
    'a scope encrypts it and the request means none',
    { encryption: { scope: 's' } },
    'BlobUsesCustomerSpecifiedEncryption',
  ],
]
for (const [name, state, code] of REFUSED) {
  test(`no page is cleared while ${name} → ${code}`, async () => {
    const kv = await storeOf(state)
    const clearing = kv.write((tx) => clearPages(tx, ADDRESS, WRITE, 9, LATER))
    await assert.rejects(clearing, { code })
  })
}

test('a finished copy is still told of after its pages were written', async () => {
  const kv = await storeOf({ copy: COPY })
  const blob = await kv.write((tx) => clearPages(tx, ADDRESS, WRITE, 9, LATER))
  assert.deepEqual([blob.copy, blob.modifiedMs, blob.stamp], [COPY, LATER.nowMs, LATER.stamp])
  const { stored } = await kv.read((tx) => findBlob(tx, ADDRESS, LATER.nowMs))
  assert.deepEqual(stored?.blob, blob)
})

test('bytes that were encrypted for the blob before are not stored in this one', async () => {
  const kv = await storeOf({})
  const body = { pieces: [], encryption: { scope: 's' } }
  const putting = kv.write((tx) => putPage(tx, ADDRESS, WRITE, body, LATER))
  await assert.rejects(putting, { code: 'BlobCustomerSpecifiedEncryptionMismatch' })
})
