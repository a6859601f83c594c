// List Handles and Force Close Handles: the handles of SMB clients, in pages, and closing them over REST.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import type { ShareClient, ShareDirectoryClient } from '@azure/storage-file-share'
import { parseTimestamp } from '../../src/storage/shared/etag.ts'
import { lockKey } from '../../src/storage/file/keys.ts'
import {
  holdersOf,
  opensOf,
  type FileEvent,
  type FileOpen,
} from '../../src/storage/file/open/open.ts'
import { outcome, xmlText, xmlTexts, type Headers } from '../harness.ts'
import { shareClient, startFileFixture } from './fixture.ts'
import {
  ACCESS,
  cacheOpen,
  CACHES,
  lockRange,
  markForDeletion,
  openPlace,
  outcomeOf,
  placeOf,
  itemsOf,
} from './smb-client.ts'

const { server, ...fixture } = await startFileFixture({ hasSmb: false })
let share: ShareClient
let root: ShareDirectoryClient
let name: string
let count = 0

// A share with dir/sub/deep.txt, dir/a.txt and b.txt.
beforeEach(async () => {
  name = `handles-${(count += 1)}`
  share = shareClient(server, name)
  await share.create()
  root = share.rootDirectoryClient
  await share.createDirectory('dir')
  await share.createDirectory('dir/sub')
  for (const path of ['dir/sub/deep.txt', 'dir/a.txt', 'b.txt']) {
    await root.getFileClient(path).create(100)
  }
})

async function open(path: string, how: Partial<FileOpen> = {}): Promise<FileOpen> {
  return openPlace(server, await placeOf(server, name, path), how)
}

async function openAll(...paths: readonly string[]): Promise<void> {
  for (const path of paths) await open(path)
}

const ALL = ['', 'dir', 'dir/sub', 'dir/sub/deep.txt', 'dir/a.txt', 'b.txt']

type Handles = AsyncIterable<{ readonly path: string }>

async function pathsOf(handles: Handles): Promise<string[]> {
  const paths: string[] = []
  for await (const { path } of handles) paths.push(path)
  return paths.toSorted()
}

function send(method: string, path: string, headers: Headers = {}) {
  return fixture.send(method, `/${name}${path}`, headers)
}

const list = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  send('GET', path, headers)
const close = (path: string, headers: Readonly<Record<string, string>>) =>
  send('PUT', path, headers)

