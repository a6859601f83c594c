// CREATE: opening and creating files and directories ([MS-SMB2] 2.2.13, [MS-FSA] 2.1.5.1).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ARCHIVE, HIDDEN, READ_ONLY, SYSTEM } from '../tree/attributes.ts'
import { setNodeMetadata } from '../tree/file-properties.ts'
import { locate, requireNode } from '../tree/node.ts'
import { putOpen, setDeletePending } from './open.ts'
import { requirePermission } from '../security/permission.ts'
import {
  encodeSecurityDescriptor,
  decodeSecurityDescriptor,
} from '../security/security-descriptor.ts'
import { parseDescriptorText } from '../security/sddl.ts'
import { snapshotShare } from '../share/share-snapshot.ts'
import { leaseFile } from '../tree/file-lease.ts'
import {
  ADDRESS,
  ALL_ACCESS,
  exampleShare,
  READ_ACCESS,
  refusalOf,
  SHARE_ID,
  type OpenOptions,
} from './open-example.ts'

const ATTRIBUTES_ACCESS = 0x0010_0180

describe('dispositions', () => {
  // prettier-ignore
  const ROWS = [
    ['supersede',   'superseded',            'created'],
    ['open',        'opened',                'ResourceNotFound'],
    ['create',      'ResourceAlreadyExists', 'created'],
    ['openIf',      'opened',                'created'],
    ['overwrite',   'overwritten',           'ResourceNotFound'],
    ['overwriteIf', 'overwritten',           'created'],
  ] as const
  for (const [disposition, present, absent] of ROWS) {
    test(`${disposition}: ${present} if the name exists, otherwise ${absent}`, async () => {
      const share = await exampleShare()
      await share.open('there')
      const outcome = async (path: string) => {
        const opening = share.open(path, { disposition })
        const refusal = await refusalOf(opening)
        return refusal === 'done' ? (await opening).action : refusal
      }
      assert.equal(await outcome('there'), present)
      assert.equal(await outcome('THERE'), present, 'case-insensitive')
      assert.equal(await outcome('not-there'), absent)
    })
  }

  test('the parent directory of a new name must exist', async () => {
    const share = await exampleShare()
    await share.open('file')
    assert.equal(await refusalOf(share.open('none/file')), 'ParentNotFound')
    assert.equal(await refusalOf(share.open('file/file')), 'ParentNotFound')
  })
})

describe('files and directories', () => {
  // prettier-ignore
  const ROWS = [
    ['file',      'any',       'open',      'done'],
    ['file',      'file',      'open',      'done'],
    ['file',      'directory', 'open',      'NOT_A_DIRECTORY'],
    ['file',      'directory', 'create',    'ResourceAlreadyExists'],
    ['directory', 'any',       'open',      'done'],
    ['directory', 'directory', 'open',      'done'],
    ['directory', 'file',      'open',      'FILE_IS_A_DIRECTORY'],
    ['directory', 'file',      'overwrite', 'FILE_IS_A_DIRECTORY'],
    ['directory', 'any',       'overwrite', 'INVALID_PARAMETER'],
    ['',          'any',       'open',      'done'],
    ['',          'directory', 'openIf',    'done'],
    ['',          'file',      'open',      'FILE_IS_A_DIRECTORY'],
    ['',          'directory', 'create',    'ResourceAlreadyExists'],
  ] as const
  for (const [path, wants, disposition, refusal] of ROWS) {
    test(`${path === '' ? 'the root' : `a ${path}`} opened as ${wants}, ${disposition}: ${refusal}`, async () => {
      const share = await exampleShare()
      await share.open('directory', { wants: 'directory' })
      await share.open('file')
      assert.equal(await refusalOf(share.open(path, { wants, disposition })), refusal)
    })
  }

  test('the path of an open has the case of the directory entry', async () => {
    const share = await exampleShare()
    await share.open('Directory', { wants: 'directory' })
    await share.open('Directory/File')
    const { open } = await share.open('Directory/FILE')
    assert.deepEqual(
      [open.path, open.isDirectory, open.access],
      ['Directory/File', false, ALL_ACCESS],
    )
  })
})

