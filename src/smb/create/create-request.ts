// Turns a CREATE into a request of storage/file/open/smb-open.ts. The order of the checks follows [MS-SMB2] 3.3.5.9 and
// [MS-FSA] 2.1.5.1.
import { SETTABLE_ATTRIBUTES } from '../../storage/file/tree/attributes.ts'
import { decodeDesiredAccess } from '../../storage/file/open/open-access.ts'
import { FILE_BYTES_MAX } from '../../storage/file/bytes/range.ts'
import { creatorOf, type SmbIdentity } from '../../storage/file/security/smb-identity.ts'
import type { Disposition, OpenRequest } from '../../storage/file/open/smb-open.ts'
import { requireDisk, requireSession, type SmbCall } from '../call.ts'
import { cacheRequestOf } from './create-cache.ts'
import { persistentTermsOf } from '../handle/durable.ts'
import { decodeFilePath, type FilePath } from '../handle/file-path.ts'
import { SmbError } from '../smb-error.ts'
import { CREATE_OPTION, DISPOSITION, type CreateRequest } from '../wire/file/create.ts'
import { decodeFiletime } from '../wire/filetime.ts'

const DISPOSITIONS: ReadonlyMap<number, Disposition> = new Map(
  Object.entries(DISPOSITION).map(([name, number]) => [number, name as Disposition]),
)

/** Bits without a meaning. */
const OPTIONS_RESERVED = 0xff00_0000
/** FILE_CREATE_TREE_CONNECTION, FILE_OPEN_BY_FILE_ID, FILE_RESERVE_OPFILTER: refused, as Windows does. */
const OPTIONS_REFUSED = 0x0000_0080 | CREATE_OPTION.openByFileId | 0x0010_0000
/** The valid FILE_ATTRIBUTE_* bits. Those that can't be set are ignored. */
const ATTRIBUTES_KNOWN = 0x0000_7fb7
const TEMPORARY = 0x100
const ENCRYPTED = 0x4000
const SHARE_ALL = 0x7

const OVERWRITES: ReadonlySet<Disposition> = new Set(['supersede', 'overwrite', 'overwriteIf'])

export function openRequestOf(call: SmbCall, request: CreateRequest): OpenRequest {
  const tree = requireDisk(call)
  const { world } = call
  const { options } = request
  const disposition = DISPOSITIONS.get(request.disposition)
  if (disposition === undefined) throw new SmbError('INVALID_PARAMETER')
  checkOptions(request, disposition)
  const desiredAccess = decodeDesiredAccess(request.desiredAccess)
  checkAttributes(request)
  const { path, snapshotMs, isDirectory } = pathOf(request)
  const deleteOnClose = (options & CREATE_OPTION.deleteOnClose) !== 0
  if ((request.contexts.allocationSize ?? 0n) > FILE_BYTES_MAX) throw new SmbError('DISK_FULL')
  const wants = wantsOf(options)
  const open = openerOf(call, request)
  const session = requireSession(call)
  const { identity } = session
  const persistent = persistentTermsOf(session, tree, request, modeOf(options))
  if (isDirectory && wants === 'file') throw new SmbError('OBJECT_NAME_INVALID')
  return {
    address: { account: tree.account, share: tree.share },
    shareId: tree.shareId,
    ...(snapshotMs !== undefined && { snapshotMs }),
    path,
    disposition,
    wants,
    desiredAccess,
    open: { ...open, ...(deleteOnClose && { deleteOnClose }), ...(persistent && { persistent }) },
    properties: newPropertiesOf(request, identity),
    cache: cacheRequestOf(session, request, open.openId),
    newNodeId: world.newId(),
    ...(identity && { identity }),
  }
}

/** FILE_MODE_INFORMATION ([MS-FSCC] 2.4.31): the options that stay in effect. */
const MODE =
  CREATE_OPTION.writeThrough |
  CREATE_OPTION.sequentialOnly |
  CREATE_OPTION.noIntermediateBuffering |
  CREATE_OPTION.synchronousAlert |
  CREATE_OPTION.synchronousNonAlert |
  CREATE_OPTION.deleteOnClose

export function modeOf(options: number): number {
  return options & MODE
}

function checkOptions({ options, shareAccess }: CreateRequest, disposition: Disposition): void {
  if ((options & OPTIONS_RESERVED) !== 0) throw new SmbError('INVALID_PARAMETER')
  if ((options & OPTIONS_REFUSED) !== 0) throw new SmbError('NOT_SUPPORTED')
  if ((shareAccess & ~SHARE_ALL) !== 0) throw new SmbError('INVALID_PARAMETER')
  if ((options & CREATE_OPTION.directoryFile) === 0) return
  const isFile = (options & CREATE_OPTION.nonDirectoryFile) !== 0
  if (isFile || OVERWRITES.has(disposition)) throw new SmbError('INVALID_PARAMETER')
}

function checkAttributes({ fileAttributes, options, contexts }: CreateRequest): void {
  if ((fileAttributes & ~ATTRIBUTES_KNOWN) !== 0) throw new SmbError('INVALID_PARAMETER')
  const isDirectory = (options & CREATE_OPTION.directoryFile) !== 0
  if (isDirectory && (fileAttributes & TEMPORARY) !== 0) throw new SmbError('INVALID_PARAMETER')
  if ((fileAttributes & ENCRYPTED) !== 0) throw new SmbError('ACCESS_DENIED')
  if (contexts.extendedAttributes !== undefined) throw new SmbError('EAS_NOT_SUPPORTED')
}

/** A context or the path names the snapshot; a time of 0 means none. */
function pathOf({ name, contexts }: CreateRequest): FilePath {
  if (name.startsWith('\\')) throw new SmbError('INVALID_PARAMETER')
  const decoded = decodeFilePath(name)
  const { timewarp } = contexts
  if (timewarp === undefined || timewarp === 0n) return decoded
  return { ...decoded, snapshotMs: decodeFiletime(timewarp).ms }
}

function wantsOf(options: number): OpenRequest['wants'] {
  if ((options & CREATE_OPTION.directoryFile) !== 0) return 'directory'
  return (options & CREATE_OPTION.nonDirectoryFile) !== 0 ? 'file' : 'any'
}

function openerOf(call: SmbCall, { shareAccess }: CreateRequest) {
  const { world, connection } = call
  const session = requireSession(call)
  return {
    openId: world.newId(),
    shareAccess,
    sessionId: String(session.id),
    ...(session.identity && { clientName: session.identity.name }),
    clientIp: `${connection.clientIp}:${connection.clientPort}`,
    openedMs: world.moment().nowMs,
  }
}

function newPropertiesOf(
  { fileAttributes, contexts }: CreateRequest,
  identity: SmbIdentity | undefined,
): OpenRequest['properties'] {
  const { securityDescriptor } = contexts
  return {
    attributes: fileAttributes & SETTABLE_ATTRIBUTES,
    ...(securityDescriptor !== undefined && { descriptorBytes: securityDescriptor }),
    ...(identity !== undefined && { creator: creatorOf(identity) }),
  }
}
