// CREATE: what a name is opened or created as ([MS-SMB2] 2.2.13, [MS-FSA] 2.1.5.1).
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
  type Asked,
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
    test(`${disposition}: ${present} if it is there, else ${absent}`, async () => {
      const share = await exampleShare()
      await share.open('there')
      const outcome = async (path: string) => {
        const opening = share.open(path, { disposition })
        const refusal = await refusalOf(opening)
        return refusal === 'done' ? (await opening).action : refusal
      }
      assert.equal(await outcome('there'), present)
      assert.equal(await outcome('THERE'), present, 'in any case')
      assert.equal(await outcome('not-there'), absent)
    })
  }

  test('the way to a new name must be there', async () => {
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
    test(`${path === '' ? 'the root' : `a ${path}`} taken for ${wants}, ${disposition}: ${refusal}`, async () => {
      const share = await exampleShare()
      await share.open('directory', { wants: 'directory' })
      await share.open('file')
      assert.equal(await refusalOf(share.open(path, { wants, disposition })), refusal)
    })
  }

  test('an open is shown with the name as it is written in the directory', async () => {
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
  const ROWS: readonly (readonly [before: number, asked: Asked, outcome: number | string])[] = [
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
  for (const [before, asked, outcome] of ROWS) {
    const told = `${asked.disposition} with ${asked.attributes ?? 0}`
    test(`a file of attributes ${before}: ${told}: ${outcome}`, async () => {
      const share = await exampleShare()
      await share.open('file', { attributes: before })
      const opening = share.open('file', asked)
      if (typeof outcome === 'string') assert.equal(await refusalOf(opening), outcome)
      else assert.equal((await opening).node.attributes, outcome)
    })
  }

  test('a new read-only file may be written to by who creates it', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file', { attributes: READ_ONLY })
    assert.equal(open.access, ALL_ACCESS)
  })
})

describe('who overwrites', () => {
  test('keeps what the file is known by, and its age', async () => {
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

  test('writes, also with no right to', async () => {
    const share = await exampleShare()
    const asked = { desiredAccess: READ_ACCESS, shareAccess: 1 }
    await share.open('file', asked)
    const overwriting = share.open('file', { ...asked, disposition: 'overwrite' })
    assert.equal(await refusalOf(overwriting), 'SharingViolation')
  })
})

describe('what is in the way', () => {
  test('who does not share', async () => {
    const share = await exampleShare()
    await share.open('file', { desiredAccess: READ_ACCESS, shareAccess: 1 })
    assert.equal(await refusalOf(share.open('file')), 'SharingViolation')
    const attributesOnly = share.open('file', { desiredAccess: ATTRIBUTES_ACCESS, shareAccess: 0 })
    assert.equal(await refusalOf(attributesOnly), 'done')
  })

  test('a mark for deletion, on the file or on its directory', async () => {
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

  test("REST's lease, for who writes or deletes", async () => {
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

  test('2,000 other opens', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file')
    await share.kv.write(function* (tx) {
      for (let openId = 2_001; openId < 4_000; openId += 1) putOpen(tx, { ...open, openId })
    })
    assert.equal(await refusalOf(share.open('file')), 'QUOTA_EXCEEDED')
  })

  test('another share under the same name', async () => {
    const share = await exampleShare()
    assert.equal(await refusalOf(share.open('file', { shareId: 77 })), 'ShareNotFound')
  })
})

describe('delete on close', () => {
  test('is refused for what is read-only, new or not, and for the root', async () => {
    const share = await exampleShare()
    await share.open('file', { attributes: READ_ONLY })
    const asked = { deleteOnClose: true, desiredAccess: 0x1_0000 }
    assert.equal(await refusalOf(share.open('file', asked)), 'CANNOT_DELETE')
    const creating = share.open('new', { ...asked, attributes: READ_ONLY })
    assert.equal(await refusalOf(creating), 'CANNOT_DELETE')
    assert.equal(await refusalOf(share.open('', asked)), 'CANNOT_DELETE')
    assert.equal(await refusalOf(share.open('new', { disposition: 'open' })), 'ResourceNotFound')
  })

  test('takes the file with the handle', async () => {
    const share = await exampleShare()
    const { open } = await share.open('file', { deleteOnClose: true })
    await share.close(open)
    assert.equal(await refusalOf(share.open('file', { disposition: 'open' })), 'ResourceNotFound')
  })
})

describe('a descriptor of its own', () => {
  test('is what the new file has; what it leaves out is handed down', async () => {
    const share = await exampleShare()
    const asked = parseDescriptorText('D:P(A;;FA;;;WD)')
    const descriptorBytes = encodeSecurityDescriptor(asked)
    const { node } = await share.open('file', { descriptorBytes })
    const stored = await share.kv.read((tx) => requirePermission(tx, SHARE_ID, node.permissionKey))
    const { dacl, owner } = decodeSecurityDescriptor(stored)
    assert.deepEqual([dacl, owner], [asked.dacl, 'S-1-5-18'])
  })

  test('that is none is refused', async () => {
    const share = await exampleShare()
    const opening = share.open('file', { descriptorBytes: Buffer.from('none') })
    assert.equal(await refusalOf(opening), 'FileInvalidPermission')
  })
})

describe('a snapshot', () => {
  test('is opened by its second, to read', async () => {
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
    const ROWS: readonly (readonly [path: string, asked: Asked, refusal: string])[] = [
      ['file', { snapshotMs, desiredAccess: 0x2 }, 'MEDIA_WRITE_PROTECTED'],
      ['file', { ...deleting, deleteOnClose: true }, 'MEDIA_WRITE_PROTECTED'],
      ['file', { ...read, disposition: 'overwrite' }, 'MEDIA_WRITE_PROTECTED'],
      ['new', read, 'MEDIA_WRITE_PROTECTED'],
      ['new', { ...read, disposition: 'open' }, 'ResourceNotFound'],
      ['file', { ...read, snapshotMs: snapshotMs + 5_000 }, 'ResourceNotFound'],
    ]
    for (const [path, asked, refusal] of ROWS) {
      assert.equal(await refusalOf(share.open(path, asked)), refusal, path)
    }
  })
})
