// List Ranges: the written ranges of a file and the differences since a share snapshot, also if the file was renamed or
// created again; and pages.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ShareFileClient } from '@azure/storage-file-share'
import { xmlText, xmlTexts, assertRefused, type Headers } from '../harness.ts'
import { startFileFixture } from './fixture.ts'

const KIB = 1024

const box = await startFileFixture()
const { share } = box
let count = 0

async function newFile(lengthBytes: number, name = `file-${(count += 1)}`) {
  const file = share.rootDirectoryClient.getFileClient(name)
  await file.create(lengthBytes)
  return file
}

const write = (file: ShareFileClient, from: number, to: number) =>
  file.uploadRange('x'.repeat(to - from), from, to - from)

const list = (file: ShareFileClient, query = '', headers: Headers = {}) =>
  box.send('GET', `/box/${file.path}?comp=rangelist${query}`, headers)

/** The ranges in the XML: '0-9', or '!0-9' for a cleared range. */
function rangesIn(xml: string): string[] {
  const elements = xml.matchAll(/<(Range|ClearRange)><Start>(\d+)<\/Start><End>(\d+)<\/End><\/\1>/g)
  return [...elements].map(
    ([, kind, start, end]) => `${kind === 'Range' ? '' : '!'}${start}-${end}`,
  )
}

async function ranges(file: ShareFileClient, query = '', headers: Headers = {}) {
  const answer = await list(file, query, headers)
  assert.equal(answer.status, 200, answer.text)
  return rangesIn(answer.text)
}

const since = (snapshot: string) => `&prevsharesnapshot=${encodeURIComponent(snapshot)}`
const at = (snapshot: string) => `&sharesnapshot=${encodeURIComponent(snapshot)}`

test('all written ranges are listed, adjacent ones joined', async () => {
  const file = await newFile(4 * KIB)
  assert.deepEqual(await ranges(file), [])
  await write(file, 0, 5)
  await write(file, 5, 10)
  await write(file, 100, 200)
  await write(file, 2_048, 4_096)
  await file.clearRange(2_560, 512)
  assert.deepEqual(await ranges(file), ['0-9', '100-199', '2048-2559', '3072-4095'])
})

test('the response has its headers and XML', async () => {
  const file = await newFile(1_000)
  await write(file, 1, 2)
  const { headers, text } = await list(file)
  const properties = await file.getProperties()
  assert.equal(headers.etag, properties.etag)
  assert.equal(headers['last-modified'], properties.lastModified?.toUTCString())
  assert.equal(headers['x-ms-content-length'], '1000')
  assert.equal(headers['content-type'], 'application/xml')
  const element = '<Ranges><Range><Start>1</Start><End>1</End></Range></Ranges>'
  assert.equal(text, `<?xml version="1.0" encoding="utf-8"?>${element}`)
})

describe('a list of part of the file:', () => {
  // prettier-ignore
  const PARTS: readonly [headers: Headers, expected: readonly string[]][] = [
    [{ 'x-ms-range': 'bytes=0-99' },    ['0-99']],
    [{ range: 'bytes=50-150' },         ['50-99', '150-150']],
    [{ range: 'bytes=100-149' },        []],
    [{ range: 'bytes=190-' },           ['190-199']],
    [{ range: 'bytes=150-5000' },       ['150-199']],
  ]
  for (const [headers, expected] of PARTS) {
    test(JSON.stringify(headers), async () => {
      const file = await newFile(300)
      await write(file, 0, 100)
      await write(file, 150, 200)
      assert.deepEqual(await ranges(file, '', headers), expected)
    })
  }
})

