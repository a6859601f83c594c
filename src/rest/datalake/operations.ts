// The API of Data Lake Storage as a table. What is not here does not exist.
import type { Permission } from '../../auth/permission.ts'
import {
  tableOf,
  type Operation,
  type OperationTable,
  type Request,
} from '../../http/door/operation.ts'
import { invalidQuery } from '../../storage/shared/error.ts'
import { withSasScope } from '../blob/sas-scope.ts'
import {
  runCreateFilesystem,
  runDeleteFilesystem,
  runGetFilesystemProperties,
  runListFilesystems,
  runSetFilesystemProperties,
} from './filesystem.ts'
import { lakeLevel, requiredQuery, type LakeService } from './service.ts'

type Row = Operation<LakeService>

const PUT = ['PUT']
const PATCH = ['PATCH']

const filesystem = (accountSas: string): Permission => {
  return { resourceType: 'c', accountSas, serviceSas: undefined }
}

const isWord = (request: Request, name: string, word: string): boolean =>
  (request.query.get(name) ?? '').toLowerCase() === word.toLowerCase()
const isFilesystem = (request: Request): boolean => isWord(request, 'resource', 'filesystem')

// prettier-ignore
export const LAKE_OPERATIONS: readonly Row[] = [
  { name: 'List Filesystems', methods: ['GET'], level: 'service', writes: false,
    permission: { resourceType: 's', accountSas: 'l', serviceSas: undefined }, run: runListFilesystems },
  { name: 'Create Filesystem', methods: PUT, level: 'container', writes: true, when: isFilesystem,
    permission: filesystem('cw'), run: runCreateFilesystem },
  { name: 'Delete Filesystem', methods: ['DELETE'], level: 'container', writes: true, when: isFilesystem,
    permission: filesystem('d'), run: runDeleteFilesystem },
  { name: 'Get Filesystem Properties', methods: ['HEAD'], level: 'container', writes: false, when: isFilesystem,
    permission: filesystem('r'), run: runGetFilesystemProperties },
  { name: 'Set Filesystem Properties', methods: PATCH, level: 'container', writes: true, when: isFilesystem,
    permission: filesystem('w'), run: runSetFilesystemProperties },
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
  const isPath = request.path.length > 0 && resource === undefined
  if (method === 'PATCH' && isPath) requiredQuery(request, 'action')
  if (lakeLevel(request) === 'service') requiredQuery(request, 'resource')
}
