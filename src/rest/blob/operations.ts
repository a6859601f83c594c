// The Blob service's API as a table. What is not here does not exist.
import type { Permission } from '../../auth/permission.ts'
import { BLOCK_LIST_BYTES_MAX } from './content/block-list-xml.ts'
import {
  tableOf,
  type Answer,
  type Operation,
  type OperationTable,
  type Request,
} from '../../http/door/operation.ts'
import { structuredBodyLength } from '../../http/protocol/structured-body.ts'
import { ACL_BYTES_MAX } from '../shared/access-policy-xml.ts'
import { runGetAccountInformation, serviceOperations } from '../shared/service.ts'
import { runAppendBlock, runPutAppendBlob, runSealAppendBlob } from './content/append.ts'
import { BATCH_BYTES_MAX, runSubmitBatch } from './batch.ts'
import { runGetBlob, runPutBlob } from './blob.ts'
import { runGetBlockList, runPutBlock, runPutBlockList } from './content/block.ts'
import {
  runCreateContainer,
  runDeleteContainer,
  runGetContainerAcl,
  runGetContainerMetadata,
  runGetContainerProperties,
  runLeaseContainer,
  runRenameContainer,
  runRestoreContainer,
  runSetContainerAcl,
  runSetContainerMetadata,
} from './container.ts'
import { runCopyBlobFromUrl, runPutBlobFromUrl } from './copy/copy-from-url.ts'
import { runAbortCopyBlob, runCopyBlob } from './copy/copy.ts'
import {
  runDeleteImmutabilityPolicy,
  runSetBlobExpiry,
  runSetImmutabilityPolicy,
  runSetLegalHold,
} from './immutability.ts'
import { runIncrementalCopyBlob } from './copy/incremental-copy.ts'
import { runLeaseBlob } from './lease.ts'
import {
  APPEND_BLOCK_LIMITS,
  newestLengthBytesMax,
  PUT_BLOB_LIMITS,
  PUT_BLOCK_LIMITS,
  PUT_PAGE_LIMITS,
  QUERY_BYTES_MAX,
} from './length-limit.ts'
import { runListBlobs, runListContainers } from './list/list.ts'
import { runClearPages, runPutPage, runPutPageBlob } from './content/page.ts'
import { runGetPageRanges, runGetPageRangesDiff } from './content/page-range.ts'
import { runDeleteBlob, runSnapshotBlob, runUndeleteBlob } from './past.ts'
import {
  runGetBlobMetadata,
  runGetBlobProperties,
  runSetBlobMetadata,
  runSetBlobProperties,
} from './properties.ts'
import { withPathAccess } from './path-access.ts'
import { withSasScope } from './sas-scope.ts'
import { blobLevel, type BlobCall, type BlobService } from './service.ts'
import { runFindBlobsByTags, runGetBlobTags, runSetBlobTags, TAGS_BYTES_MAX } from './list/tags.ts'
import { runSetBlobTier } from './tier.ts'
import {
  runAppendBlockFromUrl,
  runPutBlockFromUrl,
  runPutPageFromUrl,
} from './content/write-from-url.ts'

/** The limits of the newest version; handlers check those of older ones. */
const PUT_BLOB_BYTES_MAX = newestLengthBytesMax(PUT_BLOB_LIMITS)
const PUT_BLOCK_BYTES_MAX = newestLengthBytesMax(PUT_BLOCK_LIMITS)
const PUT_PAGE_BYTES_MAX = newestLengthBytesMax(PUT_PAGE_LIMITS)
/** Limits the block; a structured body around it may be a little longer (append.ts). */
const APPEND_BLOCK_BYTES_MAX = newestLengthBytesMax(APPEND_BLOCK_LIMITS)

const container = (accountSas: string): Permission => {
  return { resourceType: 'c', accountSas, serviceSas: undefined }
}
const blob = (letters: string): Permission => {
  return { resourceType: 'o', accountSas: letters, serviceSas: letters }
}
const READ_CONTAINER: Permission = { ...container('r'), anonymous: 'container' }
const READ_BLOB: Permission = { ...blob('r'), anonymous: 'blob' }
const LIST_BLOBS: Permission = { resourceType: 'c', accountSas: 'l', serviceSas: 'l' }

/** Allowed with any valid SAS, but not with a token. */
const ACCOUNT: Permission = {
  resourceType: 's',
  accountSas: 'rwdlacup',
  serviceSas: 'rwdlacup',
  bearer: false,
}

const READ = ['GET', 'HEAD']
const PUT = ['PUT']

type Row = Operation<BlobService>

const has = (name: string) => (request: Request) => Boolean(request.headers[name])
const hasCopySource = has('x-ms-copy-source')
const isType = (type: string) => (request: Request) =>
  !hasCopySource(request) && request.headers['x-ms-blob-type'] === type
