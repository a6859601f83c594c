// Every kind of conflict in the journal: what refused the request, and to which request of whom it lost.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { BlobBatch } from '@azure/storage-blob'
import { namedBlobs } from './named-clients.ts'
import { etagOf, LEASE, OTHER_LEASE, ROW } from './program/requests.ts'
import { openRaceWorld, type RaceClient } from './race-client.ts'
import { xmlText } from '../harness.ts'
import { SmbClient } from '../smb/smb-client.ts'
import { ACCESS, DISPOSITION, SHARE } from '../smb/client-message.ts'

const world = await openRaceWorld()
after(() => world.close())
const { server } = world
const [a, b] = [world.client('A'), world.client('B')]

/** `A: Put Blob: ConditionNotMet by If-Match, lost to Put Blob of B`; SMB clients have no names. */
function conflictsSince(id: number): readonly string[] {
  const all = server.journal.list()
  return all
    .filter((entry) => entry.id > id && entry.isConflict)
    .map(({ client, operation, errorCode = '', refusedBy = '?', lostTo }) => {
      const winner = all.find((entry) => entry.id === lostTo)
      const name = (text: string) => (/^[AB]$/.test(text) ? text : 'SMB')
      const to =
        winner === undefined ? 'nobody' : `${winner.operation} of ${name(winner.client.name)}`
      return `${name(client.name)}: ${operation}: ${errorCode} by ${refusedBy}, lost to ${to}`
    })
}

async function conflicts(run: () => Promise<unknown>): Promise<readonly string[]> {
  const last = server.journal.list().at(-1)?.id ?? 0
  await run()
  return conflictsSince(last)
}

type Given = Readonly<Record<string, string>>
const BLOCK = { 'x-ms-blob-type': 'BlockBlob' }
const put = (client: RaceClient, path: string, headers: Given = {}) =>
  client.blob('PUT', `/box/${path}`, { ...BLOCK, ...headers }, 'text')
const acquire = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15', 'x-ms-proposed-lease-id': LEASE } // prettier-ignore
const release = { 'x-ms-lease-action': 'release', 'x-ms-lease-id': LEASE }

type Case = readonly [what: string, run: () => Promise<unknown>, conflicts: readonly string[]]

