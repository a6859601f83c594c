// Get Page Ranges, of a blob and compared with an older snapshot: ranges, order, pages of the list, and invalid
// requests.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { xmlText, xmlTexts, type Headers, assertRefused } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { container, send } = await startBlobFixture({ container: 'disks' })

const PAGE = 512

/** Creates a page blob with a letter for each page; a dot is a page that was never written. */
async function disk(name: string, pages: string) {
  const blob = container.getPageBlobClient(name)
  await blob.create(pages.length * PAGE)
  await write(name, pages)
  return blob
}

/** Writes the letters, clears the dashes, skips the dots. */
async function write(name: string, pages: string) {
  const blob = container.getPageBlobClient(name)
  for (const [at, letter] of [...pages].entries()) {
    if (letter === '-') await blob.clearPages(at * PAGE, PAGE)
    else if (letter !== '.') await blob.uploadPages(letter.repeat(PAGE), at * PAGE, PAGE)
  }
}

async function snapshot(name: string): Promise<string> {
  return (await container.getPageBlobClient(name).createSnapshot()).snapshot ?? ''
}

/** The ranges in a response, in pages: 0-2 are the first three, !3-3 is a cleared one. */
function rangesOf(text: string): string[] {
  const range = /<(PageRange|ClearRange)><Start>(\d+)<\/Start><End>(\d+)<\/End><\/\1>/g
  return [...text.matchAll(range)].map(([, kind, start, end]) => {
    assert.equal(Number(start) % PAGE, 0)
    assert.equal((Number(end) + 1) % PAGE, 0)
    const mark = kind === 'ClearRange' ? '!' : ''
    return `${mark}${Number(start) / PAGE}-${(Number(end) + 1) / PAGE - 1}`
  })
}

async function list(name: string, query = '', headers: Headers = {}) {
  const answer = await send('GET', `/disks/${name}?comp=pagelist${query}`, headers)
  assert.equal(answer.status, 200, answer.text)
  return { ...answer, ranges: rangesOf(answer.text) }
}

