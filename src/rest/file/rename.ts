// Rename File and Rename Directory: the request is to the new place, and names the old one by its URL.
import type { Permission } from '../../auth/permission.ts'
import type { AuthRequest } from '../../auth/request.ts'
import {
  decodeMetadata,
  optionalBoolean,
  optionalGuid,
  optionalHeader,
  requiredHeader,
} from '../../http/header.ts'
import type { Answer } from '../../http/operation.ts'
import { withoutSignature } from '../../http/signature-field.ts'
import type { Step } from '../../kv/kv.ts'
import { invalidHeader, StorageError } from '../../storage/error.ts'
import {
  locateIn,
  type Existing,
  type FileAddress,
  type FileNode,
  type Located,
} from '../../storage/file/node.ts'
import type { FileTx } from '../../storage/file/open.ts'
import {
  checkNoOpensBelow,
  moveOpens,
  renameNode,
  type RenameChange,
} from '../../storage/file/rename.ts'
import {
  checkDirectoryStays,
  checkForWrite,
  checkNoLease,
  requireNamed,
  type Named,
} from '../../storage/file/rest-guard.ts'
import { requireView } from '../../storage/file/share.ts'
import type { Moment } from '../../storage/moment.ts'
import { validators } from '../answer-header.ts'
import { authorizeOther, requestOfUrl } from '../other-resource.ts'
import { smbHeaders, WRITTEN } from './answer.ts'
import { afterBreaks } from './breaks.ts'
import { refuseConditions } from './file-header.ts'
import { fileAddress, pathOf, type FileCall } from './service.ts'
import { decodeSmbProperties } from './smb-header.ts'

const SOURCE = 'x-ms-file-rename-source'
const SOURCE_LENGTH_MAX = 2 * 1024
/** Taking a file away from its old name needs permission to write or to delete it. */
const TAKE_AWAY: Permission = { resourceType: 'o', accountSas: 'wd', serviceSas: 'wd' }

type Rename = {
  readonly named: Named
  readonly source: readonly string[]
  readonly target: FileAddress
  readonly sourceLeaseId: string | undefined
  readonly targetLeaseId: string | undefined
  readonly replaces: boolean
  readonly ignoresReadOnly: boolean
  readonly change: Omit<RenameChange, 'headers'> & { readonly contentType: string | undefined }
}

export async function runRename(call: FileCall, named: Named): Promise<Answer> {
  const { request, service } = call
  const rename = await decodeRename(call, named)
  const moment = service.moment()
  const node = await afterBreaks(service, request, () =>
    service.kv.write((tx) => moveNode(tx, rename, moment)),
  )
  return { status: 200, headers: [...validators(node), ...WRITTEN, ...smbHeaders(node)] }
}

async function decodeRename(call: FileCall, named: Named): Promise<Rename> {
  const { request } = call
  const { headers } = request
  refuseConditions(request)
  const target = fileAddress(request)
  const replaces = optionalBoolean(headers, 'x-ms-file-rename-replace-if-exists') ?? false
  const ignoresReadOnly = optionalBoolean(headers, 'x-ms-file-rename-ignore-readonly') ?? false
  if (ignoresReadOnly && !replaces) throw invalidHeader('x-ms-file-rename-ignore-readonly', 'true')
  const metadata = decodeMetadata(request.rawHeaders)
  return {
    named,
    target,
    source: await decodeSource(call, target.share),
    sourceLeaseId: optionalGuid(headers, 'x-ms-source-lease-id'),
    targetLeaseId: optionalGuid(headers, 'x-ms-destination-lease-id'),
    replaces,
    ignoresReadOnly,
    change: {
      properties: decodeSmbProperties(request, 'rename', named),
      ...(metadata.length > 0 && { metadata }),
      contentType: optionalHeader(headers, 'x-ms-content-type'),
    },
  }
}

