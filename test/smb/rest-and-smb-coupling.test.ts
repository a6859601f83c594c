// State that one protocol sets and the other respects: locked byte ranges, files marked for deletion, the ReadOnly
// attribute, and all properties of a file.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { FileSystemAttributes, type ShareFileClient } from '@azure/storage-file-share'
import {
  DELETES,
  NAMES,
  newFile,
  outcomeUnhindered,
  REPLACES,
  run,
  WRITES,
  type OperationName,
} from '../file/file-operations.ts'
import { itemsOf, outcomeOf } from '../file/smb-client.ts'
import { openRestAndSmb } from './rest-and-smb.ts'
import { ACCESS, ATTRIBUTE, DISPOSITION, OPTION, SHARE } from './client-message.ts'
import { LOCK } from './client-message-info.ts'
import { noImpacket, startImpacket, type ImpacketClient } from './impacket-client.ts'
import { statusOf } from './smb-client.ts'
import type { SmbFile } from './smb-file.ts'

const world = await openRestAndSmb()
const client = await world.smb({ dialect: 0x0210 })

const isOneOf = (names: readonly OperationName[], name: OperationName) => names.includes(name)
const CONFLICT = '409 FileLockConflict'
const PENDING = '409 SMBDeletePending'
const READ_ONLY = '409 ReadOnlyAttribute'

describe('a file with a byte range locked by an SMB client', () => {
  for (const [kind, flags] of [
    ['exclusive', LOCK.exclusive],
    ['shared', LOCK.shared],
  ] as const) {
    for (const name of NAMES) {
      const isRead = name === 'Get File' && kind === 'exclusive'
      const isRefused = isOneOf([...WRITES, ...REPLACES], name) || isRead
      const free = isOneOf(DELETES, name) ? '409 SharingViolation' : outcomeUnhindered(name)
      const expected = isRefused ? CONFLICT : free
      test(`${kind}: ${name} → ${expected}`, async () => {
        const file = await newFile(world)
        const handle = await client.open(file.path)
        await handle.lock(600, 10, flags)
        assert.equal(await outcomeOf(run(name, file, world)), expected)
        await handle.close()
      })
    }
  }

  for (const [end, ends] of [
    ['it is unlocked', (handle) => handle.unlock(600, 10)],
    ['the handle is closed', (handle) => handle.close()],
  ] as readonly (readonly [string, (handle: SmbFile) => Promise<void>])[]) {
    test(`is unlocked when ${end}`, async () => {
      const file = await newFile(world)
      const handle = await client.open(file.path)
      await handle.lock(600, 10)
      assert.equal(await outcomeOf(file.uploadRange('x', 0, 1)), CONFLICT)
      await ends(handle)
      assert.equal(await outcomeOf(file.uploadRange('x', 0, 1)), 'ok')
      assert.equal(await outcomeOf(run('Get File', file, world)), 'ok')
    })
  }

  test('can be read outside of the locked range', async () => {
    const file = await newFile(world)
    const handle = await client.open(file.path)
    await handle.lock(600, 10)
    for (const [offset, count, expected] of [
      [0, 600, 'ok'],
      [0, 601, CONFLICT],
      [609, 1, CONFLICT],
      [610, 100, 'ok'],
    ] as const) {
      assert.equal(await outcomeOf(file.download(offset, count)), expected)
    }
  })
})

