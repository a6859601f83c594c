// The API of Data Lake Storage as a table. What is not here does not exist.
import type { Permission } from '../../auth/permission.ts'
import {
  tableOf,
  type Operation,
  type OperationTable,
  type Request,
} from '../../http/door/operation.ts'
import { structuredBodyLength } from '../../http/protocol/structured-body.ts'
import { invalidQuery } from '../../storage/shared/error.ts'
import { newestLengthBytesMax, PUT_BLOCK_LIMITS } from '../blob/length-limit.ts'
import { withSasScope } from '../blob/sas-scope.ts'
import {
  runCreateFilesystem,
  runDeleteFilesystem,
  runGetFilesystemProperties,
  runListFilesystems,
  runSetFilesystemProperties,
} from './filesystem.ts'
import { runAppendData, runFlushData } from './append-data.ts'
import {
  runCheckAccess,
  runGetAccessControl,
  runSetAccessControl,
  runSetAccessControlRecursive,
} from './access-control.ts'
import { runCreatePath } from './create-path.ts'
import { runDeletePath, runUndeletePath } from './delete-path.ts'
import { runListPaths } from './list-paths.ts'
import {
  runGetPathProperties,
  runGetPathStatus,
  runLeasePath,
  runSetPathExpiry,
  runSetPathProperties,
} from './path-properties.ts'
import { runReadPath } from './read-path.ts'
import { runRenamePath } from './rename-path.ts'
import { lakeLevel, requiredQuery, type LakeService } from './service.ts'

type Row = Operation<LakeService>

const PUT = ['PUT']
const PATCH = ['PATCH']
/** The longest append; a structured body around it may be a little longer. */
const APPEND_BYTES_MAX = structuredBodyLength(newestLengthBytesMax(PUT_BLOCK_LIMITS))

const filesystem = (accountSas: string): Permission => {
  return { resourceType: 'c', accountSas, serviceSas: undefined }
}
const path = (letters: string): Permission => {
  return { resourceType: 'o', accountSas: letters, serviceSas: letters }
}
const READ_PATH: Permission = { ...path('r'), anonymous: 'blob' }
/** Properties and access control may be read with `e` alone. */
const INSPECT: Permission = path('re')

const FILESYSTEM = { resource: 'filesystem' }
const isFilesystem = ({ query }: Request): boolean =>
  query.get('resource')?.toLowerCase() === FILESYSTEM.resource
const isRename = ({ headers }: Request): boolean => Boolean(headers['x-ms-rename-source'])
/** Permission to delete also allows breaking a lease. */
const isBreak = ({ headers }: Request): boolean =>
  String(headers['x-ms-lease-action']).toLowerCase() === 'break'

/** The operations on files and directories, of which the root directory is one. */
// prettier-ignore
const onPaths = (level: 'container' | 'object'): readonly Row[] => [
  { name: 'Rename Path', methods: PUT, level, writes: true, permission: path('cwm'), when: isRename, run: runRenamePath },
  { name: 'Create Path', methods: PUT, level, writes: true, permission: path('cw'), run: runCreatePath },
  { name: 'Set Path Expiry', methods: PUT, level, comp: 'expiry', writes: true, permission: path('w'), run: runSetPathExpiry },
  { name: 'Undelete Path', methods: PUT, level, comp: 'undelete', writes: true, permission: path('w'), run: runUndeletePath },
  { name: 'Append Data', methods: PATCH, level, writes: true, permission: path('acw'), bodyBytesMax: APPEND_BYTES_MAX,
    query: { action: 'append' }, run: runAppendData },
  { name: 'Flush Data', methods: PATCH, level, writes: true, permission: path('acw'),
    query: { action: 'flush' }, run: runFlushData },
  { name: 'Set Path Properties', methods: PATCH, level, writes: true, permission: path('w'),
    query: { action: 'setProperties' }, run: runSetPathProperties },
  { name: 'Set Access Control', methods: PATCH, level, writes: true, permission: path('op'),
    query: { action: 'setAccessControl' }, run: runSetAccessControl },
  { name: 'Set Access Control Recursive', methods: PATCH, level, writes: true, permission: path('p'),
    query: { action: 'setAccessControlRecursive' }, run: runSetAccessControlRecursive },
  { name: 'Get Access Control', methods: ['HEAD', 'GET'], level, writes: false, permission: INSPECT,
    query: { action: 'getAccessControl' }, run: runGetAccessControl },
  { name: 'Check Access', methods: ['HEAD', 'GET'], level, writes: false, permission: INSPECT,
    query: { action: 'checkAccess' }, run: runCheckAccess },
  { name: 'Get Path Status', methods: ['HEAD', 'GET'], level, writes: false, permission: INSPECT,
    query: { action: 'getStatus' }, run: runGetPathStatus },
  { name: 'Get Path Properties', methods: ['HEAD'], level, writes: false, permission: READ_PATH, run: runGetPathProperties },
  { name: 'Read Path', methods: ['GET'], level, writes: false, permission: READ_PATH, run: runReadPath },
  { name: 'Lease Path', methods: ['POST'], level, writes: true, permission: path('wd'), when: isBreak, run: runLeasePath },
  { name: 'Lease Path', methods: ['POST'], level, writes: true, permission: path('w'), run: runLeasePath },
  { name: 'Delete Path', methods: ['DELETE'], level, writes: true, permission: path('d'), run: runDeletePath },
]

