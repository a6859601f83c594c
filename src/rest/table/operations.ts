// The Table service's API as a table. What is not here does not exist.
import type { Permission } from '../../auth/permission.ts'
import {
  tableOf,
  type Operation,
  type OperationTable,
  type Request,
} from '../../http/door/operation.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { ACL_BYTES_MAX } from '../shared/access-policy-xml.ts'
import { serviceOperations } from '../shared/service.ts'
import { isBatch, isTables, tableLevel } from './address.ts'
import { runEntityGroupTransaction } from './batch.ts'
import { runGetEntity, runQueryEntities, runWriteEntity } from './entity.ts'
import type { TableService } from './service.ts'
import {
  runCreateTable,
  runDeleteTable,
  runGetTable,
  runGetTableAcl,
  runQueryTables,
  runSetTableAcl,
  TABLE_NAME_BYTES_MAX,
} from './table.ts'
import { effectiveMethod, hasIfMatch, TABLE_BYTES_MAX } from './write.ts'

/** A SAS for one table can neither create nor delete it, nor list others. */
const table = (accountSas: string | undefined): Permission => {
  return { resourceType: 'c', accountSas, serviceSas: undefined }
}
const entity = (letters: string): Permission => {
  return { resourceType: 'o', accountSas: letters, serviceSas: letters }
}
/** An upsert may turn out to be an insert or an update, so it needs both permissions. */
const UPSERT: Permission = { ...entity('au'), all: true }

const MERGE = ['MERGE', 'PATCH']

const isEntity = (request: Request) => !isTables(request) && !isBatch(request)
const isUpdate = (request: Request) => isEntity(request) && hasIfMatch(request)

// prettier-ignore
export const TABLE_OPERATIONS: readonly Operation<TableService>[] = [
  ...serviceOperations<TableService>(),
  { name: 'Query Tables', methods: ['GET'], level: 'container', writes: false, when: isTables,
    permission: table('l'), run: runQueryTables },
  { name: 'Get Table', methods: ['GET'], level: 'object', writes: false, when: isTables,
    permission: table('l'), run: runGetTable },
  { name: 'Create Table', methods: ['POST'], level: 'container', writes: true, when: isTables,
    permission: table('cw'), bodyBytesMax: TABLE_NAME_BYTES_MAX, run: runCreateTable },
  { name: 'Delete Table', methods: ['DELETE'], level: 'object', writes: true, when: isTables,
    permission: table('d'), run: runDeleteTable },
  { name: 'Get Table ACL', methods: ['GET', 'HEAD'], level: 'container', comp: 'acl', writes: false, when: isEntity,
    permission: table(undefined), run: runGetTableAcl },
  { name: 'Set Table ACL', methods: ['PUT'], level: 'container', comp: 'acl', writes: true, when: isEntity,
    permission: table(undefined), bodyBytesMax: ACL_BYTES_MAX, run: runSetTableAcl },

  { name: 'Query Entities', methods: ['GET'], level: 'container', writes: false, when: isEntity,
    permission: entity('r'), run: runQueryEntities },
  { name: 'Get Entity', methods: ['GET'], level: 'object', writes: false, when: isEntity,
    permission: entity('r'), run: runGetEntity },
  { name: 'Insert Entity', methods: ['POST'], level: 'container', writes: true, when: isEntity,
    permission: entity('a'), bodyBytesMax: TABLE_BYTES_MAX, run: runWriteEntity },
  { name: 'Update Entity', methods: ['PUT'], level: 'object', writes: true, when: isUpdate,
    permission: entity('u'), bodyBytesMax: TABLE_BYTES_MAX, run: runWriteEntity },
  { name: 'Insert Or Replace Entity', methods: ['PUT'], level: 'object', writes: true, when: isEntity,
    permission: UPSERT, bodyBytesMax: TABLE_BYTES_MAX, run: runWriteEntity },
  { name: 'Merge Entity', methods: MERGE, level: 'object', writes: true, when: isUpdate,
    permission: entity('u'), bodyBytesMax: TABLE_BYTES_MAX, run: runWriteEntity },
  { name: 'Insert Or Merge Entity', methods: MERGE, level: 'object', writes: true, when: isEntity,
    permission: UPSERT, bodyBytesMax: TABLE_BYTES_MAX, run: runWriteEntity },
  { name: 'Delete Entity', methods: ['DELETE'], level: 'object', writes: true, when: isEntity,
    permission: entity('d'), run: runWriteEntity },

  // Any letter suffices: each part is authorized by itself.
  { name: 'Entity Group Transaction', methods: ['POST'], level: 'container', writes: true, when: isBatch,
    permission: entity('raud'), bodyBytesMax: TABLE_BYTES_MAX,
    run: (call) => runEntityGroupTransaction(call, TABLE_TABLE) },
]

const ROWS: OperationTable<TableService> = tableOf(TABLE_OPERATIONS, tableLevel)

/** Finds rows by the effective method, which X-HTTP-Method may override. */
export const TABLE_TABLE: OperationTable<TableService> = {
  operations: TABLE_OPERATIONS,
  find(request) {
    const method = effectiveMethod(request)
    try {
      return ROWS.find(method === request.method ? request : { ...request, method })
    } catch (error) {
      if (!(error instanceof StorageError) || error.code !== 'UnsupportedHttpVerb') throw error
      throw new StorageError('MethodNotAllowed', error.details)
    }
  },
}
