import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Blob, PastBlob } from '../../../storage/blob/record.ts'
import type { Container } from '../../../storage/blob/container/container.ts'
import { etagOf } from '../../../storage/shared/etag.ts'
import { blobItemXml, containerXml } from './list-xml.ts'

const NOW_MS = Date.UTC(2026, 0, 15, 12)
const DAY_MS = 24 * 60 * 60 * 1_000
const DAY_AGO = 'Wed, 14 Jan 2026 12:00:00 GMT'
const STAMP = NOW_MS * 1024
const STAMP_ID = '2026-01-15T12:00:00.0000000Z'

const BLOB: Blob = {
  type: 'BlockBlob',
  stamp: STAMP,
  createdMs: NOW_MS - DAY_MS,
  modifiedMs: NOW_MS,
  headers: {},
  metadata: [],
  lengthBytes: 5,
  inline: true,
}

const HEAD =
  `<Properties><Creation-Time>${DAY_AGO}</Creation-Time>` +
  '<Last-Modified>Thu, 15 Jan 2026 12:00:00 GMT</Last-Modified>'
const CONTENT =
  `<Etag>${etagOf(STAMP).slice(1, -1)}</Etag><Content-Length>5</Content-Length>` +
  '<Content-Type>application/octet-stream</Content-Type><Content-Encoding /><Content-Language />' +
  '<Content-CRC64 /><Content-MD5 /><Cache-Control /><Content-Disposition />'
const TIER = '<AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>'
const LEASE = '<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>'
const BLOCK = '<BlobType>BlockBlob</BlobType>'
const CLEAR = '<ServerEncrypted>false</ServerEncrypted>'
const END = '</Properties><OrMetadata /></Blob>'

function xmlOf(blob: Partial<Blob>, include: readonly string[] = []): string {
  const item = { name: 'a', blob: { ...BLOB, ...blob } }
  return blobItemXml(item, new Set(include), NOW_MS)
}

const COPY = {
  id: 'c1',
  source: 'https://a.example/b?x=1&y=2',
  status: 'failed',
  copiedBytes: 1,
  totalBytes: 5,
  completedMs: NOW_MS - DAY_MS,
  description: '500 failed',
} as const
const COPY_XML =
  '<CopyId>c1</CopyId><CopySource>https://a.example/b?x=1&amp;y=2</CopySource>' +
  '<CopyStatus>failed</CopyStatus><CopyProgress>1/5</CopyProgress>' +
  `<CopyCompletionTime>${DAY_AGO}</CopyCompletionTime>` +
  '<CopyStatusDescription>500 failed</CopyStatusDescription>'
const INCREMENTAL = { ...COPY, isIncremental: true, destinationSnapshot: STAMP } as const
const POLICY = { untilMs: NOW_MS - DAY_MS, mode: 'Locked' } as const
const POLICY_XML =
  `<ImmutabilityPolicyUntilDate>${DAY_AGO}</ImmutabilityPolicyUntilDate>` +
  '<ImmutabilityPolicyMode>locked</ImmutabilityPolicyMode>'
const SET = `<AccessTierChangeTime>${DAY_AGO}</AccessTierChangeTime>`
const ARCHIVED = { name: 'Archive', setMs: NOW_MS - DAY_MS } as const
const rehydration = (doneMs: number) => ({ to: 'Cool', priority: 'High', doneMs }) as const