/** Copy Blob From URL differs from Copy Blob only in this header. */
const isSync = (request: Request) =>
  hasCopySource(request) && String(request.headers['x-ms-requires-sync']).toLowerCase() === 'true'
const isDiff = (request: Request) =>
  request.query.has('prevsnapshot') || has('x-ms-previous-snapshot-url')(request)
const includesUncommitted = ({ query }: Request) =>
  (query.get('blocklisttype') ?? 'committed').toLowerCase() !== 'committed'
/**
 * Soft-deleted and uncommitted blobs can't be read directly, so a public container does not reveal their names.
 * Snapshots and versions can be read like blobs, so they are listed.
 */
const isUnreadableIncluded = ({ query }: Request) =>
  /\b(deleted|deletedwithversions|uncommittedblobs)\b/i.test(query.get('include') ?? '')
/** Permission to delete also allows breaking a lease. */
const isBreak = (request: Request) =>
  String(request.headers['x-ms-lease-action']).toLowerCase() === 'break'
const isClear = (request: Request) =>
  String(request.headers['x-ms-page-write']).toLowerCase() === 'clear'

/** Loads the query engine on first use: it is large, and few clients need it. */
const runQueryLoaded = async (call: BlobCall): Promise<Answer> =>
  (await import('./query/query.ts')).runQueryBlobContents(call)

/** The operations that a batch may contain. */
// prettier-ignore
const BATCHED: readonly Row[] = [
  { name: 'Delete Blob', methods: ['DELETE'], level: 'object', writes: true, permission: blob('y'),
    when: (request) => request.query.has('deletetype'), run: runDeleteBlob },
  { name: 'Delete Blob', methods: ['DELETE'], level: 'object', writes: true, permission: blob('x'),
    when: (request) => request.query.has('versionid'), run: runDeleteBlob },
  { name: 'Delete Blob', methods: ['DELETE'], level: 'object', writes: true, permission: blob('d'), run: runDeleteBlob },
  { name: 'Set Blob Tier', methods: PUT, level: 'object', comp: 'tier', writes: true, permission: blob('w'),
    run: runSetBlobTier },
]
const BATCH_TABLE = tableOf(BATCHED.map(withPathAccess), blobLevel)

