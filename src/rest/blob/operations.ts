// The Blob service's API as a table. What is not here does not exist.
import type { Permission } from '../../auth/permission.ts'
import { tableOf, type Operation, type OperationTable } from '../../http/operation.ts'
import { runGetAccountInformation, serviceOperations } from '../service.ts'
import {
  runDeleteBlob,
  runGetBlob,
  runGetBlobMetadata,
  runGetBlobProperties,
  runPutBlob,
  runSetBlobMetadata,
  runSetBlobProperties,
  runSnapshotBlob,
  runUndeleteBlob,
} from './blob.ts'
import {
  ACL_BYTES_MAX,
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
import { runListBlobs, runListContainers } from './list.ts'
import { levelOf, type BlobService } from './service.ts'

const MIB = 1024 * 1024
/** Put Blob since 2019-12-12. */
const PUT_BLOB_BYTES_MAX = 5_000 * MIB

const container = (accountSas: string): Permission => {
  return { resourceType: 'c', accountSas, serviceSas: undefined }
}
const blob = (letters: string): Permission => {
  return { resourceType: 'o', accountSas: letters, serviceSas: letters }
}
const READ_CONTAINER: Permission = { ...container('r'), anonymous: 'container' }
const READ_BLOB: Permission = { ...blob('r'), anonymous: 'blob' }

/** Any SAS that is valid here may ask; a token may not. */
const ACCOUNT: Permission = {
  resourceType: 's',
  accountSas: 'rwdlacup',
  serviceSas: 'rwdlacup',
  bearer: false,
}

const READ = ['GET', 'HEAD']
const PUT = ['PUT']

type Row = Operation<BlobService>

// prettier-ignore
export const BLOB_OPERATIONS: readonly Row[] = [
  ...serviceOperations<BlobService>(),
  ...(['service', 'container', 'object'] as const).map((level): Row => ({
    name: 'Get Account Information', methods: READ, level, restype: 'account', comp: 'properties', writes: false,
    permission: ACCOUNT, run: runGetAccountInformation })),
  { name: 'List Containers', methods: ['GET'], level: 'service', comp: 'list', writes: false,
    permission: { resourceType: 's', accountSas: 'l', serviceSas: undefined }, run: runListContainers },

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
    permission: container('wd'), run: runLeaseContainer },
  { name: 'Restore Container', methods: PUT, level: 'container', restype: 'container', comp: 'undelete', writes: true,
    permission: container('w'), run: runRestoreContainer },
  { name: 'Rename Container', methods: PUT, level: 'container', restype: 'container', comp: 'rename', writes: true,
    permission: container('w'), run: runRenameContainer },
  { name: 'List Blobs', methods: ['GET'], level: 'container', restype: 'container', comp: 'list', writes: false,
    permission: { resourceType: 'c', accountSas: 'l', serviceSas: 'l', anonymous: 'container' }, run: runListBlobs },

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
  { name: 'Delete Blob', methods: ['DELETE'], level: 'object', writes: true, permission: blob('y'),
    when: (request) => request.query.has('deletetype'), run: runDeleteBlob },
  { name: 'Delete Blob', methods: ['DELETE'], level: 'object', writes: true, permission: blob('x'),
    when: (request) => request.query.has('versionid'), run: runDeleteBlob },
  { name: 'Delete Blob', methods: ['DELETE'], level: 'object', writes: true, permission: blob('d'), run: runDeleteBlob },
  { name: 'Undelete Blob', methods: PUT, level: 'object', comp: 'undelete', writes: true, permission: blob('w'),
    run: runUndeleteBlob },
  { name: 'Snapshot Blob', methods: PUT, level: 'object', comp: 'snapshot', writes: true, permission: blob('cw'),
    run: runSnapshotBlob },
]

export const BLOB_TABLE: OperationTable<BlobService> = tableOf(BLOB_OPERATIONS, levelOf)
