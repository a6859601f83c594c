// List Blobs as Apache Arrow: clients that accept it get it, the newest SDK reads the same from Arrow and from XML for
// every kind of blob, and Arrow's own reader reads the stream.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { StorageResponseFormat } from '@azure/storage-blob'
import { tableFromIPC, type Table } from 'apache-arrow'
import { xmlText } from '../harness.ts'
import { CONTAINER, EVERYTHING, startWithEveryBlob, type ListOptions } from './every-blob.ts'

const { server, container } = await startWithEveryBlob()

const ARROW = 'application/vnd.apache.arrow.stream'
const VERSION = { 'x-ms-version': '2026-10-06' }
const LIST = `/${CONTAINER}?restype=container&comp=list`

const ask = (query: string, headers: Readonly<Record<string, string>> = {}) =>
  server.send({ method: 'GET', path: LIST + query, headers: { ...VERSION, ...headers } })

async function askArrow(query: string): Promise<Table> {
  const answer = await ask(query, { accept: `${ARROW},application/xml` })
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers['content-type'], ARROW)
  return tableFromIPC(answer.body)
}

/** The items of all pages; asserts that each page has the requested format. */
async function itemsOf(format: StorageResponseFormat, options: ListOptions, maxPageSize: number) {
  const items: unknown[] = []
  const pages = container
    .listBlobsFlat({ ...options, responseFormat: format })
    .byPage({ maxPageSize })
  for await (const page of pages) {
    const expected = format === StorageResponseFormat.Arrow ? ARROW : 'application/xml'
    assert.equal(page.contentType, expected)
    items.push(...page.segment.blobItems)
  }
  return items.map(known)
}

/**
 * Removes the values that only one of the formats can express: XML has empty elements where Arrow has nulls, and the
 * SDK has different defaults for them.
 */
function known(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map(known)
  const entries = Object.entries(value).map(([name, inner]) => {
    return [SDK_NAMES[name] ?? name, known(inner)] as const
  })
  return Object.fromEntries(entries.filter(([name, inner]) => !isDefault(name, inner)))
}

function isDefault(name: string, value: unknown): boolean {
  if (value === undefined || value === '' || NOT_COMPARED.has(name)) return true
  if (name === 'deleted') return value === false
  if (name === 'lastModified') return value instanceof Date && value.getTime() === 0
  return ['metadata', 'objectReplicationMetadata'].includes(name) && isEmpty(value)
}

const isEmpty = (value: unknown) => JSON.stringify(value) === '{}'

/** The SDK expects another name for this element of the service's XML and passes it on unchanged. */
const SDK_NAMES: Readonly<Record<string, string>> = {
  CopyDestinationSnapshot: 'destinationSnapshot',
}
/** `$` holds the attributes of Metadata; the SDK does not read Arrow's column for them. */
const NOT_COMPARED = new Set(['$', 'objectReplicationSourceProperties'])

describe('the SDK reads the same from Arrow and from XML', () => {
  const LISTS: Readonly<Record<string, ListOptions>> = {
    'the default': {},
    everything: EVERYTHING,
    metadata: { includeMetadata: true },
    tags: { includeTags: true },
    copies: { includeCopy: true },
    snapshots: { includeSnapshots: true },
    versions: { includeVersions: true },
    'deleted blobs': { includeDeleted: true },
    'blobs with only versions': { includeDeletedWithVersions: true },
    'uncommitted blobs': { includeUncommitedBlobs: true },
    'policies and holds': { includeImmutabilityPolicy: true, includeLegalHold: true },
    'a prefix and a start': { prefix: 'state/', startFrom: 'state/l' },
    nothing: { prefix: 'nothing' },
  }
  for (const [name, options] of Object.entries(LISTS)) {
    for (const size of [5_000, 3]) {
      test(`${name}, ${size} at a time`, async () => {
        const xml = await itemsOf(StorageResponseFormat.Xml, options, size)
        const arrow = await itemsOf(StorageResponseFormat.Arrow, options, size)
        assert.deepEqual(arrow, xml)
        assert.equal(arrow.length > 0, name !== 'nothing')
      })
    }
  }

  for (const prefix of ['', 'types/', 'nothing']) {
    test(`by hierarchy, below "${prefix}"`, async () => {
      const seen: unknown[] = []
      for (const responseFormat of [StorageResponseFormat.Xml, StorageResponseFormat.Arrow]) {
        const items: unknown[] = []
        const options = { prefix, responseFormat, includeMetadata: true }
        for await (const item of container.listBlobsByHierarchy('/', options)) {
          items.push(known(item))
        }
        seen.push(items)
      }
      assert.deepEqual(seen[1], seen[0])
    })
  }
})