const BLOBS: readonly Case[] = [
  ['If-Match', async () => {
    const old = etagOf(await put(a, 'etag'))
    await put(b, 'etag')
    await put(a, 'etag', { 'if-match': old })
  }, ['A: Put Blob: ConditionNotMet by If-Match, lost to Put Blob of B']],
  ['If-Match on a blob that is gone', async () => {
    const old = etagOf(await put(a, 'gone'))
    await b.blob('DELETE', '/box/gone')
    await put(a, 'gone', { 'if-match': old })
  }, ['A: Put Blob: ConditionNotMet by If-Match, lost to Delete Blob of B']],
  ['If-None-Match: *', async () => {
    await put(b, 'once', { 'if-none-match': '*' })
    await put(a, 'once', { 'if-none-match': '*' })
  }, ['A: Put Blob: BlobAlreadyExists by existence, lost to Put Blob of B']],
  ['If-Unmodified-Since', async () => {
    await put(b, 'date')
    await put(a, 'date', { 'if-unmodified-since': 'Mon, 01 Jan 2001 00:00:00 GMT' })
  }, ['A: Put Blob: ConditionNotMet by If-Unmodified-Since, lost to Put Blob of B']],
  ['a write to what was deleted', async () => {
    await put(a, 'late')
    await b.blob('DELETE', '/box/late')
    await a.blob('PUT', '/box/late?comp=metadata', { 'x-ms-meta-a': '1' })
  }, ['A: Set Blob Metadata: BlobNotFound by deletion, lost to Delete Blob of B']],
  ['a lease, also after its holder has renewed it and written', async () => {
    await put(a, 'leased')
    await b.blob('PUT', '/box/leased?comp=lease', acquire)
    await b.blob('PUT', '/box/leased?comp=lease', { 'x-ms-lease-action': 'renew', 'x-ms-lease-id': LEASE })
    await put(b, 'leased', { 'x-ms-lease-id': LEASE })
    await put(a, 'leased')
    await a.blob('PUT', '/box/leased?comp=lease', { ...acquire, 'x-ms-proposed-lease-id': OTHER_LEASE })
    await put(a, 'leased', { 'x-ms-lease-id': OTHER_LEASE })
  }, [
    'A: Put Blob: LeaseIdMissing by lease, lost to Lease Blob of B',
    'A: Lease Blob: LeaseAlreadyPresent by lease, lost to Lease Blob of B',
    'A: Put Blob: LeaseIdMismatchWithBlobOperation by lease, lost to Lease Blob of B',
  ]],
  ['a lease that has expired, and that a write of another has ended', async () => {
    await put(a, 'expired')
    await a.blob('PUT', '/box/expired?comp=lease', acquire)
    server.advance(16_000)
    await put(a, 'expired', { 'x-ms-lease-id': LEASE })
    await put(b, 'expired')
    await put(a, 'expired', { 'x-ms-lease-id': LEASE })
  }, [
    'A: Put Blob: LeaseLost by lease, lost to nobody',
    'A: Put Blob: LeaseNotPresentWithBlobOperation by lease, lost to Put Blob of B',
  ]],
  ['a lease on the container', async () => {
    await b.blob('PUT', '/box?restype=container&comp=lease', acquire)
    await a.blob('DELETE', '/box?restype=container')
    await b.blob('PUT', '/box?restype=container&comp=lease', release)
  }, ['A: Delete Container: LeaseIdMissing by lease, lost to Lease Container of B']],
  ['the position of an append', async () => {
    await b.blob('PUT', '/box/log', { 'x-ms-blob-type': 'AppendBlob' })
    await b.blob('PUT', '/box/log?comp=appendblock', {}, 'text')
    await a.blob('PUT', '/box/log?comp=appendblock', { 'x-ms-blob-condition-appendpos': '0' }, 'a')
    await a.blob('PUT', '/box/log?comp=appendblock', { 'x-ms-blob-condition-maxsize': '4' }, 'a')
  }, [
    'A: Append Block: AppendPositionConditionNotMet by x-ms-blob-condition-appendpos, lost to Append Block of B',
    'A: Append Block: MaxBlobSizeConditionNotMet by x-ms-blob-condition-maxsize, lost to Append Block of B',
  ]],
  ['a sequence number', async () => {
    await a.blob('PUT', '/box/page', { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '512' })
    await b.blob('PUT', '/box/page?comp=properties', { 'x-ms-sequence-number-action': 'update', 'x-ms-blob-sequence-number': '7' })
    await a.blob('PUT', '/box/page?comp=page', { 'x-ms-page-write': 'clear', 'x-ms-range': 'bytes=0-511', 'x-ms-if-sequence-number-lt': '5' })
  }, ['A: Clear Pages: SequenceNumberConditionNotMet by x-ms-if-sequence-number-lt, lost to Set Blob Properties of B']],
  ['tags, which have no version', async () => {
    await put(a, 'tagged')
    await b.blob('PUT', '/box/tagged?comp=tags', {}, '<Tags><TagSet><Tag><Key>a</Key><Value>1</Value></Tag></TagSet></Tags>')
    await put(a, 'tagged', { 'x-ms-if-tags': `"a"='2'` })
  }, ['A: Put Blob: ConditionNotMet by x-ms-if-tags, lost to Set Blob Tags of B']],
  ['a legal hold, and an immutability policy', async () => {
    await put(a, 'held')
    await b.blob('PUT', '/box/held?comp=legalhold', { 'x-ms-legal-hold': 'true' })
    await put(a, 'held')
    await b.blob('PUT', '/box/held?comp=legalhold', { 'x-ms-legal-hold': 'false' })
    const until = new Date(server.now() + 60_000).toUTCString()
    await b.blob('PUT', '/box/held?comp=immutabilityPolicies', { 'x-ms-immutability-policy-until-date': until })
    await a.blob('DELETE', '/box/held')
  }, [
    'A: Put Blob: BlobImmutableDueToLegalHold by legal hold, lost to Set Blob Legal Hold of B',
    'A: Delete Blob: BlobImmutableDueToPolicy by immutability policy, lost to Set Blob Immutability Policy of B',
  ]],
  ['a snapshot', async () => {
    await put(a, 'kept')
    await b.blob('PUT', '/box/kept?comp=snapshot')
    await a.blob('DELETE', '/box/kept')
  }, ['A: Delete Blob: SnapshotsPresent by snapshots, lost to Snapshot Blob of B']],
  ['the source of a copy', async () => {
    const old = etagOf(await put(a, 'source'))
    await put(b, 'source')
    const from = { 'x-ms-copy-source': `${server.blobEndpoint}/box/source`, 'x-ms-source-if-match': old }
    await a.blob('PUT', '/box/copy', from)
    await a.blob('PUT', '/box/copy', { ...BLOCK, ...from })
  }, [
    'A: Copy Blob: SourceConditionNotMet by x-ms-source-if-match, lost to Put Blob of B',
    'A: Put Blob From URL: CannotVerifyCopySource by x-ms-source-if-match, lost to Put Blob of B',
  ]],
  ['a part of a batch', async () => {
    const old = etagOf(await put(a, 'part'))
    await put(b, 'part')
    const batch = new BlobBatch()
    const blob = namedBlobs(server, 'A').getContainerClient('box').getBlobClient('part')
    await batch.deleteBlob(blob, { conditions: { ifMatch: old } })
    await namedBlobs(server, 'A').getBlobBatchClient().submitBatch(batch)
  }, ['A: Delete Blob: ConditionNotMet by If-Match, lost to Put Blob of B']],
] // prettier-ignore