/** What works on a root directory, or has an error of its own there. */
const ON_ROOT: ReadonlySet<string> = new Set([
  'Create Path',
  'Set Path Properties',
  'Set Access Control',
  'Set Access Control Recursive',
  'Get Access Control',
  'Check Access',
  'Get Path Status',
  'Get Path Properties',
  'Lease Path',
  'Delete Path',
])

// prettier-ignore
export const LAKE_OPERATIONS: readonly Row[] = [
  { name: 'List Filesystems', methods: ['GET'], level: 'service', writes: false, query: { resource: 'account' },
    permission: { resourceType: 's', accountSas: 'l', serviceSas: undefined }, run: runListFilesystems },
  { name: 'Create Filesystem', methods: PUT, level: 'container', writes: true, query: FILESYSTEM,
    permission: filesystem('cw'), run: runCreateFilesystem },
  { name: 'Delete Filesystem', methods: ['DELETE'], level: 'container', writes: true, query: FILESYSTEM,
    permission: filesystem('d'), run: runDeleteFilesystem },
  { name: 'Get Filesystem Properties', methods: ['HEAD'], level: 'container', writes: false, query: FILESYSTEM,
    permission: filesystem('r'), run: runGetFilesystemProperties },
  { name: 'Set Filesystem Properties', methods: PATCH, level: 'container', writes: true, query: FILESYSTEM,
    permission: filesystem('w'), run: runSetFilesystemProperties },
  // The listed directory is part of the path (http/door/resource-path.ts), so that a SAS for it covers the list.
  ...(['container', 'object'] as const).map((level): Row => ({
    name: 'List Paths', methods: ['GET'], level, writes: false, query: FILESYSTEM,
    permission: { resourceType: 'c', accountSas: 'l', serviceSas: 'l' }, run: runListPaths })),
  ...onPaths('container').filter(({ name }) => ON_ROOT.has(name)),
  ...onPaths('object'),
]

const TABLE = tableOf(LAKE_OPERATIONS.map(withSasScope), lakeLevel)

export const LAKE_TABLE: OperationTable<LakeService> = {
  operations: LAKE_OPERATIONS,
  find(request) {
    const method = methodOf(request)
    checkSelectors(request, method)
    return TABLE.find(method === request.method ? request : { ...request, method })
  },
}

/** Clients that can't send PATCH send PUT with this header; their signature is that of the PUT. */
function methodOf({ method, headers }: Request): string {
  const override = headers['x-http-method-override']
  return method === 'PUT' && override === 'PATCH' ? 'PATCH' : method
}

const RESOURCES = ['account', 'filesystem', 'file', 'directory']
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  HEAD: ['getaccesscontrol', 'getstatus', 'checkaccess'],
  GET: ['getaccesscontrol', 'getstatus', 'checkaccess'],
  PATCH: ['append', 'flush', 'setproperties', 'setaccesscontrol', 'setaccesscontrolrecursive'],
}

/** The parameters that select the operation. */
function checkSelectors(request: Request, method: string): void {
  const [resource, action] = [request.query.get('resource'), request.query.get('action')]
  if (resource !== undefined && !RESOURCES.includes(resource.toLowerCase())) {
    throw invalidQuery('resource', resource)
  }
  if (action !== undefined && ACTIONS[method]?.includes(action.toLowerCase()) !== true) {
    throw invalidQuery('action', action)
  }
  const isListed = method === 'GET' || lakeLevel(request) === 'container'
  if (isFilesystem(request) && !isListed) {
    throw invalidQuery('directory', request.query.get('directory') ?? '')
  }
  const isPath = request.path.length > 0 && resource === undefined
  if (method === 'PATCH' && isPath) requiredQuery(request, 'action')
  if (lakeLevel(request) === 'service') requiredQuery(request, 'resource')
}