describe('Get Page Ranges', () => {
  test('merges adjacent pages into inclusive ranges and returns the length', async () => {
    const blob = await disk('merged', 'ab.c..de')
    const { headers, text, ranges } = await list('merged')
    assert.deepEqual(ranges, ['0-1', '3-3', '6-7'])
    assert.equal(
      text,
      '<?xml version="1.0" encoding="utf-8"?><PageList>' +
        '<PageRange><Start>0</Start><End>1023</End></PageRange>' +
        '<PageRange><Start>1536</Start><End>2047</End></PageRange>' +
        '<PageRange><Start>3072</Start><End>4095</End></PageRange></PageList>',
    )
    const properties = await blob.getProperties()
    assert.equal(headers['content-type'], 'application/xml')
    assert.equal(headers['x-ms-blob-content-length'], '4096')
    assert.equal(headers.etag, properties.etag)
    assert.equal(headers['last-modified'], properties.lastModified?.toUTCString())
    const { pageRange } = await blob.getPageRanges()
    // The SDK computes the count from the inclusive end without adding one.
    assert.deepEqual(pageRange?.[1], { offset: 1536, count: 511 })
  })

  // requested range → ranges, of ab.c..de
  const RANGES: readonly (readonly [string, readonly string[]])[] = [
    ['bytes=0-511', ['0-0']],
    ['bytes=512-2047', ['1-1', '3-3']],
    ['bytes=1024-1535', []],
    ['bytes=3584-', ['7-7']],
    ['bytes=3584-99999', ['7-7']],
    ['bytes=100-600', ['0-1']],
  ]
  for (const [range, expected] of RANGES) {
    test(`in ${range} → ${expected.join(', ') || 'nothing'}`, async () => {
      await disk('part', 'ab.c..de')
      assert.deepEqual((await list('part', '', { 'x-ms-range': range })).ranges, expected)
      assert.deepEqual((await list('part', '', { Range: range })).ranges, expected)
    })
  }

  test('after the end → InvalidPageRange; of an unwritten blob → nothing', async () => {
    await disk('empty', '...')
    const sent = send('GET', '/disks/empty?comp=pagelist', { 'x-ms-range': 'bytes=1536-' })
    await assertRefused(sent, 416, 'InvalidPageRange')
    assert.deepEqual((await list('empty')).ranges, [])
    await disk('nothing', '')
    assert.deepEqual((await list('nothing', '', { Range: 'bytes=0-' })).ranges, [])
  })

  test('of a snapshot returns the pages written before it', async () => {
    const blob = await disk('past', 'a..')
    const at = await snapshot('past')
    await write('past', '-bb')
    assert.deepEqual((await list('past', `&snapshot=${at}`)).ranges, ['0-0'])
    assert.deepEqual((await list('past')).ranges, ['1-2'])
    const old = await blob.withSnapshot(at).downloadToBuffer()
    assert.equal(old.toString(), 'a'.repeat(PAGE) + '\0'.repeat(2 * PAGE))
    assert.equal((await blob.downloadToBuffer(PAGE)).toString(), 'b'.repeat(2 * PAGE))
  })

  test('is split into pages of maxresults or 10,000 since 2020-10-02', async () => {
    const blob = await disk('paged', 'a.b.c.d.e')
    const first = await list('paged', '&maxresults=2')
    assert.deepEqual(first.ranges, ['0-0', '2-2'])
    const marker = xmlText(first.text, 'NextMarker') ?? ''
    await write('paged', '-.-')
    const second = await list('paged', `&maxresults=2&marker=${marker}`)
    assert.deepEqual(second.ranges, ['4-4', '6-6'])
    const third = await list('paged', `&marker=${xmlText(second.text, 'NextMarker')}`)
    assert.deepEqual(third.ranges, ['8-8'])
    assert.match(third.text, /<NextMarker \/>/)
    const old = await list('paged', '&maxresults=1', { 'x-ms-version': '2020-08-04' })
    assert.deepEqual(old.ranges, ['4-4', '6-6', '8-8'])
    assert.doesNotMatch(old.text, /NextMarker/)
    const found: number[] = []
    const pages = blob.listPageRanges(0, 9 * PAGE).byPage({ maxPageSize: 1 })
    for await (const { pageRange } of pages) {
      assert.equal(pageRange?.length, 1)
      found.push(Number(pageRange?.[0]?.start) / PAGE)
    }
    assert.deepEqual(found, [4, 6, 8])
  })

  // prettier-ignore
  const REFUSED: readonly (readonly [string, Headers, number, string])[] = [
    ['&maxresults=0', {}, 400, 'OutOfRangeQueryParameterValue'],
    ['&maxresults=-1', {}, 400, 'OutOfRangeQueryParameterValue'],
    ['&maxresults=all', {}, 400, 'InvalidQueryParameterValue'],
    ['&marker=here', {}, 400, 'InvalidQueryParameterValue'],
    ['&snapshot=2020-01-01T00:00:00.0000000Z', {}, 404, 'BlobNotFound'],
    ['&snapshot=then', {}, 400, 'InvalidQueryParameterValue'],
    ['', { 'x-ms-version': '2009-07-17' }, 400, 'InvalidVersionForPageBlobOperation'],
    ['', { 'x-ms-range': 'bytes=-5' }, 400, 'InvalidHeaderValue'],
    ['', { 'If-Match': '"0x8D0"' }, 412, 'ConditionNotMet'],
    ['', { 'If-None-Match': '*' }, 400, 'UnsatisfiableCondition'],
    ['', { 'If-Modified-Since': 'Fri, 01 Jan 2100 00:00:00 GMT' }, 304, 'ConditionNotMet'],
    ['', { 'If-Unmodified-Since': 'Sat, 01 Jan 2000 00:00:00 GMT' }, 412, 'ConditionNotMet'],
    ['', { 'x-ms-if-tags': `"a" = 'b'` }, 412, 'ConditionNotMet'],
    ['', { 'x-ms-lease-id': '00000000-0000-4000-8000-000000000001' }, 412, 'LeaseNotPresentWithBlobOperation'],
    ['&prevsnapshot=then', {}, 400, 'InvalidQueryParameterValue'],
    ['&prevsnapshot=2020-01-01T00:00:00.0000000Z', {}, 409, 'PreviousSnapshotNotFound'],
    ['&prevsnapshot=2020-01-01T00:00:00.9999999Z', {}, 409, 'PreviousSnapshotNotFound'],
    ['', { 'x-ms-previous-snapshot-url': 'nowhere' }, 400, 'InvalidHeaderValue'],
    ['', { 'x-ms-previous-snapshot-url': 'http://127.0.0.1/devstoreaccount1/disks/other?snapshot=2020-01-01T00:00:00.0000000Z' }, 400, 'InvalidHeaderValue'],
    ['', { 'x-ms-previous-snapshot-url': 'http://127.0.0.1/devstoreaccount1/disks/refused' }, 400, 'InvalidHeaderValue'],
    ['', { 'x-ms-previous-snapshot-url': 'http://127.0.0.1/devstoreaccount1/disks/refused?snapshot=2020-01-01T00:00:00.0000000Z' }, 409, 'PreviousSnapshotNotFound'],
  ]
  for (const [query, headers, status, code] of REFUSED) {
    test(`${query}${JSON.stringify(headers)} → ${status} ${code}`, async () => {
      await disk('refused', 'a')
      await assertRefused(
        send('GET', `/disks/refused?comp=pagelist${query}`, headers),
        status,
        code,
      )
    })
  }

  test('of a missing blob → 404, of a block blob → InvalidBlobType', async () => {
    await container.uploadBlockBlob('block', 'x', 1)
    for (const query of ['', '&prevsnapshot=2020-01-01T00:00:00.0000000Z']) {
      const ask = (path: string) => send('GET', `${path}?comp=pagelist${query}`)
      await assertRefused(ask('/disks/none'), 404, 'BlobNotFound')
      await assertRefused(ask('/nodisks/none'), 404, 'ContainerNotFound')
      await assertRefused(ask('/disks/block'), 409, 'InvalidBlobType')
    }
  })
})