const names = async () => {
  const root = world.share.rootDirectoryClient
  return (await itemsOf(root.listFilesAndDirectories())).map(({ name }) => name)
}
describe('a file marked for deletion by an SMB client', () => {
  async function newPending() {
    const file = await newFile(world)
    const handle = await client.open(file.path, { access: ACCESS.delete | ACCESS.read })
    await handle.setDisposition(true)
    return { file, handle }
  }

  for (const name of NAMES) {
    test(`${name} → ${PENDING}`, async () => {
      const { file, handle } = await newPending()
      assert.equal(await outcomeOf(run(name, file, world)), PENDING)
      await handle.close()
    })
  }

  test('disappears from lists at once, and everywhere with its last handle', async () => {
    const { file, handle } = await newPending()
    assert.equal((await names()).includes(file.name), false)
    await handle.close()
    assert.equal(await outcomeOf(file.getProperties()), '404 ResourceNotFound')
    assert.equal(await outcomeOf(file.create(1)), 'ok')
  })

  test('reappears when the mark is removed', async () => {
    const { file, handle } = await newPending()
    await handle.setDisposition(false)
    assert.equal((await names()).includes(file.name), true)
    assert.equal(await outcomeOf(file.uploadRange('x', 0, 1)), 'ok')
    await handle.close()
    assert.equal(await outcomeOf(file.getProperties()), 'ok')
  })

  test('exists while another handle is open', async () => {
    const file = await newFile(world)
    const other = await client.open(file.path)
    const handle = await client.open(file.path, {
      access: ACCESS.delete,
      options: OPTION.deleteOnClose,
    })
    // FILE_DELETE_ON_CLOSE marks the file when its handle is closed, not before.
    assert.equal(await outcomeOf(file.getProperties()), 'ok')
    await handle.close()
    assert.equal(await outcomeOf(file.getProperties()), PENDING)
    assert.equal(await statusOf(client.open(file.path)), 'DELETE_PENDING')
    await other.close()
    assert.equal(await outcomeOf(file.getProperties()), '404 ResourceNotFound')
  })

  test('needs explicit DELETE access: MAXIMUM_ALLOWED is not enough', async () => {
    const file = await newFile(world)
    const options = OPTION.deleteOnClose
    const maximum = 0x0200_0000
    for (const [access, status] of [
      [maximum, 'INVALID_PARAMETER'],
      [ACCESS.read, 'INVALID_PARAMETER'],
      [maximum | ACCESS.delete, 'SUCCESS'],
    ] as const) {
      const opened = client.open(file.path, { access, options })
      assert.equal(await statusOf(opened.then((handle) => handle.close())), status)
    }
    assert.equal(await outcomeOf(file.getProperties()), '404 ResourceNotFound')
  })

  test('accepts no new entries if it is a directory', async () => {
    const directory = world.share.getDirectoryClient(world.newName())
    await directory.create()
    const terms = { access: ACCESS.delete, options: OPTION.directory }
    const handle = await client.open(directory.path, terms)
    await handle.setDisposition(true)
    assert.equal(await outcomeOf(directory.getFileClient('a').create(1)), PENDING)
    assert.equal(await outcomeOf(directory.createSubdirectory('a')), PENDING)
    const other = await newFile(world)
    assert.equal(await outcomeOf(other.rename(`${directory.path}/a`)), PENDING)
    const copy = directory.getFileClient('b').startCopyFromURL(world.sourceUrl)
    assert.equal(await outcomeOf(copy), PENDING)
    assert.equal(await outcomeOf(directory.getProperties()), PENDING)
    await handle.close()
    assert.equal(await outcomeOf(directory.getProperties()), '404 ResourceNotFound')
  })
})

describe('impacket', { skip: noImpacket ?? false }, () => {
  let impacket: ImpacketClient

  before(() => {
    impacket = startImpacket(world.server.smbPort, 'world')
  })
  after(() => impacket.end())

  test('locks a range', async () => {
    const file = await newFile(world)
    const { path } = file
    const handle = await impacket.open({ path, access: ACCESS.read, share: SHARE.RWD })
    await impacket.lock(handle, 10, 5, 'exclusive')
    assert.equal(await outcomeOf(file.uploadRange('x', 0, 1)), CONFLICT)
    assert.equal(await outcomeOf(file.download(12, 1)), CONFLICT)
    await impacket.lock(handle, 10, 5, 'unlock')
    assert.equal(await outcomeOf(file.uploadRange('x', 0, 1)), 'ok')
    assert.equal(await impacket.read(handle, 0, 1), 'x')
  })

  test('marks a file for deletion and removes the mark', async () => {
    const file = await newFile(world)
    const { path } = file
    const handle = await impacket.open({ path, access: ACCESS.delete, share: SHARE.RWD })
    await impacket.setDisposition(handle, true)
    assert.equal(await outcomeOf(file.getProperties()), PENDING)
    await impacket.setDisposition(handle, false)
    assert.equal(await outcomeOf(file.getProperties()), 'ok')
    await impacket.setDisposition(handle, true)
    await impacket.close(handle)
    assert.equal(await outcomeOf(file.getProperties()), '404 ResourceNotFound')
  })
})

describe('ReadOnly', () => {
  const changes = [...WRITES, ...REPLACES, ...DELETES]
  async function setReadOnly(file: ShareFileClient, isReadOnly: boolean) {
    const handle = await client.open(file.path, { access: ACCESS.writeAttributes })
    await handle.setBasic({ attributes: isReadOnly ? ATTRIBUTE.readOnly : ATTRIBUTE.normal })
    await handle.close()
  }

  for (const name of NAMES) {
    const expected = isOneOf(changes, name) ? READ_ONLY : outcomeUnhindered(name)
    test(`set by SMB: ${name} → ${expected}`, async () => {
      const file = await newFile(world)
      await setReadOnly(file, true)
      assert.equal(await outcomeOf(run(name, file, world)), expected)
    })
  }

  test('removed by SMB no longer applies to REST', async () => {
    const file = await newFile(world)
    await setReadOnly(file, true)
    assert.equal(await outcomeOf(file.delete()), READ_ONLY)
    await setReadOnly(file, false)
    assert.equal(await outcomeOf(file.delete()), 'ok')
  })

  for (const [what, terms, expected] of [
    ['reading', { access: ACCESS.read }, 'SUCCESS'],
    ['writing', { access: ACCESS.write }, 'ACCESS_DENIED'],
    [
      'deletion on close',
      { access: ACCESS.delete, options: OPTION.deleteOnClose },
      'CANNOT_DELETE',
    ],
    [
      'reading, overwriting it',
      { access: ACCESS.read, disposition: DISPOSITION.overwrite },
      'ACCESS_DENIED',
    ],
  ] as const) {
    test(`set by REST: an open for ${what} → ${expected}`, async () => {
      const file = await newFile(world)
      await file.setProperties({ fileAttributes: FileSystemAttributes.parse('ReadOnly|Archive') })
      assert.equal(await statusOf(client.open(file.path, terms)), expected)
    })
  }
})