describe('List Handles', () => {
  test('of a file returns all properties of each handle', async () => {
    const opened = await open('dir/a.txt', {
      access: ACCESS.read | ACCESS.write | ACCESS.delete,
      clientName: 'desk-7',
      reconnectedMs: Date.UTC(2024, 3, 4, 12, 0, 0),
    })
    const place = await placeOf(server, name, 'dir/a.txt')
    const file = root.getFileClient('dir/a.txt')
    const [handle, ...more] = await itemsOf(file.listHandles())
    assert.equal(more.length, 0)
    assert.deepEqual(handle, {
      handleId: String(opened.openId),
      path: 'dir/a.txt',
      fileId: String(place.nodeId),
      parentId: String(place.parentId),
      sessionId: '513867793146318209',
      clientIp: '10.2.4.26:50352',
      clientName: 'desk-7',
      openTime: new Date('2024-04-04T11:46:24Z'),
      lastReconnectTime: new Date('2024-04-04T12:00:00Z'),
      accessRightList: ['Read', 'Write', 'Delete'],
    })
  })

  test("is XML in Azure's order", async () => {
    const { openId, nodeId } = await open('b.txt', { clientName: 'desk-7' })
    const { status, headers, text } = await list('/b.txt?comp=listhandles')
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'application/xml')
    assert.equal(
      text,
      '<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Entries><Handle>' +
        `<HandleId>${openId}</HandleId><Path>b.txt</Path><FileId>${nodeId}</FileId>` +
        '<ParentId>0</ParentId><SessionId>513867793146318209</SessionId>' +
        '<AccessRightList><AccessRight>Read</AccessRight></AccessRightList>' +
        '<ClientIp>10.2.4.26:50352</ClientIp><ClientName>desk-7</ClientName>' +
        '<OpenTime>Thu, 04 Apr 2024 11:46:24 GMT</OpenTime></Handle></Entries>' +
        '<NextMarker /></EnumerationResults>',
    )
  })

  test('has no access rights before version 2023-01-03', async () => {
    await open('b.txt')
    const { text } = await list('/b.txt?comp=listhandles', { 'x-ms-version': '2022-11-02' })
    assert.equal(xmlText(text, 'AccessRight'), undefined)
    assert.equal(xmlText(text, 'Path'), 'b.txt')
  })

  test('encodes a path that XML cannot contain', async () => {
    await root.getFileClient('b\ufffe.txt').create(1)
    await open('b\ufffe.txt')
    const { text } = await list('/b%EF%BF%BE.txt?comp=listhandles')
    assert.match(text, /<Path Encoded="true">b%EF%BF%BE\.txt<\/Path>/)
    const [handle] = await itemsOf(root.getFileClient('b\ufffe.txt').listHandles())
    assert.equal(handle?.path, 'b\ufffe.txt')
  })

  test('is empty if nothing is open', async () => {
    const { text } = await list('/b.txt?comp=listhandles')
    assert.match(text, /<EnumerationResults><Entries \/><NextMarker \/><\/EnumerationResults>$/)
  })

  for (const [directory, isRecursive, expected] of [
    ['', false, ['']],
    ['', true, ALL],
    ['dir', false, ['dir']],
    ['dir', true, ['dir', 'dir/sub', 'dir/sub/deep.txt', 'dir/a.txt']],
    ['dir/sub', true, ['dir/sub', 'dir/sub/deep.txt']],
  ] as const) {
    test(`of ${directory || 'the root'}${isRecursive ? ' and below' : ''}`, async () => {
      await openAll(...ALL)
      const client = directory === '' ? root : share.getDirectoryClient(directory)
      const found = await pathsOf(client.listHandles({ recursive: isRecursive }))
      assert.deepEqual(found, expected.toSorted())
    })
  }

  test('returns each handle once in pages', async () => {
    for (let i = 0; i < 3; i += 1) await openAll(...ALL)
    const pages = root.listHandles({ recursive: true }).byPage({ maxPageSize: 4 })
    const sizes: number[] = []
    const ids = new Set<string>()
    for await (const { handleList = [] } of pages) {
      sizes.push(handleList.length)
      for (const { handleId } of handleList) ids.add(handleId)
    }
    assert.deepEqual([sizes, ids.size], [[4, 4, 4, 4, 2], 18])
  })

  test('has no next page if the last one is exactly full', async () => {
    await openAll('b.txt', 'b.txt')
    const { text } = await list('/b.txt?comp=listhandles&maxresults=2')
    assert.equal(xmlTexts(text, 'HandleId').length, 2)
    assert.match(text, /<NextMarker \/>/)
  })

  test('separates handles of a snapshot from those of the share', async () => {
    const { snapshot = '' } = await share.createSnapshot()
    const stamp = parseTimestamp(snapshot)
    assert(stamp !== undefined)
    const present = root.getFileClient('b.txt')
    const past = share.withSnapshot(snapshot).rootDirectoryClient
    await open('b.txt')
    assert.deepEqual(await pathsOf(past.getFileClient('b.txt').listHandles()), [])
    await open('b.txt', { snapshot: stamp, path: 'seen/b.txt' })
    assert.deepEqual(await pathsOf(past.getFileClient('b.txt').listHandles()), ['seen/b.txt'])
    assert.deepEqual(await pathsOf(past.listHandles({ recursive: true })), ['seen/b.txt'])
    assert.deepEqual(await pathsOf(present.listHandles()), ['b.txt'])
    assert.equal((await present.forceCloseAllHandles()).closedHandlesCount, 1)
    assert.deepEqual(await pathsOf(past.getFileClient('b.txt').listHandles()), ['seen/b.txt'])
  })

  test('shows the new path after a rename', async () => {
    await open('dir/a.txt')
    await root.getFileClient('dir/a.txt').rename('dir/sub/a.txt')
    const found = await pathsOf(
      share.getDirectoryClient('dir/sub').listHandles({ recursive: true }),
    )
    assert.equal(found.length, 1)
  })

  for (const [path, headers, expected] of [
    ['/b.txt?comp=listhandles', { 'x-ms-recursive': 'true' }, '400 InvalidHeaderValue'],
    ['/dir?comp=listhandles', { 'x-ms-recursive': 'maybe' }, '400 InvalidHeaderValue'],
    ['/dir?comp=listhandles', { 'If-Match': '*' }, '400 ConditionHeadersNotSupported'],
    ['/dir?comp=listhandles&maxresults=0', {}, '400 OutOfRangeQueryParameterValue'],
    ['/dir?comp=listhandles&maxresults=-1', {}, '400 OutOfRangeQueryParameterValue'],
    ['/dir?comp=listhandles&maxresults=a', {}, '400 InvalidQueryParameterValue'],
    ['/dir?comp=listhandles&marker=nobody', {}, '400 InvalidQueryParameterValue'],
    ['/dir?comp=listhandles&sharesnapshot=never', {}, '400 InvalidQueryParameterValue'],
    [
      '/dir?comp=listhandles&sharesnapshot=2020-01-01T00:00:00.0000000Z',
      {},
      '404 ShareSnapshotNotFound',
    ],
    ['/none?comp=listhandles', {}, '404 ResourceNotFound'],
    ['/none/a?comp=listhandles', {}, '404 ParentNotFound'],
  ] as const) {
    // prettier-ignore
    test(`${path} ${JSON.stringify(headers)} → ${expected}`, async () => {
      assert.equal(outcome(await list(path, headers)), expected)
    })
  }
})