describe('Get Page Ranges Diff', () => {
  // before, then → differences, ordered by offset
  const DIFFS: readonly (readonly [string, string, readonly string[]])[] = [
    ['abcd', '....', []],
    ['abcd', '.x..', ['1-1']],
    ['abcd', '.b..', ['1-1']], // The same bytes, written again.
    ['abcd', '..--', ['!2-3']],
    ['a.c.', '-xx-', ['!0-0', '1-2']],
    ['....', '.--.', []],
    ['abcdef', 'x-x-x-', ['0-0', '!1-1', '2-2', '!3-3', '4-4', '!5-5']],
  ]
  for (const [before, change, expected] of DIFFS) {
    test(`${before} and then ${change} → ${expected.join(', ') || 'nothing'}`, async () => {
      const blob = await disk('diff', before)
      const first = await snapshot('diff')
      await write('diff', change)
      const { headers, ranges } = await list('diff', `&prevsnapshot=${first}`)
      assert.deepEqual(ranges, expected)
      assert.equal(headers['x-ms-blob-content-length'], String(before.length * PAGE))
      const second = await snapshot('diff')
      await write('diff', 'z'.repeat(before.length))
      const between = await list('diff', `&snapshot=${second}&prevsnapshot=${first}`)
      assert.deepEqual(between.ranges, expected)
      const sdk = await blob.withSnapshot(second).getPageRangesDiff(0, blobBytes(before), first)
      const cleared = expected.filter((range) => range.startsWith('!')).length
      assert.equal(sdk.clearRange?.length ?? 0, cleared)
      assert.equal(sdk.pageRange?.length ?? 0, expected.length - cleared)
    })
  }
  const blobBytes = (pages: string) => pages.length * PAGE

  test('returns pages that were written and then cleared as cleared', async () => {
    await disk('passing', 'a.......')
    await write('passing', '..y')
    await write('passing', '..-')
    const first = await snapshot('passing')
    await write('passing', '.xx.x')
    await write('passing', '.--.-')
    const diff = async (query: string) => (await list('passing', `&prevsnapshot=${query}`)).ranges
    assert.deepEqual(await diff(first), ['!1-2', '!4-4'])
    const second = await snapshot('passing')
    await write('passing', '.z')
    assert.deepEqual(await diff(first), ['1-1', '!2-2', '!4-4'])
    assert.deepEqual(await diff(second), ['1-1'])
    assert.deepEqual(await diff(`${first}&snapshot=${second}`), ['!1-2', '!4-4'])
    assert.deepEqual((await list('passing')).ranges, ['0-1'])
  })

  test('does so for any number of pages', async () => {
    const many = 'x.'.repeat(100)
    await disk('many', '.'.repeat(200))
    const first = await snapshot('many')
    await write('many', many)
    await write('many', many.replaceAll('x', '-'))
    const { ranges } = await list('many', `&prevsnapshot=${first}`)
    assert.ok(ranges.length > 0 && ranges.length <= 64, String(ranges.length))
    // Every cleared page is in one of the ranges.
    const cleared = ranges.flatMap((range) => {
      const [, from, to] = /^!(\d+)-(\d+)$/.exec(range) ?? []
      return Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => Number(from) + i)
    })
    for (let page = 0; page < 200; page += 2) assert.ok(cleared.includes(page), String(page))
  })

  test('accepts a range, pages, and a snapshot URL', async () => {
    await disk('url', 'abcdef')
    const first = await snapshot('url')
    await write('url', 'x-x-x-')
    const part = { 'x-ms-range': 'bytes=512-1535' }
    assert.deepEqual((await list('url', `&prevsnapshot=${first}`, part)).ranges, ['!1-1', '2-2'])
    const url = `http://localhost/devstoreaccount1/disks/url?snapshot=${first}`
    const headers = { 'x-ms-previous-snapshot-url': url }
    const found: string[] = []
    let marker: string | undefined = ''
    do {
      const { text, ranges } = await list('url', `&maxresults=4&marker=${marker}`, headers)
      assert.ok(ranges.length <= 4)
      found.push(...ranges)
      marker = xmlTexts(text, 'NextMarker')[0]
    } while (marker !== undefined)
    assert.deepEqual(found, ['0-0', '!1-1', '2-2', '!3-3', '4-4', '!5-5'])
  })

  test('handles a newer snapshot, a deleted one, and a blob that was created again', async () => {
    const blob = await disk('anew', 'ab')
    const first = await snapshot('anew')
    const second = await snapshot('anew')
    const ask = (query: string) => send('GET', `/disks/anew?comp=pagelist${query}`)
    const newer = ask(`&snapshot=${first}&prevsnapshot=${second}`)
    await assertRefused(newer, 400, 'PreviousSnapshotCannotBeNewer')
    assert.deepEqual((await list('anew', `&snapshot=${first}&prevsnapshot=${first}`)).ranges, [])
    await blob.setMetadata({ a: '1' })
    await blob.resize(4 * PAGE)
    assert.deepEqual((await list('anew', `&prevsnapshot=${first}`)).ranges, [])
    await blob.create(2 * PAGE)
    await assertRefused(ask(`&prevsnapshot=${first}`), 409, 'BlobOverwritten')
    assert.deepEqual((await list('anew', `&snapshot=${second}&prevsnapshot=${first}`)).ranges, [])
    await blob.withSnapshot(first).delete()
    await assertRefused(ask(`&prevsnapshot=${first}`), 409, 'PreviousSnapshotNotFound')
  })
})
