// Marks for deletion ([MS-FSA] 2.1.5.15.3).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { READ_ONLY } from '../tree/attributes.ts'
import { resizeFile } from '../example.ts'
import { getNode } from '../tree/node.ts'
import {
  ADDRESS,
  exampleShare,
  refusalOf,
  SHARE_ID,
  VIEW,
  type ExampleShare,
} from './open-example.ts'
import { deleteOpen, isDeletePending, type FileOpen } from './open.ts'
import { requireOpened } from './opened-node.ts'
import { removeOrphans } from '../tree/orphan.ts'
import { shareUsageBytes } from '../share/share.ts'
import { disposeOfOpened, type Disposal } from './smb-disposition.ts'

const PLAIN: Disposal = { deletePending: true, posixSemantics: false, ignoreReadOnly: false }

function mark(share: ExampleShare, open: FileOpen, how: Partial<Disposal> = {}) {
  return share.kv.write((tx) => disposeOfOpened(tx, ADDRESS, open, { ...PLAIN, ...how }))
}

function isMarked(share: ExampleShare, { shareId, nodeId }: FileOpen) {
  return share.kv.read((tx) => isDeletePending(tx, shareId, nodeId))
}

const exists = async (share: ExampleShare, path: string): Promise<boolean> =>
  (await refusalOf(share.open(path, { disposition: 'open' }))) === 'done'

describe('a mark for deletion', () => {
  test('deletes the file when its last handle is closed', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file')
    const { open: other } = await share.open('file')
    await mark(share, open)
    await share.close(open)
    assert.equal(await isMarked(share, open), true)
    await share.close(other)
    assert.equal(await exists(share, 'file'), false)
  })

  test('can be removed, and so can the delete-on-close of the open', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file', { deleteOnClose: true })
    await mark(share, open)
    await mark(share, open, { deletePending: false })
    assert.equal(await isMarked(share, open), false)
    await share.close(open)
    assert.equal(await exists(share, 'file'), true)
  })

  test('is refused for a read-only file, unless the request ignores ReadOnly', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file', { attributes: READ_ONLY })
    assert.equal(await refusalOf(mark(share, open)), 'CANNOT_DELETE')
    await mark(share, open, { ignoreReadOnly: true })
    assert.equal(await isMarked(share, open), true)
  })

  test('is refused for a non-empty directory and for the root', async () => {
    const share = await exampleShare()
    const { open: directory } = await share.open('directory', { wants: 'directory' })
    const { open: file } = await share.open('directory/file', { deleteOnClose: true })
    assert.equal(await refusalOf(mark(share, directory)), 'DirectoryNotEmpty')
    await share.close(file)
    await mark(share, directory)
    const { open: root } = await share.open('')
    assert.equal(await refusalOf(mark(share, root)), 'CANNOT_DELETE')
  })
})

describe('a mark with POSIX semantics', () => {
  const usageBytes = (share: ExampleShare) => share.kv.read((tx) => shareUsageBytes(tx, SHARE_ID))
  const nodeOf = (share: ExampleShare, { nodeId }: FileOpen) =>
    share.kv.read((tx) => getNode(tx, VIEW, nodeId))

  /** A file of 7 bytes that two clients have open; one of them marks it for deletion. */
  async function markedFile() {
    const share = await exampleShare()
    const { open } = await share.open('file')
    const { open: other } = await share.open('file')
    const resize = { lengthBytes: 7, newId: share.newId() }
    await share.kv.write(function* (tx) {
      yield* resizeFile(tx, yield* requireOpened(tx, ADDRESS, open), resize, share.moment())
    })
    await mark(share, open, { posixSemantics: true })
    return { share, open, other }
  }

  test('removes the name with its own handle, and the file with the last', async () => {
    const { share, open, other } = await markedFile()
    assert.equal(await refusalOf(share.open('file')), 'SMBDeletePending')
    share.events.length = 0
    await share.close(open)
    const [change] = share.events.filter(({ kind }) => kind === 'change')
    assert(change?.kind === 'change')
    assert.deepEqual([change.action, change.name], ['removed', 'file'])
    const { action, open: another } = await share.open('file')
    assert.deepEqual([action, another.nodeId === other.nodeId], ['created', false])
    assert.equal((await nodeOf(share, other))?.lengthBytes, 7)
    await share.close(other)
    assert.deepEqual([await nodeOf(share, other), await usageBytes(share)], [undefined, 0])
    assert.equal(await exists(share, 'file'), true)
  })

  test('can be removed only while the file has a name', async () => {
    const { share, open, other } = await markedFile()
    await mark(share, open, { deletePending: false })
    await mark(share, open, { posixSemantics: true })
    await share.close(open)
    assert.equal(await refusalOf(mark(share, other, { deletePending: false })), 'ACCESS_DENIED')
  })

  test('leaves nothing behind if the server ends before the last handle is closed', async () => {
    const { share, open, other } = await markedFile()
    await share.close(open)
    await share.kv.write((tx) => removeOrphans(tx))
    assert.notEqual(await nodeOf(share, other), undefined, 'a client still has it open')
    await share.kv.write(function* (tx) {
      deleteOpen(tx, other)
    })
    await share.kv.write((tx) => removeOrphans(tx))
    assert.deepEqual([await nodeOf(share, other), await usageBytes(share)], [undefined, 0])
  })
})
