// Marks for deletion ([MS-FSA] 2.1.5.15.3).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { READ_ONLY } from './attributes.ts'
import { ADDRESS, exampleShare, refusalOf, type ExampleShare } from './open-example.ts'
import { isDeletePending, type FileOpen } from './open.ts'
import { requireOpened } from './opened-node.ts'
import { setDisposal } from './smb-disposition.ts'

function mark(share: ExampleShare, open: FileOpen, deletePending = true, ignoreReadOnly = false) {
  return share.kv.writeLive(function* (tx) {
    const opened = yield* requireOpened(tx, ADDRESS, open)
    yield* setDisposal(tx, opened, { deletePending, ignoreReadOnly })
  })
}

function isMarked(share: ExampleShare, { shareId, nodeId }: FileOpen) {
  return share.kv.read((tx) => isDeletePending(tx, shareId, nodeId))
}

const isThere = async (share: ExampleShare, path: string): Promise<boolean> =>
  (await refusalOf(share.open(path, { disposition: 'open' }))) === 'done'

describe('a mark for deletion', () => {
  test('takes the file with its last handle', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file')
    const { open: other } = await share.open('file')
    await mark(share, open)
    await share.close(open)
    assert.equal(await isMarked(share, open), true)
    await share.close(other)
    assert.equal(await isThere(share, 'file'), false)
  })

  test('can be taken back, as can what was asked for with the open', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file', { deleteOnClose: true })
    await mark(share, open)
    await mark(share, open, false)
    assert.equal(await isMarked(share, open), false)
    await share.close(open)
    assert.equal(await isThere(share, 'file'), true)
  })

  test('is refused for what is read-only, unless that is not to count', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file', { attributes: READ_ONLY })
    assert.equal(await refusalOf(mark(share, open)), 'CANNOT_DELETE')
    await mark(share, open, true, true)
    assert.equal(await isMarked(share, open), true)
  })

  test('is refused for a directory with something in it, and for the root', async () => {
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
