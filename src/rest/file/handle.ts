// List Handles and Force Close Handles. Both also work on files marked for deletion: closing the last handle deletes
// them.
import { formatHttpDate } from '../../http/protocol/date.ts'
import {
  decodeConditions,
  optionalBoolean,
  optionalHeader,
  requiredHeader,
} from '../../http/protocol/header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import {
  XML_DECLARATION,
  xmlElement,
  xmlNameElement,
  xmlOptional,
} from '../../http/protocol/xml.ts'
import type { ReadTx, Step } from '../../kv/kv.ts'
import { checkNoConditions } from '../../storage/shared/condition.ts'
import { invalidHeader, invalidQuery } from '../../storage/shared/error.ts'
import {
  closeHandles,
  listHandles,
  type ClosedHandles,
  type HandlePage,
  type HandlePosition,
  type HandleQuery,
} from '../../storage/file/open/handle.ts'
import {
  locate,
  requireNode,
  type Existing,
  type FileAddress,
} from '../../storage/file/tree/node.ts'
import {
  SHARE_DELETE,
  SHARE_READ,
  SHARE_WRITE,
  type FileOpen,
  type FileTx,
} from '../../storage/file/open/open.ts'
import { sharedAccessOf } from '../../storage/file/open/rest-access.ts'
import type { Moment } from '../../node/moment.ts'
import { decodeMaxResults } from '../shared/list-query.ts'
import { fileAddressAt, type FileCall } from './service.ts'

/** The most handles that one request closes; the marker continues from there. */
const CLOSE_COUNT_MAX = 1_000

export async function runListHandles({ request, service }: FileCall): Promise<Answer> {
  checkNoConditions(decodeConditions(request.headers))
  const [address, after] = [fileAddressAt(request), decodeMarker(request)]
  const range = { countMax: decodeMaxResults(request), ...(after && { after }) }
  const page = await service.kv.read((tx) => handlesAt(tx, address, request, range))
  const headers = ['Content-Type', 'application/xml']
  return { status: 200, headers, body: handlesXml(page, request.version) }
}

type HandleRange = Omit<HandleQuery, 'isRecursive'>

function* handlesAt(
  tx: ReadTx,
  address: FileAddress,
  request: Request,
  range: HandleRange,
): Step<HandlePage> {
  const found = requireNode(yield* locate(tx, address))
  const isRecursive = decodeRecursive(request, found)
  return yield* listHandles(tx, found, { isRecursive, ...range })
}

export async function runForceCloseHandles({ request, service }: FileCall): Promise<Answer> {
  checkNoConditions(decodeConditions(request.headers))
  const [address, after] = [fileAddressAt(request), decodeMarker(request)]
  const openId = decodeHandleId(request)
  const range = { countMax: CLOSE_COUNT_MAX, ...(after && { after }), ...openId }
  const moment = service.moment()
  const { closedCount, next } = await service.kv.write((tx) =>
    closeHandlesAt(tx, address, request, range, moment),
  )
  const marker = next === undefined ? [] : ['x-ms-marker', markerOf(next)]
  return {
    status: 200,
    headers: [
      ...marker,
      'x-ms-number-of-handles-closed', String(closedCount),
      'x-ms-number-of-handles-failed', '0',
    ], // prettier-ignore
  }
}

function* closeHandlesAt(
  tx: FileTx,
  address: FileAddress,
  request: Request,
  range: HandleRange & { readonly openId?: number },
  moment: Moment,
): Step<ClosedHandles> {
  const found = requireNode(yield* locate(tx, address))
  const isRecursive = decodeRecursive(request, found)
  return yield* closeHandles(tx, found, { isRecursive, ...range }, moment)
}

/** Only a directory can be recursed into. */
function decodeRecursive({ headers }: Request, { node }: Existing): boolean {
  const isRecursive = optionalBoolean(headers, 'x-ms-recursive')
  if (isRecursive === undefined) return false
  if (node.kind === 'directory') return isRecursive
  throw invalidHeader('x-ms-recursive', optionalHeader(headers, 'x-ms-recursive') ?? '')
}

/** `*` means every handle. An unknown number matches no handle. */
function decodeHandleId({ headers }: Request): { readonly openId?: number } {
  const text = requiredHeader(headers, 'x-ms-handle-id')
  if (text === '*') return {}
  if (!/^\d{1,20}$/.test(text)) throw invalidHeader('x-ms-handle-id', text)
  return { openId: Number(text) }
}

function markerOf({ nodeId, openId }: HandlePosition): string {
  return Buffer.from(`${nodeId}:${openId}`).toString('base64url')
}

function decodeMarker({ query }: Request): HandlePosition | undefined {
  const marker = query.get('marker')
  if (marker === undefined || marker === '') return undefined
  const text = Buffer.from(marker, 'base64url').toString('latin1')
  const [, node, open] = /^(\d{1,16}):(\d{1,16})$/.exec(text) ?? []
  const [nodeId, openId] = [Number(node), Number(open)]
  if (!Number.isSafeInteger(nodeId) || !Number.isSafeInteger(openId)) {
    throw invalidQuery('marker', marker)
  }
  return { nodeId, openId }
}

function handlesXml({ opens, next }: HandlePage, version: string): string {
  const entries = opens.map((open) => handleXml(open, version)).join('')
  const list = entries === '' ? '<Entries />' : `<Entries>${entries}</Entries>`
  const marker = xmlElement('NextMarker', next === undefined ? '' : markerOf(next))
  return `${XML_DECLARATION}<EnumerationResults>${list}${marker}</EnumerationResults>`
}

function handleXml(open: FileOpen, version: string): string {
  const { clientName, reconnectedMs } = open
  return (
    `<Handle>${xmlElement('HandleId', String(open.openId))}` +
    xmlNameElement('Path', open.path) +
    xmlElement('FileId', String(open.nodeId)) +
    xmlElement('ParentId', String(open.parentId)) +
    xmlElement('SessionId', open.sessionId) +
    accessRightsXml(open, version) +
    xmlElement('ClientIp', open.clientIp) +
    xmlOptional('ClientName', clientName) +
    xmlElement('OpenTime', formatHttpDate(open.openedMs)) +
    xmlOptional('LastReconnectTime', reconnectedMs && formatHttpDate(reconnectedMs)) +
    '</Handle>'
  )
}

const RIGHTS = [
  ['Read', SHARE_READ],
  ['Write', SHARE_WRITE],
  ['Delete', SHARE_DELETE],
] as const

function accessRightsXml({ access }: FileOpen, version: string): string {
  if (version < ACCESS_RIGHTS_SINCE) return ''
  const rights = RIGHTS.filter(([, bit]) => (sharedAccessOf(access) & bit) !== 0)
  if (rights.length === 0) return '<AccessRightList />'
  const names = rights.map(([name]) => xmlElement('AccessRight', name)).join('')
  return `<AccessRightList>${names}</AccessRightList>`
}

const ACCESS_RIGHTS_SINCE = '2023-01-03'