function* moveNode(tx: FileTx, rename: Rename, moment: Moment): Step<FileNode> {
  const { share, view } = yield* requireView(tx, rename.target)
  const source = requireNamed(yield* locateIn(tx, share, view, rename.source), rename.named)
  const target = yield* locateIn(tx, share, view, rename.target.path)
  const checked = yield* checkSource(tx, source, rename, moment.nowMs)
  yield* checkTarget(tx, checked, target, rename, moment.nowMs)
  const change = changeOf(rename, checked.node)
  const renamed = yield* renameNode(tx, checked, target, change, moment)
  yield* moveOpens(tx, target, renamed, rename.target.path)
  return renamed
}

function changeOf({ change }: Rename, node: FileNode): RenameChange {
  const { contentType, ...rest } = change
  return contentType === undefined ? rest : { ...rest, headers: { ...node.headers, contentType } }
}

/** The source may be read-only: its name is not its content. */
function* checkSource(
  tx: FileTx,
  source: Existing,
  { named, sourceLeaseId }: Rename,
  nowMs: number,
): Step<Existing> {
  const guard = {
    operation: 'Rename',
    ignoresReadOnly: true,
    ...(sourceLeaseId !== undefined && { leaseId: sourceLeaseId }),
  } as const
  const checked = yield* checkForWrite(tx, source, guard, nowMs)
  if (named === 'directory') yield* checkNoOpensBelow(tx, source.view, source.node)
  return checked
}

/**
 * Only a file may be replaced, and only if it is said so: by a file, or by a directory, as recorded answers show. To
 * change the case alone is no conflict.
 */
function* checkTarget(
  tx: FileTx,
  source: Existing,
  target: Located,
  { named, replaces, ignoresReadOnly, targetLeaseId }: Rename,
  nowMs: number,
): Step<void> {
  const { node } = target
  if (target.name === '') throw new StorageError('ResourceAlreadyExists')
  yield* checkDirectoryStays(tx, target)
  if (node === undefined) return checkNoLease(targetLeaseId, nowMs)
  if (node.nodeId === source.node.nodeId) return
  if (!replaces) throw new StorageError('ResourceAlreadyExists')
  if (node.kind === 'directory') {
    throw new StorageError(named === 'file' ? 'ResourceTypeMismatch' : 'ResourceAlreadyExists')
  }
  const guard = {
    operation: 'Rename Target',
    ignoresReadOnly,
    ...(targetLeaseId !== undefined && { leaseId: targetLeaseId }),
  } as const
  yield* checkForWrite(tx, { ...target, node }, guard, nowMs)
}

/** The path of the source in the share, once its URL has been authorized as a request to take it away would be. */
async function decodeSource(call: FileCall, share: string): Promise<readonly string[]> {
  const { request } = call
  const text = requiredHeader(request.headers, SOURCE)
  const asked = sourceRequest(call, text)
  const [sourceShare, path] = asked?.path ?? []
  const isHere = asked?.account === request.account && sourceShare === share && path !== undefined
  if (asked === undefined || !isHere || asked.query.get('sharesnapshot')) {
    throw invalidHeader(SOURCE, withoutSignature(text).slice(0, SOURCE_LENGTH_MAX))
  }
  await authorizeOther(call, asked, TAKE_AWAY)
  return pathOf(asked)
}

/** Some clients leave the account out of the URL; it is the request's then. */
function sourceRequest({ request, service }: FileCall, text: string): AuthRequest | undefined {
  if (text.length > SOURCE_LENGTH_MAX) return undefined
  const { accounts, copySources } = service
  const origin = { request, accounts, pathStyleOnly: copySources.pathStyleOnly }
  const dots = request.headers['x-ms-source-allow-trailing-dot']
  const headers = dots === undefined ? {} : { 'x-ms-allow-trailing-dot': dots }
  const fallbackAccount = request.account
  const { method } = request
  return requestOfUrl(origin, text, { service: 'file', method, headers, fallbackAccount })
}
