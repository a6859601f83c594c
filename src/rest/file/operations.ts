// The File service's API as a table. What is not here does not exist.
import type { Permission } from '../../auth/permission.ts'
import {
  tableOf,
  type Operation,
  type OperationTable,
  type Request,
} from '../../http/door/operation.ts'
import { structuredBodyLength } from '../../http/protocol/structured-body.ts'
import { ACL_BYTES_MAX } from '../shared/access-policy-xml.ts'
import { serviceOperations } from '../shared/service.ts'
import { runAbortCopyFile, runCopyFile } from './copy/copy.ts'
import { runCreateDirectory, runDeleteDirectory } from './directory.ts'
import { runCreateFile, runDeleteFile } from './file.ts'
import { runForceCloseHandles, runListHandles } from './handle.ts'
import { runLeaseFile } from './lease.ts'
import { runCreateHardLink, runCreateSymbolicLink, runGetSymbolicLink } from './link.ts'
import { runListDirectoriesAndFiles } from './list.ts'
import { PERMISSION_BYTES_MAX, runCreatePermission, runGetPermission } from './permission.ts'
import {
  runGetDirectoryProperties,
  runGetFileProperties,
  runGetMetadata,
  runSetDirectoryProperties,
  runSetFileProperties,
  runSetMetadata,
} from './properties.ts'
import { runPutRangeFromUrl } from './copy/range-from-url.ts'
import { runListRanges } from './range-list.ts'
import { RANGE_BYTES_MAX, runClearRange, runPutRange } from './range.ts'
import { runGetFile } from './read.ts'
import { runRename } from './rename.ts'
import { fileLevel, type FileService } from './service.ts'
import { runLeaseShare } from './share/share-lease.ts'
import { runListShares } from './share/share-list.ts'
import {
  runCreateShare,
  runDeleteShare,
  runGetShareAcl,
  runGetShareMetadata,
  runGetShareProperties,
  runGetShareStats,
  runRestoreShare,
  runSetShareAcl,
  runSetShareMetadata,
  runSetShareProperties,
  runSnapshotShare,
} from './share/share.ts'

const share = (accountSas: string): Permission => {
  return { resourceType: 'c', accountSas, serviceSas: undefined }
}
const file = (letters: string): Permission => {
  return { resourceType: 'o', accountSas: letters, serviceSas: letters }
}
const READ = ['GET', 'HEAD']
const PUT = ['PUT']

type Row = Operation<FileService>

const has = (name: string) => (request: Request) => Boolean(request.headers[name])
/** Permission to delete also allows breaking a lease. */
const isBreak = (request: Request) =>
  String(request.headers['x-ms-lease-action']).toLowerCase() === 'break'
const isClear = (request: Request) =>
  String(request.headers['x-ms-write']).toLowerCase() === 'clear'

// The path of the root directory is the share alone.
// prettier-ignore
const DIRECTORY_OPERATIONS: readonly Row[] = (['container', 'object'] as const).flatMap((level): Row[] => [
  { name: 'Create Directory', methods: PUT, level, restype: 'directory', writes: true, permission: file('cw'),
    run: runCreateDirectory },
  { name: 'Get Directory Properties', methods: READ, level, restype: 'directory', writes: false, permission: file('r'),
    run: runGetDirectoryProperties },
  { name: 'Delete Directory', methods: ['DELETE'], level, restype: 'directory', writes: true, permission: file('d'),
    run: runDeleteDirectory },
  { name: 'Set Directory Properties', methods: PUT, level, restype: 'directory', comp: 'properties', writes: true,
    permission: file('w'), run: runSetDirectoryProperties },
  { name: 'Get Directory Metadata', methods: READ, level, restype: 'directory', comp: 'metadata', writes: false,
    permission: file('r'), run: (call) => runGetMetadata(call, 'directory') },
  { name: 'Set Directory Metadata', methods: PUT, level, restype: 'directory', comp: 'metadata', writes: true,
    permission: file('w'), run: (call) => runSetMetadata(call, 'directory') },
  { name: 'List Directories and Files', methods: ['GET'], level, restype: 'directory', comp: 'list', writes: false,
    permission: { resourceType: 'c', accountSas: 'l', serviceSas: 'l' }, run: runListDirectoriesAndFiles },
  { name: 'List Handles', methods: ['GET'], level, comp: 'listhandles', writes: false,
    permission: { resourceType: 'c', accountSas: 'l', serviceSas: 'l' }, run: runListHandles },
  { name: 'Force Close Handles', methods: PUT, level, comp: 'forceclosehandles', writes: true, permission: file('w'),
    run: runForceCloseHandles },
])