const message = async (client: RaceClient) => {
  const { text } = await client.queue('GET', '/jobs/messages?visibilitytimeout=5')
  const receipt = encodeURIComponent(xmlText(text, 'PopReceipt') ?? '')
  return `/jobs/messages/${xmlText(text, 'MessageId')}?popreceipt=${receipt}`
}

const QUEUES_AND_TABLES: readonly Case[] = [
  ['a receipt', async () => {
    await a.queue('POST', '/jobs/messages', '<QueueMessage><MessageText>job</MessageText></QueueMessage>')
    const late = await message(a)
    server.advance(6_000)
    const own = await message(b)
    await a.queue('DELETE', late)
    await b.queue('DELETE', own)
    await a.queue('DELETE', late)
  }, [
    'A: Delete Message: MessageNotFound by pop receipt, lost to Get Messages of B',
    'A: Delete Message: MessageNotFound by pop receipt, lost to Delete Message of B',
  ]],
  ['the ETag of an entity, and its existence', async () => {
    const { etag = '' } = await a.table.createEntity({ ...ROW, n: 1 })
    await b.table.updateEntity({ ...ROW, n: 2 })
    await assert.rejects(a.table.updateEntity({ ...ROW, n: 3 }, 'Merge', { etag }))
    await assert.rejects(a.table.createEntity({ ...ROW, n: 3 }))
    await assert.rejects(a.table.submitTransaction([['create', { ...ROW, rowKey: 'z' }], ['update', { ...ROW, n: 3 }, 'Replace', { etag }]]))
    await b.table.deleteEntity('p', 'r')
    await assert.rejects(a.table.updateEntity({ ...ROW, n: 3 }, 'Merge', { etag }))
  }, [
    'A: Merge Entity: UpdateConditionNotSatisfied by If-Match, lost to Merge Entity of B',
    'A: Insert Entity: EntityAlreadyExists by existence, lost to Merge Entity of B',
    'A: Entity Group Transaction: UpdateConditionNotSatisfied by If-Match, lost to Merge Entity of B',
    'A: Merge Entity: ResourceNotFound by deletion, lost to Delete Entity of B',
  ]],
] // prettier-ignore

