// Hard and symbolic links, for shares with NFS only. The server stores the text of a symbolic link but never follows
// it.
import type { Permission } from '../../auth/permission.ts'
import {
  decodeMetadata,
  optionalWord,
  requiredHeader,
  type HeaderFields,
} from '../../http/protocol/header.ts'
import type { Answer } from '../../http/door/operation.ts'
import { decodePercent } from '../../http/protocol/query.ts'
import { invalidHeader, StorageError } from '../../storage/shared/error.ts'
import { parseFilePath } from '../../storage/file/tree/file-name.ts'
import { checkNfs } from '../../storage/file/tree/link.ts'
import { locate, requireNode } from '../../storage/file/tree/node.ts'
import { validators } from '../shared/answer-header.ts'
import { authorizeOther } from '../shared/other-resource.ts'
import { smbHeaders } from './answer.ts'
import { afterBreaks } from './breaks.ts'
import { fileGuard, refuseConditions } from './file-header.ts'
import { fileAddress, fileAddressAt, type FileCall } from './service.ts'
import { decodeSmbProperties } from './smb-header.ts'
import { addHardLink, addSymbolicLink } from '../../storage/file/tree/rest-change.ts'

const TARGET = 'x-ms-file-target-file'
const LINK_TEXT = 'x-ms-link-text'
const TEXT_LENGTH_MAX = 2 * 1024
/** A hard link changes its target, which gets one more name. */
const LINK_TARGET: Permission = { resourceType: 'o', accountSas: 'cw', serviceSas: 'cw' }

export async function runCreateHardLink(call: FileCall): Promise<Answer> {
  const { request, service } = call
  const address = fileAddress(request)
  optionalWord(request.headers, 'x-ms-type', ['file'])
  const path = parseFilePath(decodeTarget(request.headers), { allowTrailingDot: true })
  // A hard link makes its target accessible under another name, so the SAS has to cover the target too.
  await authorizeOther(call, { ...request, path: [address.share, path.join('/')] }, LINK_TARGET)
  const guard = fileGuard(request, 'Set Metadata')
  const moment = service.moment()
  const node = await afterBreaks(service, request, () =>
    service.kv.attempt((tx) => addHardLink(tx, address, path, guard, moment)),
  )
  return { status: 201, headers: [...validators(node), ...smbHeaders(node)] }
}

/** The path from the share's root. */
function decodeTarget(headers: HeaderFields): string {
  return decodeText(headers, TARGET).replace(/^\/+/, '')
}

/** Percent-encoded, since headers are limited to Latin-1. */
function decodeText(headers: HeaderFields, name: string): string {
  const text = requiredHeader(headers, name)
  if (text.length > TEXT_LENGTH_MAX) throw invalidHeader(name, text.slice(0, TEXT_LENGTH_MAX))
  return decodePercent(text)
}

export async function runCreateSymbolicLink({ request, service }: FileCall): Promise<Answer> {
  refuseConditions(request)
  const address = fileAddress(request)
  const link = {
    nodeId: service.newId(),
    properties: decodeSmbProperties(request, 'create'),
    metadata: decodeMetadata(request.rawHeaders),
    linkText: decodeText(request.headers, LINK_TEXT),
  }
  const moment = service.moment()
  const node = await service.kv.write((tx) => addSymbolicLink(tx, address, link, moment))
  return { status: 201, headers: [...validators(node), ...smbHeaders(node)] }
}

export async function runGetSymbolicLink({ request, service }: FileCall): Promise<Answer> {
  refuseConditions(request)
  const address = fileAddressAt(request)
  const located = await service.kv.read((tx) => locate(tx, address))
  checkNfs(located.share)
  const { node } = requireNode(located, 'symlink')
  if (node.linkText === undefined) throw new StorageError('ResourceTypeMismatch')
  return { status: 200, headers: [...validators(node), LINK_TEXT, encodeURI(node.linkText)] }
}