// title, changes to the plain blob, include → XML after the content headers
const STATES: readonly (readonly [string, Partial<Blob>, readonly string[], string])[] = [
  ['a plain blob', {}, [], BLOCK + TIER + LEASE + CLEAR],
  ['an append blob', { type: 'AppendBlob' }, [], `<BlobType>AppendBlob</BlobType>${LEASE}${CLEAR}`],
  [
    'a sealed append blob',
    { type: 'AppendBlob', isSealed: true },
    [],
    `<BlobType>AppendBlob</BlobType>${LEASE}${CLEAR}<Sealed>true</Sealed>`,
  ],
  [
    'a page blob',
    { type: 'PageBlob', sequenceNumber: '9223372036854775807' },
    [],
    '<x-ms-blob-sequence-number>9223372036854775807</x-ms-blob-sequence-number>' +
      `<BlobType>PageBlob</BlobType>${LEASE}${CLEAR}`,
  ],
  [
    'a premium page blob',
    { type: 'PageBlob', tier: { name: 'P10', setMs: NOW_MS - DAY_MS } },
    [],
    '<x-ms-blob-sequence-number>0</x-ms-blob-sequence-number><BlobType>PageBlob</BlobType>' +
      `<AccessTier>P10</AccessTier>${SET}${LEASE}${CLEAR}`,
  ],
  [
    'a blob with a tier',
    { tier: { name: 'Cold', setMs: NOW_MS - DAY_MS } },
    [],
    `${BLOCK}<AccessTier>Cold</AccessTier>${SET}${LEASE}${CLEAR}`,
  ],
  [
    'a blob that is being rehydrated',
    { tier: { ...ARCHIVED, rehydration: rehydration(NOW_MS + 1) } },
    [],
    `${BLOCK}<AccessTier>Archive</AccessTier>` +
      '<ArchiveStatus>rehydrate-pending-to-cool</ArchiveStatus>' +
      `<RehydratePriority>High</RehydratePriority>${SET}${LEASE}${CLEAR}`,
  ],
  [
    'a rehydrated blob',
    { tier: { ...ARCHIVED, setMs: 0, rehydration: rehydration(NOW_MS - DAY_MS) } },
    [],
    `${BLOCK}<AccessTier>Cool</AccessTier>${SET}${LEASE}${CLEAR}`,
  ],
  [
    'a leased blob',
    { lease: { id: 'l', durationSeconds: 15, endsAtMs: NOW_MS + 1 } },
    [],
    `${BLOCK}${TIER}<LeaseStatus>locked</LeaseStatus><LeaseState>leased</LeaseState>` +
      `<LeaseDuration>fixed</LeaseDuration>${CLEAR}`,
  ],
  [
    'a blob whose lease has just expired',
    { lease: { id: 'l', durationSeconds: 15, endsAtMs: NOW_MS } },
    [],
    `${BLOCK}${TIER}<LeaseStatus>unlocked</LeaseStatus><LeaseState>expired</LeaseState>${CLEAR}`,
  ],
  ['a copy', { copy: COPY }, [], BLOCK + TIER + LEASE + CLEAR],
  ['a copy, included', { copy: COPY }, ['copy'], BLOCK + TIER + LEASE + COPY_XML + CLEAR],
  [
    'an old copy whose record holds the signature of its source',
    { copy: { ...COPY, source: `${COPY.source}&%73ig=secret` } },
    ['copy'],
    BLOCK + TIER + LEASE + COPY_XML + CLEAR,
  ],
  [
    'an incremental copy',
    { copy: INCREMENTAL },
    [],
    `${BLOCK}${TIER}${LEASE}<IncrementalCopy>true</IncrementalCopy>${CLEAR}`,
  ],
  [
    'an incremental copy, included',
    { copy: INCREMENTAL },
    ['copy'],
    `${BLOCK}${TIER}${LEASE}${COPY_XML}<IncrementalCopy>true</IncrementalCopy>` +
      `<CopyDestinationSnapshot>${STAMP_ID}</CopyDestinationSnapshot>${CLEAR}`,
  ],
  [
    "a customer's key",
    { encryption: { keySha256: 'k=' } },
    [],
    `${BLOCK}${TIER}${LEASE}<ServerEncrypted>true</ServerEncrypted>` +
      '<CustomerProvidedKeySha256>k=</CustomerProvidedKeySha256>',
  ],
  [
    'a blob in an encryption scope',
    { encryption: { scope: 's1' } },
    [],
    `${BLOCK}${TIER}${LEASE}<ServerEncrypted>true</ServerEncrypted><EncryptionScope>s1</EncryptionScope>`,
  ],
  [
    'a blob with tags',
    { tags: [['a', 'b']] },
    [],
    `${BLOCK}${TIER}${LEASE}${CLEAR}<TagCount>1</TagCount>`,
  ],
  [
    'a blob with an immutability policy',
    { immutability: POLICY },
    [],
    BLOCK + TIER + LEASE + CLEAR,
  ],
  [
    'a policy and a hold, both included',
    { immutability: POLICY, legalHold: true },
    ['immutabilitypolicy', 'legalhold'],
    `${BLOCK}${TIER}${LEASE}${CLEAR}${POLICY_XML}<LegalHold>true</LegalHold>`,
  ],
  [
    'a policy and a hold, only the policy included',
    { legalHold: true },
    ['immutabilitypolicy'],
    BLOCK + TIER + LEASE + CLEAR,
  ],
]