const createFile = (client: RaceClient, name: string) =>
  client.file('PUT', `/share/${name}`, { 'x-ms-type': 'file', 'x-ms-content-length': '10' })
const putRange = (client: RaceClient, name: string) =>
  client.file('PUT', `/share/${name}?comp=range`, { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-0' }, 'x') // prettier-ignore

/** Two clients of the share over SMB. */
async function overSmb(run: (one: SmbClient, two: SmbClient) => Promise<unknown>): Promise<void> {
  const connect = () => SmbClient.connect({ port: server.smbPort, share: 'share' })
  const [one, two] = [await connect(), await connect()]
  try {
    await run(one, two)
  } finally {
    one.end()
    two.end()
  }
}

const OPEN = { disposition: DISPOSITION.open, access: ACCESS.all } as const

const FILES: readonly Case[] = [
  ['a lease on a file, over REST and over SMB', async () => {
    await createFile(a, 'leased')
    await b.file('PUT', '/share/leased?comp=lease', { ...acquire, 'x-ms-lease-duration': '-1' })
    await putRange(a, 'leased')
    await overSmb((one) => assert.rejects(one.open('leased', OPEN)))
  }, [
    'A: Put Range: LeaseIdMissing by lease, lost to Lease File of B',
    'SMB: CREATE: SHARING_VIOLATION by lease, lost to Lease File of B',
  ]],
  ['a share mode: that of the open which shares less', () => overSmb(async (one, two) => {
    await createFile(a, 'open')
    await one.open('open', { ...OPEN, access: ACCESS.read, share: SHARE.R })
    await two.open('open', { ...OPEN, access: ACCESS.read, share: SHARE.RWD })
    await putRange(a, 'open')
    await assert.rejects(two.open('open', OPEN))
    server.journal.list().filter(({ lostTo }) => lostTo !== undefined).slice(-2).forEach(({ lostTo }) => {
      const [first] = server.journal.list({ operation: 'CREATE', resource: '/devstoreaccount1/share/open' })
      assert.equal(lostTo, first?.id)
    })
  }), [
    'A: Put Range: SharingViolation by share mode, lost to CREATE of SMB',
    'SMB: CREATE: SHARING_VIOLATION by share mode, lost to CREATE of SMB',
  ]],
  ['a byte-range lock', () => overSmb(async (one, two) => {
    await createFile(a, 'locked')
    const [mine, other] = [await one.open('locked', { ...OPEN, share: SHARE.RWD }), await two.open('locked', { ...OPEN, share: SHARE.RWD })]
    await mine.lock(0, 5)
    await assert.rejects(other.lock(0, 5))
    await assert.rejects(other.write(0, Buffer.from('x')))
    await other.lock(8, 1) // Another range: it is in nobody's way.
    await putRange(a, 'locked')
    const [first] = server.journal.list({ operation: 'LOCK', resource: '/devstoreaccount1/share/locked' })
    assert.equal(server.journal.list({ conflicts: true }).at(-1)?.lostTo, first?.id)
  }), [
    'SMB: LOCK: LOCK_NOT_GRANTED by byte-range lock, lost to LOCK of SMB',
    'SMB: WRITE: FILE_LOCK_CONFLICT by byte-range lock, lost to LOCK of SMB',
    'A: Put Range: FileLockConflict by byte-range lock, lost to LOCK of SMB',
  ]],
  ['a file that is marked for deletion', () => overSmb(async (one, two) => {
    await createFile(a, 'marked')
    const [mine, other] = [await one.open('marked', { ...OPEN, share: SHARE.RWD }), await two.open('marked', { ...OPEN, share: SHARE.RWD })]
    await mine.setDisposition(true)
    await mine.close()
    await a.file('GET', '/share/marked')
    await assert.rejects(two.open('marked', OPEN))
    await other.close()
  }), [
    'A: Get File: SMBDeletePending by pending delete, lost to SET_INFO of SMB',
    'SMB: CREATE: DELETE_PENDING by pending delete, lost to SET_INFO of SMB',
  ]],
  ['what is in a directory, and what was created', async () => {
    await a.file('PUT', '/share/dir?restype=directory')
    await createFile(b, 'dir/file')
    await a.file('DELETE', '/share/dir?restype=directory')
    await a.file('PUT', '/share?restype=share')
    await overSmb((one) => assert.rejects(one.open('dir/file', { disposition: DISPOSITION.create })))
  }, [
    'A: Delete Directory: DirectoryNotEmpty by content, lost to Create File of B',
    'A: Create Share: ShareAlreadyExists by existence, lost to Create Share of SMB',
    'SMB: CREATE: OBJECT_NAME_COLLISION by existence, lost to Create File of B',
  ]],
] // prettier-ignore

const LAKE: readonly Case[] = [
  ['the ETag of a flush', async () => {
    const old = etagOf(await a.lake('PUT', '/lake/doc?resource=file'))
    await b.lake('PATCH', '/lake/doc?action=append&position=0&flush=true', {}, 'text')
    await a.lake('PATCH', '/lake/doc?action=append&position=0&flush=true', { 'if-match': old }, 'text')
    await a.lake('PUT', '/lake/doc?resource=file', { 'if-none-match': '*' })
  }, [
    'A: Append Data: ConditionNotMet by If-Match, lost to Append Data of B',
    'A: Create Path: PathAlreadyExists by existence, lost to Append Data of B',
  ]],
  ['a lease on a path', async () => {
    await b.lake('POST', '/lake/doc', acquire)
    await a.lake('PUT', '/lake/moved', { 'x-ms-rename-source': '/lake/doc' })
    await b.lake('POST', '/lake/doc', release)
  }, ['A: Rename Path: LeaseIdMissing by lease, lost to Lease Path of B']],
  ['a rename, of the path or of a directory above it', async () => {
    await b.lake('PUT', '/lake/moved', { 'x-ms-rename-source': '/lake/doc' })
    await a.lake('PATCH', '/lake/doc?action=append&position=4&flush=true', {}, 'text')
    await a.lake('PUT', '/lake/dir/file?resource=file')
    await b.lake('PUT', '/lake/other', { 'x-ms-rename-source': '/lake/dir' })
    await a.lake('DELETE', '/lake/dir/file')
    await a.lake('PUT', '/lake/doc', { 'x-ms-rename-source': '/lake/dir/file' })
  }, [
    'A: Append Data: PathNotFound by deletion, lost to Rename Path of B',
    'A: Delete Blob: BlobNotFound by deletion, lost to Rename Path of B',
    'A: Rename Path: SourcePathNotFound by deletion, lost to Rename Path of B',
  ]],
  ['what is in a directory, and a file in place of one', async () => {
    await b.lake('PUT', '/lake/full/file?resource=file')
    await a.lake('DELETE', '/lake/full?recursive=false')
    await a.lake('PUT', '/lake/full/file/below?resource=file')
  }, [
    'A: Delete Path: DirectoryNotEmpty by content, lost to Create Path of B',
    'A: Create Path: PathConflict by type, lost to Create Path of B',
  ]],
] // prettier-ignore

for (const [service, cases] of Object.entries({ BLOBS, QUEUES_AND_TABLES, FILES, LAKE })) {
  describe(service.toLowerCase().replaceAll('_', ' '), () => {
    for (const [what, run, expected] of cases) {
      test(what, async () => assert.deepEqual(await conflicts(run), expected))
    }
  })
}
