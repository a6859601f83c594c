import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HEADER_ROWS, type HeaderRow } from './header-table.ts'
import { answerAt, droppedByVersion, droppedHeaders, itemAt } from './header-versions.ts'
import { allowDerived } from '../../kv/derived.ts'
import { knownVersion, KNOWN_VERSIONS } from './version.ts'

const ROWS: readonly HeaderRow[] = [
  { headers: ['x-new', 'x-newer'], on: ['Get Blob'], since: '2020-02-10' },
  { headers: ['x-old'], until: '2019-12-12' },
]

test('a header is sent from its first version until the version that drops it', () => {
  const dropped = (operation: string, version: string) =>
    [...(droppedByVersion(ROWS, operation).get(version) ?? [])].join(' ')
  assert.equal(dropped('Get Blob', '2019-10-10'), 'x-new x-newer')
  assert.equal(dropped('Get Blob', '2019-12-12'), 'x-new x-newer x-old')
  assert.equal(dropped('Get Blob', '2020-02-10'), 'x-old')
  assert.equal(dropped('Put Blob', '2019-10-10'), '')
  assert.equal(dropped('Put Blob', '2026-10-06'), 'x-old')
})

test('versions that drop the same headers share one set', () => {
  const byVersion = droppedByVersion(ROWS, 'Get Blob')
  assert.equal(byVersion.get('2020-04-08'), byVersion.get('2026-10-06'))
})

test('an unknown version gets the headers of the newest known version before it', () => {
  assert.equal(knownVersion('2026-10-05'), '2026-06-06')
  assert.equal(knownVersion('2099-01-01'), [...KNOWN_VERSIONS].at(-1))
  assert.equal(knownVersion('2001-01-01'), '2009-04-14')
})

test('a cached header list is filtered once', () => {
  const headers = ['x-ms-access-tier', 'Hot', 'x-a', '1']
  allowDerived(headers)
  const answer = answerAt({ status: 200, headers }, 'Get Blob', '2026-06-06')
  assert.deepEqual(answer.headers, ['x-a', '1'])
  const again = answerAt({ status: 200, headers }, 'Get Blob', '2026-04-06')
  assert.equal(again.headers, answer.headers)
  assert.equal(answerAt(answer, 'Get Blob', '2026-10-06'), answer)
})

test('a list item loses elements, but no metadata of the same name', () => {
  const metadata = '<Metadata><OrMetadata>x</OrMetadata><Metadata>y</Metadata></Metadata>'
  const xml = `<Blob><Content-CRC64 /><TagCount>1</TagCount><Etag>1</Etag>${metadata}<OrMetadata /></Blob>`
  const dropped = droppedHeaders('List Blobs', '2018-03-28')
  assert.equal(itemAt(xml, dropped), `<Blob><Etag>1</Etag>${metadata}</Blob>`)
  assert.equal(itemAt('<Blob><OrMetadata /></Blob>', dropped), '<Blob></Blob>')
  assert.equal(itemAt(xml, droppedHeaders('List Blobs', '2026-10-06')), xml)
})

test('every row names known versions, and since comes before until', () => {
  for (const { headers, since = '', until = '9' } of HEADER_ROWS) {
    assert(since < until, headers.join())
    for (const version of [since, until]) {
      assert(version.length < 10 || KNOWN_VERSIONS.has(version), `${headers.join()}: ${version}`)
    }
  }
})