describe('an item of List Blobs', () => {
  for (const [name, blob, include, state] of STATES) {
    test(name, () => {
      const xml = xmlOf(blob, include)
      assert.equal(xml, `<Blob><Name>a</Name>${HEAD}${CONTENT}${state}${END}`)
    })
  }

  test('a blob that is listed again has the same XML, unless more is included or its name differs', () => {
    const item = { name: 'a', blob: BLOB }
    const [none, metadata] = [new Set<string>(), new Set(['metadata'])]
    const plain = blobItemXml(item, none, NOW_MS)
    const again = blobItemXml(item, none, NOW_MS + DAY_MS)
    assert.equal(again, plain)
    const other = blobItemXml({ ...item, name: 'b' }, none, NOW_MS)
    assert.equal(other, plain.replace('<Name>a<', '<Name>b<'))
    const more = blobItemXml(item, metadata, NOW_MS)
    assert.equal(more, plain.replace('<OrMetadata />', '<Metadata /><OrMetadata />'))
    const past = blobItemXml({ ...item, hasVersionsOnly: true }, none, NOW_MS)
    assert.notEqual(past, plain)
    assert.equal(blobItemXml(item, none, NOW_MS), plain)
  })

  test('has the content headers of the blob', () => {
    const headers = {
      contentType: 'text/<x>',
      contentEncoding: 'br',
      contentLanguage: 'la',
      contentMd5: 'md5==',
      cacheControl: 'no-store',
      contentDisposition: 'inline',
    }
    const xml =
      '<Content-Type>text/&lt;x&gt;</Content-Type><Content-Encoding>br</Content-Encoding>' +
      '<Content-Language>la</Content-Language><Content-CRC64 /><Content-MD5>md5==</Content-MD5>' +
      '<Cache-Control>no-store</Cache-Control><Content-Disposition>inline</Content-Disposition>'
    assert.ok(xmlOf({ headers }).includes(xml))
  })

  test('has the time of expiry and of the last access', () => {
    const xml = xmlOf({ expiresMs: NOW_MS - DAY_MS, accessedMs: NOW_MS - DAY_MS })
    assert.ok(xml.includes(`<Expiry-Time>${DAY_AGO}</Expiry-Time><Etag>`))
    assert.ok(xml.includes(`<LastAccessTime>${DAY_AGO}</LastAccessTime><BlobType>`))
  })

  // metadata and encryption → element
  const METADATA: readonly (readonly [Partial<Blob>, string])[] = [
    [{}, '<Metadata />'],
    [{ metadata: [['A', 'x&y']] }, '<Metadata><A>x&amp;y</A></Metadata>'],
    [{ metadata: [['A', 'x']], encryption: { keySha256: 'k' } }, '<Metadata Encrypted="true" />'],
    [{ encryption: { keySha256: 'k' } }, '<Metadata />'],
    [{ metadata: [['A', 'x']], encryption: { scope: 's1' } }, '<Metadata><A>x</A></Metadata>'],
  ]
  for (const [blob, xml] of METADATA) {
    test(`has ${xml} if metadata is included`, () => {
      assert.ok(xmlOf(blob, ['metadata']).endsWith(`</Properties>${xml}<OrMetadata /></Blob>`))
      assert.ok(!xmlOf(blob).includes('<Metadata'))
    })
  }

  test('has tags after the metadata, if there are any', () => {
    const tags = '<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>'
    const xml = xmlOf({ tags: [['k', 'v']] }, ['metadata', 'tags'])
    assert.ok(xml.endsWith(`<Metadata />${tags}<OrMetadata /></Blob>`))
    assert.ok(!xmlOf({}, ['tags']).includes('Tag'))
  })

  test('the current version is marked, whatever is included', () => {
    const xml = `<VersionId>${STAMP_ID}</VersionId><IsCurrentVersion>true</IsCurrentVersion>`
    assert.ok(xmlOf({ version: STAMP }).startsWith(`<Blob><Name>a</Name>${xml}<Properties>`))
  })

  test('a name with versions only is marked and has no version id', () => {
    const item = { name: 'a', blob: { ...BLOB, version: STAMP }, hasVersionsOnly: true } as const
    const xml = blobItemXml(item, new Set(), NOW_MS)
    assert.ok(xml.startsWith('<Blob><Name>a</Name><HasVersionsOnly>true</HasVersionsOnly><Prop'))
    assert.ok(xml.includes(LEASE) && !xml.includes('VersionId'))
  })

  const DELETED = { atMs: NOW_MS - DAY_MS, untilMs: NOW_MS + 6 * DAY_MS - 1 }
  const DELETED_XML = `<DeletedTime>${DAY_AGO}</DeletedTime><RemainingRetentionDays>5</RemainingRetentionDays>`
  // past state → XML between name and properties, XML at the end of the properties
  const PASTS: readonly (readonly [Pick<PastBlob, 'kind' | 'deleted'>, string, string])[] = [
    [{ kind: 'snapshot' }, `<Snapshot>${STAMP_ID}</Snapshot>`, ''],
    [{ kind: 'version' }, `<VersionId>${STAMP_ID}</VersionId>`, ''],
    [
      { kind: 'snapshot', deleted: DELETED },
      `<Snapshot>${STAMP_ID}</Snapshot><Deleted>true</Deleted>`,
      DELETED_XML,
    ],
    [
      { kind: 'version', deleted: DELETED },
      `<VersionId>${STAMP_ID}</VersionId><Deleted>true</Deleted>`,
      DELETED_XML,
    ],
    [{ kind: 'root', deleted: DELETED }, '<Deleted>true</Deleted>', DELETED_XML],
  ]
  for (const [past, id, end] of PASTS) {
    test(`a ${past.deleted === undefined ? '' : 'deleted '}${past.kind} has no lease`, () => {
      const item = { name: 'a', past: { ...BLOB, ...past, version: 1 }, stamp: STAMP }
      const xml = blobItemXml(item, new Set(), NOW_MS)
      const state = `${BLOCK}${TIER}${CLEAR}${end}`
      assert.equal(xml, `<Blob><Name>a</Name>${id}${HEAD}${CONTENT}${state}${END}`)
    })
  }

  test('an uncommitted blob has neither validators nor content headers', () => {
    const staging = {
      blockCount: 1,
      blockIdBytes: 4,
      createdMs: NOW_MS - DAY_MS,
      touchedMs: NOW_MS,
    }
    const xml = blobItemXml({ name: 'a', staging }, new Set(['metadata']), NOW_MS)
    const properties = `<Content-Length>0</Content-Length>${BLOCK}${TIER}${LEASE}${CLEAR}`
    assert.equal(xml, `<Blob><Name>a</Name><Properties>${properties}${END}`)
  })

  test('a prefix has a name and nothing else', () => {
    const xml = blobItemXml({ prefix: 'a&b/' }, new Set(['metadata']), NOW_MS)
    assert.equal(xml, '<BlobPrefix><Name>a&amp;b/</Name></BlobPrefix>')
  })
})