// prettier-ignore
export const FILE_OPERATIONS: readonly Row[] = [
  ...serviceOperations<FileService>(),
  { name: 'List Shares', methods: ['GET'], level: 'service', comp: 'list', writes: false,
    permission: { resourceType: 's', accountSas: 'l', serviceSas: undefined }, run: runListShares },

  { name: 'Create Share', methods: PUT, level: 'container', restype: 'share', writes: true, permission: share('cw'),
    run: runCreateShare },
  { name: 'Get Share Properties', methods: READ, level: 'container', restype: 'share', writes: false, permission: share('r'),
    run: runGetShareProperties },
  { name: 'Delete Share', methods: ['DELETE'], level: 'container', restype: 'share', writes: true, permission: share('d'),
    run: runDeleteShare },
  { name: 'Set Share Properties', methods: PUT, level: 'container', restype: 'share', comp: 'properties', writes: true,
    permission: share('w'), run: runSetShareProperties },
  { name: 'Get Share Metadata', methods: READ, level: 'container', restype: 'share', comp: 'metadata', writes: false,
    permission: share('r'), run: runGetShareMetadata },
  { name: 'Set Share Metadata', methods: PUT, level: 'container', restype: 'share', comp: 'metadata', writes: true,
    permission: share('w'), run: runSetShareMetadata },
  { name: 'Get Share ACL', methods: READ, level: 'container', restype: 'share', comp: 'acl', writes: false,
    permission: { ...share(''), accountSas: undefined }, run: runGetShareAcl },
  { name: 'Set Share ACL', methods: PUT, level: 'container', restype: 'share', comp: 'acl', writes: true,
    permission: { ...share(''), accountSas: undefined }, bodyBytesMax: ACL_BYTES_MAX, run: runSetShareAcl },
  { name: 'Get Share Stats', methods: ['GET'], level: 'container', restype: 'share', comp: 'stats', writes: false,
    permission: share('r'), run: runGetShareStats },
  { name: 'Snapshot Share', methods: PUT, level: 'container', restype: 'share', comp: 'snapshot', writes: true,
    permission: share('cw'), run: runSnapshotShare },
  { name: 'Restore Share', methods: PUT, level: 'container', restype: 'share', comp: 'undelete', writes: true,
    permission: share('w'), run: runRestoreShare },
  { name: 'Lease Share', methods: PUT, level: 'container', restype: 'share', comp: 'lease', writes: true,
    permission: share('wd'), when: isBreak, run: runLeaseShare },
  { name: 'Lease Share', methods: PUT, level: 'container', restype: 'share', comp: 'lease', writes: true,
    permission: share('w'), run: runLeaseShare },
  { name: 'Create Permission', methods: PUT, level: 'container', restype: 'share', comp: 'filepermission', writes: true,
    permission: share('w'), bodyBytesMax: PERMISSION_BYTES_MAX, run: runCreatePermission },
  { name: 'Get Permission', methods: ['GET'], level: 'container', restype: 'share', comp: 'filepermission', writes: false,
    permission: share('r'), run: runGetPermission },

  ...DIRECTORY_OPERATIONS,
  { name: 'Rename Directory', methods: PUT, level: 'object', restype: 'directory', comp: 'rename', writes: true,
    permission: file('w'), run: (call) => runRename(call, 'directory') },

  { name: 'Copy File', methods: PUT, level: 'object', writes: true, permission: file('cw'), when: has('x-ms-copy-source'),
    run: runCopyFile },
  // Since 2026-06-06 the body may contain the first bytes.
  { name: 'Create File', methods: PUT, level: 'object', writes: true, permission: file('cw'),
    bodyBytesMax: structuredBodyLength(RANGE_BYTES_MAX), run: runCreateFile },
  { name: 'Get File', methods: ['GET'], level: 'object', writes: false, permission: file('r'), run: runGetFile },
  { name: 'Get File Properties', methods: ['HEAD'], level: 'object', writes: false, permission: file('r'),
    run: runGetFileProperties },
  { name: 'Delete File', methods: ['DELETE'], level: 'object', writes: true, permission: file('d'), run: runDeleteFile },
  { name: 'Set File Properties', methods: PUT, level: 'object', comp: 'properties', writes: true, permission: file('w'),
    run: runSetFileProperties },
  { name: 'Get File Metadata', methods: READ, level: 'object', comp: 'metadata', writes: false, permission: file('r'),
    run: (call) => runGetMetadata(call, 'file') },
  { name: 'Set File Metadata', methods: PUT, level: 'object', comp: 'metadata', writes: true, permission: file('w'),
    run: (call) => runSetMetadata(call, 'file') },
  { name: 'Put Range from URL', methods: PUT, level: 'object', comp: 'range', writes: true, permission: file('w'), bodyBytesMax: 0,
    when: has('x-ms-copy-source'), run: runPutRangeFromUrl },
  { name: 'Clear Range', methods: PUT, level: 'object', comp: 'range', writes: true, permission: file('w'), bodyBytesMax: 0,
    when: isClear, run: runClearRange },
  { name: 'Put Range', methods: PUT, level: 'object', comp: 'range', writes: true, permission: file('w'),
    bodyBytesMax: structuredBodyLength(RANGE_BYTES_MAX), run: runPutRange },
  { name: 'List Ranges', methods: ['GET'], level: 'object', comp: 'rangelist', writes: false, permission: file('r'),
    run: runListRanges },
  { name: 'Abort Copy File', methods: PUT, level: 'object', comp: 'copy', writes: true, permission: file('w'),
    run: runAbortCopyFile },
  { name: 'Rename File', methods: PUT, level: 'object', comp: 'rename', writes: true, permission: file('w'),
    run: (call) => runRename(call, 'file') },
  { name: 'Lease File', methods: PUT, level: 'object', comp: 'lease', writes: true, permission: file('wd'), when: isBreak,
    run: runLeaseFile },
  { name: 'Lease File', methods: PUT, level: 'object', comp: 'lease', writes: true, permission: file('w'), run: runLeaseFile },
  { name: 'Create Symbolic Link', methods: PUT, level: 'object', restype: 'symboliclink', writes: true, permission: file('cw'),
    run: runCreateSymbolicLink },
  { name: 'Get Symbolic Link', methods: ['GET'], level: 'object', restype: 'symboliclink', writes: false, permission: file('r'),
    run: runGetSymbolicLink },
  { name: 'Create Hard Link', methods: PUT, level: 'object', restype: 'hardlink', writes: true, permission: file('cw'),
    run: runCreateHardLink },
]

export const FILE_TABLE: OperationTable<FileService> = tableOf(FILE_OPERATIONS, fileLevel)
