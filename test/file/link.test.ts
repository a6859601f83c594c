// NFS shares: owner, group and mode, hard links and symbolic links, all of which SMB shares do not have.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startFileFixture } from './fixture.ts'
import { assertRefused } from '../harness.ts'
import { outcomeOf } from './smb-client.ts'

const box = await startFileFixture({ share: 'smb' })
await box.createShare('nfs', { 'x-ms-enabled-protocols': 'NFS', 'x-ms-access-tier': 'Premium' })
const share = box.service.getShareClient('nfs')

const FILE = { 'x-ms-type': 'file', 'x-ms-content-length': '5' }
const A = '11111111-aaaa-4aaa-8aaa-111111111111'
const client = (name: string) => share.rootDirectoryClient.getFileClient(name)
const posix = ({ headers }: { headers: Readonly<Record<string, unknown>> }) =>
  ['x-ms-owner', 'x-ms-group', 'x-ms-mode', 'x-ms-file-file-type'].map((name) => headers[name])

describe('owner, group and mode', () => {
  test('have defaults', async () => {
    assert.deepEqual(posix(await box.send('PUT', '/nfs/plain', FILE)), [
      '0',
      '0',
      '0664',
      'Regular',
    ])
    const directory = await box.send('PUT', '/nfs/directory?restype=directory')
    assert.deepEqual(posix(directory), ['0', '0', '0755', 'Directory'])
  })
  test('are set with the file and changed separately', async () => {
    const headers = { ...FILE, 'x-ms-owner': '345', 'x-ms-group': '123', 'x-ms-mode': '7777' }
    assert.deepEqual(posix(await box.send('PUT', '/nfs/own', headers)), [
      '345',
      '123',
      '7777',
      'Regular',
    ])
    const change = await box.send('PUT', '/nfs/own?comp=properties', { 'x-ms-mode': 'rw-r-----' })
    assert.deepEqual(posix(change), ['345', '123', '0640', 'Regular'])
    const kept = await box.send('PUT', '/nfs/own?comp=properties')
    assert.deepEqual(posix(kept), ['345', '123', '0640', 'Regular'])
  })
  test('are set by the SDK', async () => {
    await client('sdk').create(1, { posixProperties: { owner: '7', group: '8' } })
    const { posixProperties } = await client('sdk').getProperties()
    assert.deepEqual(
      [posixProperties?.owner, posixProperties?.group, posixProperties?.linkCount],
      ['7', '8', 1],
    )
  })
  for (const [name, value] of [
    ['owner', 'root'],
    ['group', '-1'],
    ['mode', '9999'],
    ['mode', 'rwx'],
  ]) {
    test(`x-ms-${name}: ${value} → 400 InvalidHeaderValue`, () =>
      assertRefused(
        box.send('PUT', '/nfs/never', { ...FILE, [`x-ms-${name}`]: value ?? '' }),
        400,
        'InvalidHeaderValue',
      ))
  }
})