describe('attributes', () => {
  const ROWS: readonly (readonly [
    before: number,
    options: OpenOptions,
    outcome: number | string,
  ])[] = [
    [0, { disposition: 'overwrite' }, ARCHIVE],
    [0, { disposition: 'overwrite', attributes: HIDDEN }, HIDDEN | ARCHIVE],
    [HIDDEN, { disposition: 'overwrite' }, 'ACCESS_DENIED'],
    [SYSTEM, { disposition: 'overwrite', attributes: HIDDEN }, 'ACCESS_DENIED'],
    [HIDDEN, { disposition: 'supersede', attributes: HIDDEN }, HIDDEN | ARCHIVE],
    [READ_ONLY, { disposition: 'overwrite', attributes: READ_ONLY }, 'ACCESS_DENIED'],
    [READ_ONLY, { disposition: 'open' }, 'ACCESS_DENIED'],
    [READ_ONLY, { disposition: 'open', desiredAccess: READ_ACCESS }, READ_ONLY | ARCHIVE],
    [HIDDEN, { disposition: 'open', attributes: SYSTEM }, HIDDEN | ARCHIVE],
  ]
  for (const [before, options, outcome] of ROWS) {
    const request = `${options.disposition} with ${options.attributes ?? 0}`
    test(`a file with attributes ${before}: ${request}: ${outcome}`, async () => {
      const share = await exampleShare()
      await share.open('file', { attributes: before })
      const opening = share.open('file', options)
      if (typeof outcome === 'string') assert.equal(await refusalOf(opening), outcome)
      else assert.equal((await opening).node.attributes, outcome)
    })
  }

  test('the creator of a read-only file may write to it', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file', { attributes: READ_ONLY })
    assert.equal(open.access, ALL_ACCESS)
  })
})

describe('overwriting', () => {
  test('keeps the id, creation time, permission and metadata', async () => {
    const share = await exampleShare()
    const { node: before } = await share.open('file')
    await share.kv.write(function* (tx) {
      const file = requireNode(yield* locate(tx, { ...ADDRESS, path: ['file'] }))
      setNodeMetadata(tx, file, [['a', 'b']], share.moment())
    })
    const { node } = await share.open('file', { disposition: 'overwrite' })
    assert.deepEqual(
      [node.nodeId, node.creationTime, node.permissionKey, node.metadata],
      [before.nodeId, before.creationTime, before.permissionKey, [['a', 'b']]],
    )
  })

  test('counts as a write, even if only read access is requested', async () => {
    const share = await exampleShare()
    const options = { desiredAccess: READ_ACCESS, shareAccess: 1 }
    await share.open('file', options)
    const overwriting = share.open('file', { ...options, disposition: 'overwrite' })
    assert.equal(await refusalOf(overwriting), 'SharingViolation')
  })
})

describe('an open is refused', () => {
  test('by an open that does not share the access', async () => {
    const share = await exampleShare()
    await share.open('file', { desiredAccess: READ_ACCESS, shareAccess: 1 })
    assert.equal(await refusalOf(share.open('file')), 'SharingViolation')
    const attributesOnly = share.open('file', { desiredAccess: ATTRIBUTES_ACCESS, shareAccess: 0 })
    assert.equal(await refusalOf(attributesOnly), 'done')
  })

  test('if the file or its directory is marked for deletion', async () => {
    const share = await exampleShare()
    const { open: directory } = await share.open('directory', { wants: 'directory' })
    const { open: file } = await share.open('file')
    await share.kv.write(function* (tx) {
      for (const each of [directory, file]) setDeletePending(tx, each, true)
    })
    for (const path of ['directory', 'directory/new', 'file']) {
      assert.equal(await refusalOf(share.open(path)), 'SMBDeletePending', path)
    }
    assert.equal(await refusalOf(share.open('file', { disposition: 'create' })), 'SMBDeletePending')
  })

  test('to write or delete a file with a REST lease', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file')
    await share.close(open)
    const newId = 'a0000000-0000-4000-8000-000000000000'
    const acquire = { action: 'acquire', durationSeconds: -1, newId } as const
    const address = { ...ADDRESS, path: ['file'] }
    await share.kv.write((tx) => leaseFile(tx, address, acquire, share.moment()))
    assert.equal(await refusalOf(share.open('file')), 'SharingViolation')
    const deleting = share.open('file', { desiredAccess: 0x1_0000 })
    assert.equal(await refusalOf(deleting), 'SharingViolation')
    assert.equal(await refusalOf(share.open('file', { desiredAccess: READ_ACCESS })), 'done')
  })

  test('if the file has 2,000 opens', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file')
    await share.kv.write(function* (tx) {
      for (let openId = 2_001; openId < 4_000; openId += 1) putOpen(tx, { ...open, openId })
    })
    assert.equal(await refusalOf(share.open('file')), 'QUOTA_EXCEEDED')
  })

  test('if another share has taken the name', async () => {
    const share = await exampleShare()
    assert.equal(await refusalOf(share.open('file', { shareId: 77 })), 'ShareNotFound')
  })
})