describe('Force Close Handles', () => {
  const remaining = () => pathsOf(root.listHandles({ recursive: true }))

  test('closes one handle by its id', async () => {
    const first = await open('b.txt')
    const second = await open('b.txt')
    const file = root.getFileClient('b.txt')
    const { closedHandlesCount, closeFailureCount } = await file.forceCloseHandle(
      String(first.openId),
    )
    assert.deepEqual([closedHandlesCount, closeFailureCount], [1, 0])
    const [left, ...more] = await itemsOf(file.listHandles())
    assert.deepEqual([left?.handleId, more.length], [String(second.openId), 0])
  })

  test('closes all handles of a file and none of another', async () => {
    await openAll(...ALL, 'b.txt')
    const closed = await root.getFileClient('b.txt').forceCloseAllHandles()
    assert.deepEqual([closed.closedHandlesCount, closed.closeFailureCount], [2, 0])
    assert.deepEqual(await remaining(), ALL.filter((path) => path !== 'b.txt').toSorted())
  })

  for (const [isRecursive, closedCount, left] of [
    [false, 1, ['', 'b.txt', 'dir/a.txt', 'dir/sub', 'dir/sub/deep.txt']],
    [true, 4, ['', 'b.txt']],
  ] as const) {
    test(`closes those of a directory${isRecursive ? ' and below' : ''}`, async () => {
      await openAll(...ALL)
      const directory = share.getDirectoryClient('dir')
      const closed = await directory.forceCloseAllHandles({ recursive: isRecursive })
      assert.equal(closed.closedHandlesCount, closedCount)
      assert.deepEqual(await remaining(), left)
    })
  }

  test('closes a handle below a directory only if it is recursive', async () => {
    const { openId } = await open('dir/a.txt')
    const headers = { 'x-ms-handle-id': String(openId) }
    const path = '/dir?comp=forceclosehandles'
    const counts = []
    for (const more of [{}, { 'x-ms-recursive': 'true' }]) {
      const response = await close(path, { ...headers, ...more })
      counts.push(response.headers['x-ms-number-of-handles-closed'])
    }
    assert.deepEqual(counts, ['0', '1'])
  })

  test('of an unknown handle closes none', async () => {
    await open('b.txt')
    for (const id of ['1', '18446744073709551615']) {
      const response = await close('/b.txt?comp=forceclosehandles', { 'x-ms-handle-id': id })
      assert.equal(response.status, 200)
      assert.equal(response.headers['x-ms-number-of-handles-closed'], '0')
      assert.equal(response.headers['x-ms-number-of-handles-failed'], '0')
      assert.equal(response.headers['x-ms-marker'], undefined)
    }
    assert.deepEqual(await remaining(), ['b.txt'])
  })

  test('continues from a marker if there are very many', async () => {
    const place = await placeOf(server, name, 'b.txt')
    for (let i = 0; i < 1_005; i += 1) await openPlace(server, place)
    const headers = { 'x-ms-handle-id': '*' }
    const first = await close('/b.txt?comp=forceclosehandles', headers)
    assert.equal(first.headers['x-ms-number-of-handles-closed'], '1000')
    const marker = String(first.headers['x-ms-marker'])
    const last = await close(`/b.txt?comp=forceclosehandles&marker=${marker}`, headers)
    assert.equal(last.headers['x-ms-number-of-handles-closed'], '5')
    assert.equal(last.headers['x-ms-marker'], undefined)
  })

  test('removes locks and leases and notifies the SMB server', async () => {
    const place = await placeOf(server, name, 'b.txt')
    const opened = await cacheOpen(server, place, CACHES.RWH, { shareAccess: 0 })
    await lockRange(server, opened, 0, 10, true)
    const events: FileEvent[] = []
    const stop = server.file.kv.listen((event) => events.push(event))
    await root.getFileClient('b.txt').forceCloseAllHandles()
    stop()
    const { shareId, nodeId } = place
    assert.deepEqual(events, [
      { kind: 'close', open: opened },
      { kind: 'released', shareId, nodeId },
    ])
    const left = await server.file.kv.read(function* (tx) {
      const lock = yield* tx.get(lockKey(shareId, nodeId, opened.openId, 0))
      return [yield* opensOf(tx, shareId, nodeId), yield* holdersOf(tx, shareId, nodeId), lock]
    })
    assert.deepEqual(left, [[], [], undefined])
    // Operations that the handle prevented are possible again.
    await root.getFileClient('b.txt').uploadRange('x', 0, 1)
  })

  test('of a file marked for deletion deletes it', async () => {
    const place = await placeOf(server, name, 'dir/a.txt')
    await openPlace(server, place)
    await markForDeletion(server, place, true)
    const file = root.getFileClient('dir/a.txt')
    assert.equal(await outcomeOf(file.getProperties()), '409 SMBDeletePending')
    assert.deepEqual(await pathsOf(file.listHandles()), ['dir/a.txt'])
    assert.equal((await file.forceCloseAllHandles()).closedHandlesCount, 1)
    assert.equal(await outcomeOf(file.getProperties()), '404 ResourceNotFound')
  })

  for (const [path, headers, expected] of [
    ['/b.txt?comp=forceclosehandles', {}, '400 MissingRequiredHeader'],
    ['/b.txt?comp=forceclosehandles', { 'x-ms-handle-id': 'all' }, '400 InvalidHeaderValue'],
    ['/b.txt?comp=forceclosehandles', { 'x-ms-handle-id': '-1' }, '400 InvalidHeaderValue'],
    [
      '/b.txt?comp=forceclosehandles',
      { 'x-ms-handle-id': '*', 'x-ms-recursive': 'true' },
      '400 InvalidHeaderValue',
    ],
    [
      '/b.txt?comp=forceclosehandles',
      { 'x-ms-handle-id': '*', 'If-None-Match': '*' },
      '400 ConditionHeadersNotSupported',
    ],
    [
      '/dir?comp=forceclosehandles&marker=x',
      { 'x-ms-handle-id': '*' },
      '400 InvalidQueryParameterValue',
    ],
    ['/none?comp=forceclosehandles', { 'x-ms-handle-id': '*' }, '404 ResourceNotFound'],
    ['/none/a?comp=forceclosehandles', { 'x-ms-handle-id': '*' }, '404 ParentNotFound'],
  ] as const) {
    // prettier-ignore
    test(`${path} ${JSON.stringify(headers)} → ${expected}`, async () => {
      assert.equal(outcome(await close(path, headers)), expected)
    })
  }
})
