// Query, get, create and delete tables, and their access policies: decode once, call storage, encode.
import type { Identity } from '../../auth/identity.ts'
import {
  ACL_BYTES_MAX,
  decodeSignedIdentifiers,
  encodeSignedIdentifiers,
} from '../shared/access-policy-xml.ts'
import type { Answer } from '../../http/door/operation.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { leavingName, takingName } from '../../storage/shared/held-name.ts'
import { checkTableName } from '../../storage/shared/name.ts'
import {
  createTable,
  deleteTable,
  getTable,
  listTables,
  requireTable,
  setTableAcl,
} from '../../storage/table/table.ts'
import { namedTable, tableAddress, tablePath } from './address.ts'
import { decodeTableName } from './payload-decode.ts'
import { encodeTable, encodeTables } from './payload-encode.ts'
import {
  checkJsonBody,
  decodeFormat,
  decodePrefer,
  jsonHeaders,
  TABLE_HEADERS,
} from './payload-format.ts'
import {
  checkQueryOptions,
  decodeContinuation,
  decodeFilter,
  decodeTop,
  encodeContinuation,
} from './query-option.ts'
import { reusedTable, type TableCall } from './service.ts'

/** Enough for a name of 63 letters with annotations. */
export const TABLE_NAME_BYTES_MAX = 64 * 1024

export async function runQueryTables({ request, service }: TableCall): Promise<Answer> {
  checkQueryOptions(request)
  const { account, endpoint } = request
  const level = decodeFormat(request)
  const list = {
    ...decodeFilter(request, 'table'),
    countMax: decodeTop(request),
    start: decodeContinuation(request, 'NextTableName'),
  }
  const { tables, next } = await service.kv.read((tx) => listTables(tx, account, list))
  const headers = [...jsonHeaders(level)]
  if (next !== undefined) {
    headers.push('x-ms-continuation-NextTableName', encodeContinuation(next))
  }
  const names = tables.map(({ name }) => name)
  return { status: 200, headers, body: encodeTables({ account, endpoint, level }, names) }
}

export async function runGetTable({ request, service }: TableCall): Promise<Answer> {
  const { account, endpoint } = request
  const address = namedTable(request)
  const level = decodeFormat(request)
  const table = await service.kv.read((tx) => getTable(tx, address))
  if (table === undefined) throw new StorageError('ResourceNotFound')
  const body = encodeTable({ account, endpoint, level }, table.name)
  return { status: 200, headers: jsonHeaders(level), body }
}

export async function runCreateTable({ request, service }: TableCall): Promise<Answer> {
  const { account, endpoint } = request
  checkJsonBody(request)
  const name = decodeTableName(await request.body.read(TABLE_NAME_BYTES_MAX))
  checkTableName(name)
  const level = decodeFormat(request)
  const preference = decodePrefer(request)
  const id = service.newId()
  const address = { account, table: name }
  const [taken, { nowMs }] = [reusedTable(service, address), service.moment()]
  await service.kv.write((tx) => takingName(tx, taken, nowMs, createTable(tx, address, id)))
  const location = `${endpoint}/${tablePath(name)}`
  const applied = preference === undefined ? [] : ['Preference-Applied', preference]
  if (preference === 'return-no-content') {
    const headers = [...TABLE_HEADERS, ...applied, 'Location', location, 'DataServiceId', location]
    return { status: 204, headers }
  }
  const body = encodeTable({ account, endpoint, level }, name)
  return { status: 201, headers: [...jsonHeaders(level), ...applied, 'Location', location], body }
}

export async function runDeleteTable({ request, service }: TableCall): Promise<Answer> {
  const address = namedTable(request)
  const [left, { nowMs }] = [reusedTable(service, address), service.moment()]
  await service.kv.write((tx) => leavingName(tx, left, nowMs, deleteTable(tx, address)))
  return { status: 204, headers: TABLE_HEADERS }
}

/** Recorded: a token can't access stored policies; the answer is 404. */
function refuseToken(identity: Identity): void {
  if (identity.kind === 'bearer') throw new StorageError('ResourceNotFound')
}

export async function runGetTableAcl({ request, identity, service }: TableCall): Promise<Answer> {
  refuseToken(identity)
  const address = tableAddress(request)
  const { policies } = await service.kv.read((tx) => requireTable(tx, address))
  const headers = ['Content-Type', 'application/xml']
  return { status: 200, headers, body: encodeSignedIdentifiers(policies) }
}

export async function runSetTableAcl({ request, identity, service }: TableCall): Promise<Answer> {
  refuseToken(identity)
  const address = tableAddress(request)
  const policies = decodeSignedIdentifiers('table', await request.body.read(ACL_BYTES_MAX))
  await service.kv.write((tx) => setTableAcl(tx, address, policies))
  return { status: 204, headers: [] }
}