describe('the properties of a file over both protocols:', () => {
  const at = Date.UTC(2021, 4, 6, 7, 8, 9)

  test('times and attributes set by SMB are shown by REST', async () => {
    const file = await newFile(world)
    const handle = await client.open(file.path, { access: ACCESS.all })
    const attributes = ATTRIBUTE.hidden | ATTRIBUTE.archive
    await handle.setBasic({ creationMs: at, lastWriteMs: at + 1_000, attributes })
    const { fileCreatedOn, fileLastWriteOn, fileAttributes } = await file.getProperties()
    assert.equal(fileCreatedOn?.getTime(), at)
    assert.equal(fileLastWriteOn?.getTime(), at + 1_000)
    assert.equal(String(fileAttributes), 'Hidden | Archive')
  })

  test('times and attributes set by REST are shown by SMB', async () => {
    const file = await newFile(world)
    await file.setProperties({ creationTime: new Date(at), lastWriteTime: new Date(at + 1_000) })
    const handle = await client.open(file.path, { access: ACCESS.readAttributes })
    const { creationMs, lastWriteMs, attributes } = await handle.basic()
    assert.deepEqual([creationMs, lastWriteMs], [at, at + 1_000])
    assert.equal(attributes, ATTRIBUTE.archive)
  })

  test('bytes and lengths are the same', async () => {
    const file = await newFile(world)
    const handle = await client.open(file.path, { access: ACCESS.all })
    await handle.write(4_000, 'from SMB')
    assert.equal((await file.getProperties()).contentLength, 4_008)
    assert.equal(String(await file.downloadToBuffer(4_000)), 'from SMB')
    await file.uploadRange('from R', 4_002, 6)
    assert.equal(String(await handle.read(4_000, 100)), 'frfrom R')
    await file.resize(4_004)
    assert.equal(await handle.lengthBytes(), 4_004)
    await handle.setLength(3)
    assert.equal((await file.getProperties()).contentLength, 3)
    assert.equal(await statusOf(handle.read(3, 1)), 'END_OF_FILE')
  })

  for (const [what, change] of [
    ['WRITE', (handle) => handle.write(0, 'x')],
    ['a new length', (handle) => handle.setLength(5)],
    ['new attributes', (handle) => handle.setBasic({ attributes: ATTRIBUTE.hidden })],
    ['a new time', (handle) => handle.setBasic({ creationMs: at })],
    ['a new descriptor', async (handle) => handle.setDescriptor(await handle.descriptor())],
  ] as readonly (readonly [string, (handle: SmbFile) => Promise<void>])[]) {
    test(`${what} by SMB changes the ETag and Last-Modified`, async () => {
      const file = await newFile(world)
      const handle = await client.open(file.path, { access: ACCESS.all })
      const before = await file.getProperties()
      world.server.advance(3_000)
      await change(handle)
      const now = await file.getProperties()
      assert.notEqual(now.etag, before.etag)
      assert.equal(Number(now.lastModified), Number(before.lastModified) + 3_000)
    })
  }

  test('the last write time is shown by REST at once', async () => {
    const file = await newFile(world)
    const handle = await client.open(file.path, { access: ACCESS.all })
    const lastWriteMs = async () => Number((await file.getProperties()).fileLastWriteOn)
    for (const offset of [0, 1, 2]) {
      world.server.advance(500)
      await handle.write(offset, 'x')
      assert.equal(await lastWriteMs(), world.server.now())
    }
    const writtenMs = world.server.now()
    world.server.advance(5_000)
    await handle.close()
    assert.equal(await lastWriteMs(), writtenMs)
  })

  test('permissions are the same', async () => {
    const file = await newFile(world)
    const other = await newFile(world)
    const sddl = 'O:SYG:SYD:(A;;FR;;;WD)(A;;FA;;;SY)'
    await file.setProperties({ filePermission: sddl })
    const handle = await client.open(file.path, { access: ACCESS.all })
    const target = await client.open(other.path, { access: ACCESS.all })
    await target.setDescriptor(await handle.descriptor())
    const { filePermissionKey = '' } = await other.getProperties()
    const { permission } = await world.share.getPermission(filePermissionKey)
    assert.equal(permission, sddl)
  })
})