describe('the stream', () => {
  const includes = Object.keys(EVERYTHING).map((name) => name.slice('include'.length).toLowerCase())
  const ALL = `&include=${includes.join(',').replace('uncommited', 'uncommitted')}`

  test('has the columns that the SDKs read, with their types', async () => {
    const table = await askArrow(ALL)
    const types = table.schema.fields.map(({ name, type, nullable }) => {
      assert.ok(nullable, name)
      return [name, String(type)] as const
    })
    assert.deepEqual(Object.fromEntries(types), TYPES)
  })

  test('has every value of the XML', async () => {
    const table = await askArrow(`${ALL}&prefix=types/page`)
    const { text } = await ask(`${ALL}&prefix=types/page`)
    assert.equal(table.getChild('x-ms-blob-sequence-number')?.get(0), 7n)
    assert.equal(table.getChild('Etag')?.get(0), xmlText(text, 'Etag'))
    const modified = Number(table.getChild('Last-Modified')?.get(0))
    assert.equal(new Date(modified).toUTCString(), xmlText(text, 'Last-Modified'))
  })

  test('marks the metadata of a blob with a customer-provided key as encrypted', async () => {
    const table = await askArrow('&include=metadata&prefix=state/customer-key')
    assert.equal(table.getChild('Encrypted')?.get(0), true)
    assert.equal(table.getChild('Metadata'), null)
  })

  test('has prefixes as rows with only a name and a type', async () => {
    const table = await askArrow('&delimiter=/')
    const rows = table.toArray().map((row) => row.toJSON())
    const prefixes = rows.filter((row) => row['ResourceType'] === 'blobprefix')
    assert.deepEqual(prefixes.map((row) => row['Name']), ['past/', 'state/', 'types/', '日本/']) // prettier-ignore
    for (const row of prefixes) {
      const values = Object.entries(row).filter(([, value]) => value !== null)
      assert.equal(values.length, 2)
    }
  })

  test('has the number of rows and the next marker in its schema', async () => {
    const first = (await askArrow('&maxresults=2')).schema.metadata
    assert.equal(first.get('NumberOfRecords'), '2')
    const marker = first.get('NextMarker') ?? ''
    assert.equal(marker, xmlText((await ask('&maxresults=2')).text, 'NextMarker'))
    const rest = (await askArrow(`&marker=${marker}`)).schema.metadata
    assert.equal(rest.get('NextMarker'), undefined)
    const none = await askArrow('&prefix=nothing')
    assert.deepEqual([none.numRows, none.schema.fields.map(({ name }) => name)], [0, ['Name']])
  })

  test('starts at startFrom and ends before endBefore', async () => {
    const names = async (query: string) => {
      const column = (await askArrow(query)).getChild('Name')
      return column === null ? [] : [...column]
    }
    const between = await names('&startFrom=state/tier-Cold&endBefore=state/tier-Smart')
    assert.deepEqual(between, ['state/tier-Cold', 'state/tier-Cool', 'state/tier-Hot'])
    assert.deepEqual(await names('&startFrom=p&endBefore=t&delimiter=/'), ['past/', 'state/'])
    // Longer than any name.
    const long = 'x'.repeat(5_000)
    assert.deepEqual(await names(`&prefix=types/a&endBefore=${long}`), ['types/append'])
  })
})

describe('a list is in Arrow', () => {
  const ACCEPTS = [
    [ARROW, true],
    [`application/xml, ${ARROW}`, true],
    [`${ARROW.toUpperCase()};q=0.9`, true],
    ['application/xml', false],
    ['*/*', false],
    ['', false],
  ] as const
  for (const [accept, isArrow] of ACCEPTS) {
    test(`with Accept: ${accept} → ${isArrow}`, async () => {
      const { headers } = await ask('', accept === '' ? {} : { accept })
      assert.equal(headers['content-type'], isArrow ? ARROW : 'application/xml')
    })
  }

  test('not before 2026-10-06', async () => {
    const { headers } = await ask('', { accept: ARROW, 'x-ms-version': '2026-06-06' })
    assert.equal(headers['content-type'], 'application/xml')
  })

  test('if it has endBefore, which is otherwise refused with 400 UnsupportedQueryParameter', async () => {
    for (const headers of [{}, { accept: ARROW, 'x-ms-version': '2026-06-06' }]) {
      const { status, text } = await ask('&endBefore=x', headers)
      assert.deepEqual([status, xmlText(text, 'Code')], [400, 'UnsupportedQueryParameter'])
    }
    assert.equal((await ask('&endBefore=')).status, 200)
  })

  test('unless it is an error, which is XML', async () => {
    const { status, headers, text } = await ask('&maxresults=0', { accept: ARROW })
    assert.deepEqual([status, headers['content-type']], [400, 'application/xml'])
    assert.equal(xmlText(text, 'Code'), 'OutOfRangeQueryParameterValue')
  })
})

const TIME = 'Timestamp<SECOND, UTC>'
const MAP = 'Map<{key:Utf8, value:Utf8}>'
const TYPES = {
  Name: 'Utf8', Deleted: 'Bool', Snapshot: 'Utf8', VersionId: 'Utf8', IsCurrentVersion: 'Bool',
  HasVersionsOnly: 'Bool', Metadata: MAP, Encrypted: 'Bool', Tags: MAP, 'Creation-Time': TIME,
  'Last-Modified': TIME, Etag: 'Utf8', 'Content-Length': 'Uint64', 'Content-Type': 'Utf8',
  'Content-Encoding': 'Utf8', 'Content-Language': 'Utf8', 'Content-MD5': 'Utf8',
  'Content-Disposition': 'Utf8', 'Cache-Control': 'Utf8', 'x-ms-blob-sequence-number': 'Uint64',
  BlobType: 'Utf8', AccessTier: 'Utf8', AccessTierInferred: 'Bool', AccessTierChangeTime: TIME,
  SmartAccessTier: 'Utf8', ArchiveStatus: 'Utf8', RehydratePriority: 'Utf8', LeaseStatus: 'Utf8',
  LeaseState: 'Utf8', LeaseDuration: 'Utf8', CopyId: 'Utf8', CopySource: 'Utf8', CopyStatus: 'Utf8',
  CopyProgress: 'Utf8', CopyCompletionTime: TIME, IncrementalCopy: 'Bool',
  CopyDestinationSnapshot: 'Utf8', ServerEncrypted: 'Bool', CustomerProvidedKeySha256: 'Utf8',
  EncryptionScope: 'Utf8', DeletedTime: TIME, RemainingRetentionDays: 'Uint64', TagCount: 'Uint64',
  'Expiry-Time': TIME, Sealed: 'Bool', LastAccessTime: TIME, ImmutabilityPolicyUntilDate: TIME,
  ImmutabilityPolicyMode: 'Utf8', LegalHold: 'Bool',
} // prettier-ignore