describe('the difference to a snapshot', () => {
  test('consists of the ranges written and cleared since, even if their bytes are the same again', async () => {
    const file = await newFile(4 * KIB)
    await write(file, 0, 3_072)
    const first = await box.snapshotShare('box')
    assert.deepEqual(await ranges(file, since(first)), [])
    await write(file, 100, 200)
    await file.clearRange(1_024, 512)
    const second = await box.snapshotShare('box')
    await write(file, 4_000, 4_001)
    assert.deepEqual(await ranges(file, since(first)), ['0-511', '!1024-1535', '3584-4095'])
    assert.deepEqual(await ranges(file, since(second)), ['3584-4095'])
    assert.deepEqual(await ranges(file, since(first) + at(second)), ['0-511', '!1024-1535'])
    assert.deepEqual(await ranges(file, at(first)), ['0-3071'])
    const part = { range: 'bytes=150-1100' }
    assert.deepEqual(await ranges(file, since(first), part), ['150-511', '!1024-1100'])
    const diff = await file.getRangeListDiff(first)
    assert.deepEqual(diff.clearRanges, [{ start: 1_024, end: 1_535 }])
    assert.equal(diff.ranges?.length, 2)
  })

  test('is in blocks of 512 bytes, which are cleared if nothing in them was written', async () => {
    const file = await newFile(2_048)
    await write(file, 0, 5)
    const snapshot = await box.snapshotShare('box')
    await file.clearRange(0, 1_024)
    await write(file, 1_023, 1_028)
    assert.deepEqual(await ranges(file, since(snapshot)), ['!0-511', '512-1535'])
  })

  test('for a newer file is the whole file', async () => {
    const snapshot = await box.snapshotShare('box')
    const file = await newFile(10)
    await write(file, 0, 5)
    assert.deepEqual(await ranges(file, since(snapshot)), ['0-9'])
  })

  test('for a file that was created again is refused', async () => {
    const [replaced, recreated, copied] = [await newFile(10), await newFile(10), await newFile(10)]
    const snapshot = await box.snapshotShare('box')
    await replaced.create(10)
    await recreated.delete()
    await recreated.create(10)
    await copied.startCopyFromURL(replaced.url)
    for (const file of [replaced, recreated, copied]) {
      await assertRefused(list(file, since(snapshot)), 409, 'FileGenerationMismatch')
    }
  })

  test('for a renamed file is returned on request', async () => {
    const file = await newFile(10, 'before')
    await write(file, 0, 5)
    const snapshot = await box.snapshotShare('box')
    await file.rename('after')
    const renamed = share.rootDirectoryClient.getFileClient('after')
    await write(renamed, 8, 9)
    await assertRefused(list(renamed, since(snapshot)), 409, 'PreviousSnapshotNotFound')
    const supportRename = (value: string) => ({ 'x-ms-file-support-rename': value })
    const refused = list(renamed, since(snapshot), supportRename('false'))
    await assertRefused(refused, 409, 'PreviousSnapshotNotFound')
    assert.deepEqual(await ranges(renamed, since(snapshot), supportRename('true')), ['0-9'])
    // A new file has the old name, but it is not the same file.
    const other = await newFile(10, 'before')
    await assertRefused(list(other, since(snapshot)), 409, 'FileGenerationMismatch')
    await assertRefused(
      list(other, since(snapshot), supportRename('true')),
      409,
      'FileGenerationMismatch',
    )
  })

  test('for a file in a new directory is the whole file', async () => {
    const snapshot = await box.snapshotShare('box')
    const directory = share.getDirectoryClient('later')
    await directory.create()
    const { fileClient: file } = await directory.createFile('file', 10)
    await write(file, 0, 1)
    assert.deepEqual(await ranges(file, since(snapshot)), ['0-9'])
  })
})