test('an item of List Containers has all properties in the order of the service', () => {
  const container: Container = {
    id: 255,
    stamp: STAMP,
    modifiedMs: NOW_MS - DAY_MS,
    metadata: [['A', '1']],
    publicAccess: 'blob',
    policies: [],
    lease: { id: 'l', durationSeconds: -1 },
    defaultEncryptionScope: 's1',
    denyEncryptionScopeOverride: true,
  }
  const policy =
    '<PublicAccess>blob</PublicAccess><DefaultEncryptionScope>s1</DefaultEncryptionScope>' +
    '<DenyEncryptionScopeOverride>true</DenyEncryptionScopeOverride>' +
    '<HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold>' +
    '<ImmutableStorageWithVersioningEnabled>true</ImmutableStorageWithVersioningEnabled>'
  const live = containerXml({ name: 'c', container }, new Set(['metadata']), NOW_MS)
  const lease =
    '<LeaseStatus>locked</LeaseStatus><LeaseState>leased</LeaseState>' +
    '<LeaseDuration>infinite</LeaseDuration>'
  assert.ok(live.startsWith(`<Container><Name>c</Name><Properties><Last-Modified>${DAY_AGO}<`))
  assert.ok(live.includes(lease + policy), live)
  assert.ok(live.endsWith('</Properties><Metadata><A>1</A></Metadata></Container>'))
  const deleted = { atMs: NOW_MS - DAY_MS, untilMs: NOW_MS + DAY_MS }
  const past = containerXml({ name: 'c', container, deleted }, new Set(), NOW_MS)
  const version = '<Deleted>true</Deleted><Version>00000000000000FF</Version>'
  assert.ok(past.startsWith(`<Container><Name>c</Name>${version}<Properties>`), past)
  const ended = '<LeaseStatus>unlocked</LeaseStatus><LeaseState>expired</LeaseState>'
  const days = `<DeletedTime>${DAY_AGO}</DeletedTime><RemainingRetentionDays>1</RemainingRetentionDays>`
  assert.ok(past.includes(ended + policy + days), past)
  assert.ok(past.endsWith('</RemainingRetentionDays></Properties></Container>'))
})