// prettier-ignore
export const BLOB_OPERATIONS: readonly Row[] = [
  ...serviceOperations<BlobService>(),
  ...(['service', 'container', 'object'] as const).map((level): Row => ({
    name: 'Get Account Information', methods: READ, level, restype: 'account', comp: 'properties', writes: false,
    permission: ACCOUNT, run: runGetAccountInformation })),
  { name: 'List Containers', methods: ['GET'], level: 'service', comp: 'list', writes: false,
    permission: { resourceType: 's', accountSas: 'l', serviceSas: undefined }, run: runListContainers },

  { name: 'Find Blobs by Tags', methods: ['GET'], level: 'service', comp: 'blobs', writes: false,
    permission: { resourceType: 's', accountSas: 'f', serviceSas: undefined }, run: runFindBlobsByTags },
  // The second row: @azure/storage-blob mistakes the account in a path-style URL for a container.
  ...[undefined, 'container'].map((restype): Row => ({
    name: 'Submit Batch', methods: ['POST'], level: 'service', comp: 'batch', writes: true, bodyBytesMax: BATCH_BYTES_MAX,
    ...(restype === undefined ? undefined : { restype }),
    permission: { resourceType: 's', accountSas: 'rwdlacuptfxi', serviceSas: undefined },
    run: (call) => runSubmitBatch(call, BATCH_TABLE) })),

  { name: 'Create Container', methods: PUT, level: 'container', restype: 'container', writes: true,
    permission: container('cw'), run: runCreateContainer },
  { name: 'Get Container Properties', methods: READ, level: 'container', restype: 'container', writes: false,
    permission: READ_CONTAINER, run: runGetContainerProperties },
  { name: 'Delete Container', methods: ['DELETE'], level: 'container', restype: 'container', writes: true,
    permission: container('d'), run: runDeleteContainer },
  { name: 'Get Container Metadata', methods: READ, level: 'container', restype: 'container', comp: 'metadata', writes: false,
    permission: READ_CONTAINER, run: runGetContainerMetadata },
  { name: 'Set Container Metadata', methods: PUT, level: 'container', restype: 'container', comp: 'metadata', writes: true,
    permission: container('w'), run: runSetContainerMetadata },
  { name: 'Get Container ACL', methods: READ, level: 'container', restype: 'container', comp: 'acl', writes: false,
    permission: { ...container(''), accountSas: undefined }, run: runGetContainerAcl },
  { name: 'Set Container ACL', methods: PUT, level: 'container', restype: 'container', comp: 'acl', writes: true,
    permission: { ...container(''), accountSas: undefined }, bodyBytesMax: ACL_BYTES_MAX, run: runSetContainerAcl },
  { name: 'Lease Container', methods: PUT, level: 'container', restype: 'container', comp: 'lease', writes: true,
    permission: container('wd'), when: isBreak, run: runLeaseContainer },
  { name: 'Lease Container', methods: PUT, level: 'container', restype: 'container', comp: 'lease', writes: true,
    permission: container('w'), run: runLeaseContainer },
  { name: 'Restore Container', methods: PUT, level: 'container', restype: 'container', comp: 'undelete', writes: true,
    permission: container('w'), run: runRestoreContainer },
  { name: 'Rename Container', methods: PUT, level: 'container', restype: 'container', comp: 'rename', writes: true,
    permission: container('w'), run: runRenameContainer },
  { name: 'List Blobs', methods: ['GET'], level: 'container', restype: 'container', comp: 'list', writes: false,
    permission: LIST_BLOBS, when: isUnreadableIncluded, run: runListBlobs },
  { name: 'List Blobs', methods: ['GET'], level: 'container', restype: 'container', comp: 'list', writes: false,
    permission: { ...LIST_BLOBS, anonymous: 'container' }, run: runListBlobs },
  { name: 'Find Blobs by Tags in Container', methods: ['GET'], level: 'container', restype: 'container', comp: 'blobs', writes: false,
    permission: { resourceType: 'c', accountSas: 'f', serviceSas: 'f' }, run: runFindBlobsByTags },
  { name: 'Submit Batch', methods: ['POST'], level: 'container', restype: 'container', comp: 'batch', writes: true,
    bodyBytesMax: BATCH_BYTES_MAX, permission: { resourceType: 'c', accountSas: 'rwdlacuptfxi', serviceSas: 'rwdlacuptfxi' },
    run: (call) => runSubmitBatch(call, BATCH_TABLE) },

  // PUT of a blob without comp: the copy source and the type distinguish these.
  { name: 'Put Blob From URL', methods: PUT, level: 'object', writes: true, permission: blob('cw'), bodyBytesMax: 0,
    when: (request) => hasCopySource(request) && has('x-ms-blob-type')(request), run: runPutBlobFromUrl },
  { name: 'Copy Blob From URL', methods: PUT, level: 'object', writes: true, permission: blob('cw'), when: isSync,
    run: runCopyBlobFromUrl },
  { name: 'Copy Blob', methods: PUT, level: 'object', writes: true, permission: blob('cw'), when: hasCopySource,
    run: runCopyBlob },
  { name: 'Put Page Blob', methods: PUT, level: 'object', writes: true, permission: blob('cw'), bodyBytesMax: 0,
    when: isType('PageBlob'), run: runPutPageBlob },
  { name: 'Put Append Blob', methods: PUT, level: 'object', writes: true, permission: blob('cw'), bodyBytesMax: PUT_BLOB_BYTES_MAX,
    when: isType('AppendBlob'), run: runPutAppendBlob },
  { name: 'Put Blob', methods: PUT, level: 'object', writes: true, bodyBytesMax: PUT_BLOB_BYTES_MAX,
    permission: blob('cw'), run: runPutBlob },
  { name: 'Get Blob', methods: ['GET'], level: 'object', writes: false, permission: READ_BLOB, run: runGetBlob },
  { name: 'Get Blob Properties', methods: ['HEAD'], level: 'object', writes: false, permission: READ_BLOB,
    run: runGetBlobProperties },
  { name: 'Get Blob Metadata', methods: READ, level: 'object', comp: 'metadata', writes: false, permission: READ_BLOB,
    run: runGetBlobMetadata },
  { name: 'Set Blob Metadata', methods: PUT, level: 'object', comp: 'metadata', writes: true, permission: blob('w'),
    run: runSetBlobMetadata },
  { name: 'Set Blob Properties', methods: PUT, level: 'object', comp: 'properties', writes: true, permission: blob('w'),
    run: runSetBlobProperties },
  ...BATCHED,
  { name: 'Undelete Blob', methods: PUT, level: 'object', comp: 'undelete', writes: true, permission: blob('w'),
    run: runUndeleteBlob },
  { name: 'Snapshot Blob', methods: PUT, level: 'object', comp: 'snapshot', writes: true, permission: blob('cw'),
    run: runSnapshotBlob },
  { name: 'Lease Blob', methods: PUT, level: 'object', comp: 'lease', writes: true, permission: blob('wd'),
    when: isBreak, run: runLeaseBlob },
  { name: 'Lease Blob', methods: PUT, level: 'object', comp: 'lease', writes: true, permission: blob('w'),
    run: runLeaseBlob },
  { name: 'Abort Copy Blob', methods: PUT, level: 'object', comp: 'copy', writes: true, permission: blob('w'),
    run: runAbortCopyBlob },
  { name: 'Get Blob Tags', methods: ['GET'], level: 'object', comp: 'tags', writes: false, permission: blob('t'),
    run: runGetBlobTags },
  { name: 'Set Blob Tags', methods: PUT, level: 'object', comp: 'tags', writes: true, permission: blob('t'),
    bodyBytesMax: TAGS_BYTES_MAX, run: runSetBlobTags },
  { name: 'Set Blob Expiry', methods: PUT, level: 'object', comp: 'expiry', writes: true, permission: blob('w'),
    run: runSetBlobExpiry },
  { name: 'Set Blob Immutability Policy', methods: PUT, level: 'object', comp: 'immutabilityPolicies', writes: true,
    permission: blob('i'), run: runSetImmutabilityPolicy },
  { name: 'Delete Blob Immutability Policy', methods: ['DELETE'], level: 'object', comp: 'immutabilityPolicies', writes: true,
    permission: blob('i'), run: runDeleteImmutabilityPolicy },
  { name: 'Set Blob Legal Hold', methods: PUT, level: 'object', comp: 'legalhold', writes: true, permission: blob('i'),
    run: runSetLegalHold },
  { name: 'Query Blob Contents', methods: ['POST'], level: 'object', comp: 'query', writes: false, permission: blob('r'),
    bodyBytesMax: QUERY_BYTES_MAX, run: runQueryLoaded },

  { name: 'Put Block From URL', methods: PUT, level: 'object', comp: 'block', writes: true, permission: blob('cw'), bodyBytesMax: 0,
    when: hasCopySource, run: runPutBlockFromUrl },
  { name: 'Put Block', methods: PUT, level: 'object', comp: 'block', writes: true, permission: blob('cw'),
    bodyBytesMax: PUT_BLOCK_BYTES_MAX, run: runPutBlock },
  { name: 'Put Block List', methods: PUT, level: 'object', comp: 'blocklist', writes: true, permission: blob('cw'),
    bodyBytesMax: BLOCK_LIST_BYTES_MAX, run: runPutBlockList },
  // Anonymous clients see committed blocks only (Get Block List, remarks on authorization).
  { name: 'Get Block List', methods: ['GET'], level: 'object', comp: 'blocklist', writes: false, permission: blob('r'),
    when: includesUncommitted, run: runGetBlockList },
  { name: 'Get Block List', methods: ['GET'], level: 'object', comp: 'blocklist', writes: false, permission: READ_BLOB,
    run: runGetBlockList },

  { name: 'Put Page From URL', methods: PUT, level: 'object', comp: 'page', writes: true, permission: blob('w'), bodyBytesMax: 0,
    when: hasCopySource, run: runPutPageFromUrl },
  { name: 'Clear Pages', methods: PUT, level: 'object', comp: 'page', writes: true, permission: blob('w'), bodyBytesMax: 0,
    when: isClear, run: runClearPages },
  { name: 'Put Page', methods: PUT, level: 'object', comp: 'page', writes: true, permission: blob('w'),
    bodyBytesMax: PUT_PAGE_BYTES_MAX, run: runPutPage },
  { name: 'Get Page Ranges Diff', methods: ['GET'], level: 'object', comp: 'pagelist', writes: false, permission: READ_BLOB,
    when: isDiff, run: runGetPageRangesDiff },
  { name: 'Get Page Ranges', methods: ['GET'], level: 'object', comp: 'pagelist', writes: false, permission: READ_BLOB,
    run: runGetPageRanges },
  { name: 'Incremental Copy Blob', methods: PUT, level: 'object', comp: 'incrementalcopy', writes: true, permission: blob('w'),
    run: runIncrementalCopyBlob },

  { name: 'Append Block From URL', methods: PUT, level: 'object', comp: 'appendblock', writes: true, permission: blob('aw'), bodyBytesMax: 0,
    when: hasCopySource, run: runAppendBlockFromUrl },
  { name: 'Append Block', methods: PUT, level: 'object', comp: 'appendblock', writes: true, permission: blob('aw'),
    bodyBytesMax: structuredBodyLength(APPEND_BLOCK_BYTES_MAX), run: runAppendBlock },
  { name: 'Seal Append Blob', methods: PUT, level: 'object', comp: 'seal', writes: true, permission: blob('w'),
    run: runSealAppendBlob },
]

export const BLOB_TABLE: OperationTable<BlobService> = tableOf(
  BLOB_OPERATIONS.map(withSasScope).map(withPathAccess),
  blobLevel,
)