describe('hard links', () => {
  test('are names of one file, which exists until the last one is deleted', async () => {
    await share.createDirectory('deep')
    await client('first').create(5)
    const usage = (await share.getStatistics()).shareUsageBytes
    const created = await client('deep/second').createHardLink('/first')
    const { fileId } = await client('first').getProperties()
    assert.deepEqual([created.fileId, created.posixProperties?.linkCount], [fileId, 2])
    assert.equal((await share.getStatistics()).shareUsageBytes, usage)
    await client('first').setMetadata({ a: '1' })
    assert.deepEqual((await client('deep/second').getProperties()).metadata, { a: '1' })
    const deleted = await box.send('DELETE', '/nfs/first')
    assert.deepEqual([deleted.status, deleted.headers['x-ms-link-count']], [202, '1'])
    assert.equal((await client('deep/second').getProperties()).fileId, fileId)
    const last = await box.send('DELETE', '/nfs/deep/second')
    assert.equal(last.headers['x-ms-link-count'], '0')
    assert.equal((await share.getStatistics()).shareUsageBytes, (usage ?? 0) - 5)
  })

  test('are kept when one is renamed', async () => {
    await client('one').create(1)
    await client('two').createHardLink('one')
    await client('one').rename('uno')
    const [uno, two] = await Promise.all([
      client('uno').getProperties(),
      client('two').getProperties(),
    ])
    assert.equal(uno.fileId, two.fileId)
  })

  test('are refused in other cases', async () => {
    await client('target').create(1)
    await share.createDirectory('no-target')
    const link = (name: string, target: string, headers = {}) =>
      box.send('PUT', `/nfs/${name}?restype=hardlink`, {
        'x-ms-type': 'file',
        'x-ms-file-target-file': target,
        ...headers,
      })
    await assertRefused(link('target', 'target'), 409, 'ResourceAlreadyExists')
    await assertRefused(link('new', 'none'), 404, 'ResourceNotFound')
    await assertRefused(link('none/new', 'target'), 404, 'ParentNotFound')
    await assertRefused(link('new', 'no-target'), 409, 'ResourceTypeMismatch')
    await assertRefused(link('new', ''), 400, 'MissingRequiredHeader')
    await client('target').getShareLeaseClient(A).acquireLease(-1)
    await assertRefused(link('new', 'target'), 412, 'LeaseIdMissing')
    assert.equal((await link('new', 'target', { 'x-ms-lease-id': A })).status, 201)
  })

  test('are limited to 178 per file', async () => {
    await client('many').create(0)
    for (let at = 2; at <= 178; at += 1) await client(`many-${at}`).createHardLink('many')
    assert.equal(await outcomeOf(client('many-179').createHardLink('many')), '400 OutOfRangeInput')
  })
})

describe('symbolic links', () => {
  test('have a text, which is returned as sent', async () => {
    const text = '../somewhere/ä%20file'
    const created = await client('link').createSymbolicLink(encodeURI(text), {
      metadata: { a: '1' },
      owner: '5',
    })
    assert.equal(created.posixProperties?.fileType, 'SymLink')
    assert.equal((await client('link').getSymbolicLink()).linkText, encodeURI(text))
    const returned = await client('link').getProperties()
    assert.deepEqual([returned.metadata, returned.posixProperties?.owner], [{ a: '1' }, '5'])
    await client('link').delete()
    assert.equal(await client('link').exists(), false)
  })
  test('are refused in other cases', async () => {
    await client('taken').create(0)
    assert.equal(
      await outcomeOf(client('taken').createSymbolicLink('x')),
      '409 ResourceAlreadyExists',
    )
    assert.equal(await outcomeOf(client('taken').getSymbolicLink()), '409 ResourceTypeMismatch')
    assert.equal(await outcomeOf(client('none').getSymbolicLink()), '404 ResourceNotFound')
    await assertRefused(
      box.send('PUT', '/nfs/x?restype=symboliclink'),
      400,
      'MissingRequiredHeader',
    )
  })
})

test('an SMB share has neither', async () => {
  await box.send('PUT', '/smb/file', FILE)
  const target = { 'x-ms-type': 'file', 'x-ms-file-target-file': 'file' }
  await assertRefused(box.send('PUT', '/smb/link?restype=hardlink', target), 400, 'InvalidInput')
  const text = { 'x-ms-link-text': 'file' }
  await assertRefused(box.send('PUT', '/smb/link?restype=symboliclink', text), 400, 'InvalidInput')
  await assertRefused(box.send('GET', '/smb/file?restype=symboliclink'), 400, 'InvalidInput')
  await assertRefused(
    box.send('PUT', '/smb/file?comp=properties', { 'x-ms-owner': '1' }),
    400,
    'UnsupportedHeader',
  )
  const deleted = await box.send('DELETE', '/smb/file')
  assert.equal(deleted.headers['x-ms-link-count'], undefined)
})
