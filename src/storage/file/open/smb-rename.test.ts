// Renames of an open file or directory ([MS-FSA] 2.1.5.15.12).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { READ_ONLY } from '../tree/attributes.ts'
import { leaseFile, type FileLeaseAction } from '../tree/file-lease.ts'
import { ADDRESS, exampleShare, READ_ACCESS, refusalOf, type ExampleShare } from './open-example.ts'
import { getOpen, opensOf, setDeletePending, type FileOpen } from './open.ts'
import { renameOpened } from './smb-rename.ts'

function rename(
  share: ExampleShare,
  open: FileOpen,
  to: string,
  replaceIfExists = false,
  posixSemantics = false,
) {
  const change = {
    path: to === '' ? [] : to.split('/'),
    replaceIfExists,
    posixSemantics,
    frozen: {},
  }
  return share.kv.write((tx) => renameOpened(tx, ADDRESS, open, change, share.moment()))
}

/** `a`, `b`, `locked`, `directory` and `directory/inner`, all closed again. */
async function filledShare(): Promise<ExampleShare> {
  const share = await exampleShare()
  const opened = [
    await share.open('a'),
    await share.open('b'),
    await share.open('locked', { attributes: READ_ONLY }),
    await share.open('directory', { wants: 'directory' }),
    await share.open('directory/inner'),
  ]
  for (const { open } of opened) await share.close(open)
  return share
}

const exists = async (share: ExampleShare, path: string): Promise<boolean> =>
  (await refusalOf(share.open(path, { disposition: 'open', desiredAccess: 0x80 }))) === 'done'

describe('a rename', () => {
  // prettier-ignore
  const ROWS = [
    ['a',         'c',               false, 'done'],
    ['a',         'A',               false, 'done'],
    ['a',         'directory/a',     false, 'done'],
    ['a',         'b',               false, 'ResourceAlreadyExists'],
    ['a',         'b',               true,  'done'],
    ['a',         'locked',          true,  'ACCESS_DENIED'],
    ['a',         'directory',       true,  'ACCESS_DENIED'],
    ['a',         'none/c',          false, 'ParentNotFound'],
    ['a',         '',                false, 'InvalidFileOrDirectoryPathName'],
    ['directory', 'elsewhere',       false, 'done'],
    ['directory', 'a',               true,  'done'],
    ['directory', 'directory/below', false, 'SharingViolation'],
    ['',          'root',            false, 'INVALID_PARAMETER'],
  ] as const
  for (const [from, to, replace, outcome] of ROWS) {
    const how = replace ? 'replacing' : 'to'
    test(`of ${from || 'the root'} ${how} ${to || 'the root'}: ${outcome}`, async () => {
      const share = await filledShare()
      const { open } = await share.open(from)
      assert.equal(await refusalOf(rename(share, open, to, replace)), outcome)
      if (outcome !== 'done') return
      await share.close(open)
      assert.deepEqual(
        [await exists(share, to), await exists(share, `${to}/inner`)],
        [true, from === 'directory'],
      )
      assert.equal(await exists(share, from), to === 'A')
    })
  }

  test('does not replace a file with a REST lease', async () => {
    const share = await filledShare()
    const { open } = await share.open('a')
    const address = { ...ADDRESS, path: ['b'] }
    const lease = (action: FileLeaseAction) =>
      share.kv.write((tx) => leaseFile(tx, address, action, share.moment()))
    await lease({ action: 'acquire', durationSeconds: -1, newId: 'lease' })
    assert.equal(await refusalOf(rename(share, open, 'b', true)), 'SharingViolation')
    await lease({ action: 'release', id: 'lease' })
    assert.equal(await refusalOf(rename(share, open, 'b', true)), 'done')
  })

  test('updates the path of every handle on the file', async () => {
    const share = await filledShare()
    const { open } = await share.open('a')
    const { open: other } = await share.open('a')
    await rename(share, open, 'directory/c')
    for (const each of [open, other]) {
      const now = await share.kv.read((tx) => getOpen(tx, each))
      assert.equal(now?.path, 'directory/c')
    }
    await rename(share, other, 'd')
    const opens = await share.kv.read((tx) => opensOf(tx, open.shareId, open.nodeId))
    assert.deepEqual([...new Set(opens.map(({ path }) => path))], ['d'])
  })

  test('is announced as one event', async () => {
    const share = await filledShare()
    const { open } = await share.open('a')
    share.events.length = 0
    await rename(share, open, 'c')
    const changes = share.events.filter(({ kind }) => kind === 'change')
    assert.equal(changes.length, 1)
    const [change] = changes
    assert(change?.kind === 'change')
    assert.deepEqual([change.action, change.from?.name, change.name], ['renamed', 'a', 'c'])
  })
})

describe('a rename with POSIX semantics', () => {
  test('replaces a file that others have open and share for deletion', async () => {
    const share = await filledShare()
    const { open: replaced } = await share.open('b')
    const { open } = await share.open('a')
    await rename(share, open, 'b', true, true)
    await share.close(replaced)
    const { open: now } = await share.open('b')
    assert.equal(now.nodeId, open.nodeId)
  })

  test('does not replace a file that others do not share for deletion', async () => {
    const share = await filledShare()
    await share.open('b', { shareAccess: 3 })
    const { open } = await share.open('a')
    assert.equal(await refusalOf(rename(share, open, 'b', true, true)), 'ACCESS_DENIED')
  })
})

describe('a rename is refused', () => {
  test('while the replaced file is open', async () => {
    const share = await filledShare()
    await share.open('b')
    const { open } = await share.open('a')
    assert.equal(await refusalOf(rename(share, open, 'b', true)), 'ACCESS_DENIED')
  })

  test('while something below the directory is open', async () => {
    const share = await filledShare()
    await share.open('directory/inner')
    const { open } = await share.open('directory')
    assert.equal(await refusalOf(rename(share, open, 'elsewhere')), 'ACCESS_DENIED')
  })

  test('if the file or the target directory is marked for deletion', async () => {
    const share = await filledShare()
    const { open } = await share.open('a')
    const { open: directory } = await share.open('directory')
    await share.kv.write(function* (tx) {
      setDeletePending(tx, directory, true)
    })
    assert.equal(await refusalOf(rename(share, open, 'directory/a')), 'SMBDeletePending')
    await share.kv.write(function* (tx) {
      setDeletePending(tx, open, true)
    })
    assert.equal(await refusalOf(rename(share, open, 'c')), 'ACCESS_DENIED')
  })

  const DELETE = 0x1_0000
  // prettier-ignore
  const DIRECTORY_OPENS = [
    [READ_ACCESS,          7, 'done'],
    [READ_ACCESS | DELETE, 7, 'SharingViolation'],
    [READ_ACCESS | DELETE, 0, 'SharingViolation'],
    [READ_ACCESS,          3, 'done'],
    [READ_ACCESS,          0, 'SharingViolation'],
    [0x0010_0080,          0, 'done'],
  ] as const
  for (const [desiredAccess, shareAccess, outcome] of DIRECTORY_OPENS) {
    const mask = `0x${desiredAccess.toString(16)} sharing ${shareAccess}`
    test(`or not, if its directory is open with ${mask}: ${outcome}`, async () => {
      const share = await filledShare()
      await share.open('directory', { desiredAccess, shareAccess })
      const { open } = await share.open('directory/inner')
      assert.equal(await refusalOf(rename(share, open, 'directory/new')), outcome)
    })
  }
})
