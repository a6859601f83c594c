// Lease File in storage; test/file/lease.test.ts tests every action in every state over HTTP.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { StorageError } from '../../shared/error.ts'
import { EXAMPLE_SHARE, EXAMPLE_VIEW, exampleNode } from '../example.ts'
import { isLeased, leaseFile, type FileLeaseAction } from './file-lease.ts'
import { getNode, ROOT_ID, saveEntry, saveNode, type FileNode } from './node.ts'
import { putOpen, setDeletePending, type FileEvent, type FileKv } from '../open/open.ts'
import { saveShare } from '../share/share.ts'

const ADDRESS = { account: 'devstoreaccount1', share: 'share', path: ['a.txt'] }
const FILE_ID = 5

const NODE = exampleNode('file', FILE_ID, ROOT_ID)

async function withFile(more: Partial<FileNode> = {}): Promise<FileKv> {
  const kv = openMemoryKv<FileEvent>()
  await kv.write(function* (tx) {
    saveShare(tx, ADDRESS, EXAMPLE_SHARE)
    saveNode(tx, EXAMPLE_VIEW, undefined, { ...NODE, ...more })
    saveEntry(tx, EXAMPLE_VIEW, ROOT_ID, undefined, {
      nodeId: FILE_ID,
      kind: 'file',
      name: 'a.txt',
    })
  })
  return kv
}

const ACQUIRE = { action: 'acquire', durationSeconds: -1, newId: 'new' } as const

function lease(kv: FileKv, action: FileLeaseAction) {
  return kv.write((tx) => leaseFile(tx, ADDRESS, action, { nowMs: 1_000, stamp: 9_999_999 }))
}

const hasCode = (code: string) => (error: unknown) =>
  error instanceof StorageError && error.code === code

describe('Lease File', () => {
  test('changes only the lease of the file', async () => {
    const kv = await withFile()
    const { result } = await lease(kv, ACQUIRE)
    assert.equal(result.leaseId, 'new')
    const node = await kv.read((tx) => getNode(tx, EXAMPLE_VIEW, FILE_ID))
    assert.deepEqual(node, { ...NODE, since: 0, lease: { id: 'new', durationSeconds: -1 } })
    await lease(kv, { action: 'release', id: 'new' })
    assert.deepEqual(await kv.read((tx) => getNode(tx, EXAMPLE_VIEW, FILE_ID)), {
      ...NODE,
      since: 0,
    })
  })

  test('does not acquire a lease during a copy to the file, but releases one', async () => {
    const copy = {
      id: 'copy',
      source: 'http://other/a',
      status: 'pending',
      copiedBytes: 0,
      totalBytes: 10,
    } as const
    const kv = await withFile({ copy })
    await assert.rejects(lease(kv, ACQUIRE), hasCode('PendingCopyOperation'))
    const leased = await withFile({ copy, lease: { id: 'own', durationSeconds: -1 } })
    await lease(leased, { action: 'release', id: 'own' })
    const done = await withFile({ copy: { ...copy, status: 'success' } })
    await lease(done, ACQUIRE)
  })

  for (const action of [
    { action: 'change', id: 'own', proposedId: 'other' },
    { action: 'release', id: 'own' },
    { action: 'break' },
  ] as const) {
    test(`${action.action} ignores SMB opens, but fails if the file is marked for deletion`, async () => {
      const kv = await withFile({ lease: { id: 'own', durationSeconds: -1 } })
      await kv.write(function* (tx) {
        const what = { shareId: 1, nodeId: FILE_ID, openId: 9, parentId: 0, path: 'a.txt' }
        const who = { sessionId: '1', clientIp: '10.0.0.1:1', openedMs: 0 }
        putOpen(tx, { ...what, ...who, isDirectory: false, access: 1, shareAccess: 0 })
        setDeletePending(tx, what, true)
      })
      await assert.rejects(lease(kv, action), hasCode('SMBDeletePending'))
      await kv.write(function* (tx) {
        setDeletePending(tx, { shareId: 1, nodeId: FILE_ID }, false)
      })
      await lease(kv, action)
    })
  }
})

describe('a file is leased', () => {
  const held = { id: 'own', durationSeconds: -1 }
  for (const [what, lease, expected] of [
    ['while a client holds a lease', held, true],
    ['no longer once the lease is broken', { ...held, endsAtMs: 1_000, isBroken: true }, false],
    ['only after a client has acquired a lease', undefined, false],
  ] as const) {
    test(what, () => assert.equal(isLeased(lease === undefined ? {} : { lease }, 1_000), expected))
  }
})