describe('delete on close', () => {
  test('is refused for a read-only file, new or existing, and for the root', async () => {
    const share = await exampleShare()
    await share.open('file', { attributes: READ_ONLY })
    const options = { deleteOnClose: true, desiredAccess: 0x1_0000 }
    assert.equal(await refusalOf(share.open('file', options)), 'CANNOT_DELETE')
    const creating = share.open('new', { ...options, attributes: READ_ONLY })
    assert.equal(await refusalOf(creating), 'CANNOT_DELETE')
    assert.equal(await refusalOf(share.open('', options)), 'CANNOT_DELETE')
    assert.equal(await refusalOf(share.open('new', { disposition: 'open' })), 'ResourceNotFound')
  })

  test('deletes the file when the handle is closed', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file', { deleteOnClose: true })
    await share.close(open)
    assert.equal(await refusalOf(share.open('file', { disposition: 'open' })), 'ResourceNotFound')
  })
})

describe('a descriptor in the request', () => {
  test('is given to the new file; missing sections are inherited', async () => {
    const share = await exampleShare()
    const requested = parseDescriptorText('D:P(A;;FA;;;WD)')
    const descriptorBytes = encodeSecurityDescriptor(requested)
    const { node } = await share.open('file', { descriptorBytes })
    const stored = await share.kv.read((tx) => requirePermission(tx, SHARE_ID, node.permissionKey))
    const { dacl, owner } = decodeSecurityDescriptor(stored)
    assert.deepEqual([dacl, owner], [requested.dacl, 'S-1-5-18'])
  })

  test('is refused if it is invalid', async () => {
    const share = await exampleShare()
    const opening = share.open('file', { descriptorBytes: Buffer.from('none') })
    assert.equal(await refusalOf(opening), 'FileInvalidPermission')
  })
})

describe('a snapshot', () => {
  test('is opened by its second, for reading only', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file')
    await share.close(open)
    const { nowMs: snapshotMs, ...at } = share.moment()
    const now = { nowMs: snapshotMs, ...at }
    const { snapshot } = await share.kv.write((tx) => snapshotShare(tx, ADDRESS, undefined, now))
    await share.open('new')
    const read = { snapshotMs: snapshotMs + 999, desiredAccess: READ_ACCESS }
    const deleting = { ...read, desiredAccess: READ_ACCESS | 0x1_0000 }
    const past = await share.open('file', read)
    assert.deepEqual([past.open.snapshot, past.action], [snapshot, 'opened'])
    assert.equal(await refusalOf(share.open('file', { ...read, shareAccess: 0 })), 'done')
    const ROWS: readonly (readonly [path: string, options: OpenOptions, refusal: string])[] = [
      ['file', { snapshotMs, desiredAccess: 0x2 }, 'MEDIA_WRITE_PROTECTED'],
      ['file', { ...deleting, deleteOnClose: true }, 'MEDIA_WRITE_PROTECTED'],
      ['file', { ...read, disposition: 'overwrite' }, 'MEDIA_WRITE_PROTECTED'],
      ['new', read, 'MEDIA_WRITE_PROTECTED'],
      ['new', { ...read, disposition: 'open' }, 'ResourceNotFound'],
      ['file', { ...read, snapshotMs: snapshotMs + 5_000 }, 'ResourceNotFound'],
    ]
    for (const [path, options, refusal] of ROWS) {
      assert.equal(await refusalOf(share.open(path, options)), refusal, path)
    }
  })
})