describe('pages', () => {
  const PAGED = { 'x-ms-version': '2026-10-06' }

  test('are supported since 2026-10-06', async () => {
    const file = await newFile(10_000)
    for (let from = 0; from < 1_000; from += 100) await write(file, from, from + 10)
    const pages: string[][] = []
    let marker = ''
    do {
      const { text } = await list(file, `&maxresults=4&marker=${marker}`, PAGED)
      pages.push(rangesIn(text))
      assert.deepEqual(xmlTexts(text, 'NextMarker').length <= 1, true)
      marker = xmlText(text, 'NextMarker') ?? ''
    } while (marker !== '')
    assert.deepEqual(
      pages.map(({ length }) => length),
      [4, 4, 2],
    )
    assert.deepEqual(pages.flat(), await ranges(file))
  })

  test('of a difference have each block once', async () => {
    const file = await newFile(20 * KIB)
    const snapshot = await box.snapshotShare('box')
    for (let from = 0; from < 4 * KIB; from += 4) await write(file, from, from + 2)
    for (const block of [10, 12, 14]) await write(file, block * KIB, block * KIB + 1)
    const pages: string[][] = []
    let marker = ''
    do {
      const query = `${since(snapshot)}&maxresults=1&marker=${marker}`
      const { text } = await list(file, query, PAGED)
      pages.push(rangesIn(text))
      marker = xmlText(text, 'NextMarker') ?? ''
    } while (marker !== '')
    assert(pages.every(({ length }) => length <= 1))
    const all = pages.flat()
    assert.deepEqual(all.slice(-3), ['10240-10751', '12288-12799', '14336-14847'])
    const first = all.slice(0, -3).map((range) => range.split('-').map(Number))
    assert.equal(first[0]?.[0], 0)
    assert.equal(first.at(-1)?.[1], 4 * KIB - 1)
    for (const [at, [from]] of first.entries()) {
      if (at > 0) assert.equal(from, (first[at - 1]?.[1] ?? 0) + 1)
    }
  })

  test('are ignored in older versions', async () => {
    const file = await newFile(100)
    await write(file, 0, 1)
    await write(file, 10, 11)
    const { text } = await list(file, '&maxresults=1')
    assert.deepEqual(rangesIn(text), ['0-0', '10-10'])
    assert(!text.includes('NextMarker'))
  })

  // prettier-ignore
  const REFUSED: readonly [query: string, code: string][] = [
    ['&maxresults=0',    'OutOfRangeQueryParameterValue'],
    ['&maxresults=many', 'InvalidQueryParameterValue'],
    ['&marker=x',        'InvalidQueryParameterValue'],
  ]
  for (const [query, code] of REFUSED) {
    test(`${query} → 400 ${code}`, async () => {
      await assertRefused(list(await newFile(1), query, PAGED), 400, code)
    })
  }
})

describe('List Ranges is refused:', () => {
  const NEVER = since('2024-01-01T00:00:00.0000000Z')
  // prettier-ignore
  const REFUSED: readonly [query: string, headers: Headers, status: number, code: string][] = [
    ['',                           { range: 'bytes=100-' },                 416, 'InvalidRange'],
    ['',                           { 'x-ms-range': 'bytes=x' },             400, 'InvalidHeaderValue'],
    ['',                           { 'if-match': '*' },                     400, 'ConditionHeadersNotSupported'],
    ['',                           { 'x-ms-file-support-rename': 'true' },  400, 'InvalidHeaderValue'],
    [NEVER,                        {},                                      404, 'ShareSnapshotNotFound'],
    ['&prevsharesnapshot=never',   {},                                      400, 'InvalidQueryParameterValue'],
    ['',  { 'x-ms-lease-id': '11111111-aaaa-4aaa-8aaa-111111111111' },      412, 'LeaseNotPresentWithFileOperation'],
  ]
  for (const [query, headers, status, code] of REFUSED) {
    test(`${query} ${JSON.stringify(headers)} → ${status} ${code}`, async () => {
      await assertRefused(list(await newFile(100), query, headers), status, code)
    })
  }

  test('a previous snapshot that is newer', async () => {
    const file = await newFile(10)
    const [first, second] = [await box.snapshotShare('box'), await box.snapshotShare('box')]
    const sent = list(file, since(second) + at(first))
    await assertRefused(sent, 400, 'PreviousSnapshotCannotBeNewer')
  })

  test('a missing file or snapshot', async () => {
    const missing = share.rootDirectoryClient.getFileClient('missing')
    await assertRefused(list(missing), 404, 'ResourceNotFound')
    const path = '/none/file?comp=rangelist'
    await assertRefused(box.send('GET', path), 404, 'ShareNotFound')
  })
})
