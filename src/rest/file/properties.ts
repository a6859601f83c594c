// Get and Set Properties and Metadata of directories and files.
import { decodeMetadata, metadataHeaders, optionalInt } from '../../http/protocol/header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import type { NodeChange } from '../../storage/file/tree/file-properties.ts'
import type { FileNode } from '../../storage/file/tree/node.ts'
import { FILE_BYTES_MAX } from '../../storage/file/bytes/range.ts'
import {
  isReadOnly,
  requireForRead,
  type FileGuard,
  type Named,
} from '../../storage/file/open/rest-guard.ts'
import { validators, withOverrides } from '../shared/answer-header.ts'
import { fileHeaders, smbHeaders, WRITTEN } from './answer.ts'
import { afterBreaks } from './breaks.ts'
import { decodeContentChange, fileGuard } from './file-header.ts'
import { fileAddress, fileAddressAt, type FileCall } from './service.ts'
import { decodeSmbProperties } from './smb-header.ts'
import { changeMetadata, changeProperties } from '../../storage/file/tree/rest-change.ts'

export async function runGetDirectoryProperties(call: FileCall): Promise<Answer> {
  const node = await read(call, 'directory')
  const metadata = metadataHeaders(node.metadata)
  return {
    status: 200,
    headers: [
      ...metadata,
      ...validators(node),
      'x-ms-server-encrypted',
      'false',
      ...smbHeaders(node),
    ],
  }
}

export async function runGetFileProperties(call: FileCall): Promise<Answer> {
  const node = await read(call, 'file')
  const isCurrent = !call.request.query.get('sharesnapshot')
  const { nowMs } = call.service.moment()
  const headers = fileHeaders(node, undefined, isCurrent ? nowMs : undefined)
  return { status: 200, headers: withOverrides(headers, call.identity) }
}

export async function runGetMetadata(call: FileCall, named: Named): Promise<Answer> {
  const node = await read(call, named)
  return { status: 200, headers: [...validators(node), ...metadataHeaders(node.metadata)] }
}

async function read({ request, service }: FileCall, named: Named): Promise<FileNode> {
  const address = fileAddressAt(request)
  const guard = fileGuard(request, 'Get Properties')
  const { nowMs } = service.moment()
  const existing = await afterBreaks(service, request, () =>
    service.kv.attemptRead((tx) => requireForRead(tx, address, named, guard, nowMs)),
  )
  return existing.node
}

export async function runSetMetadata(call: FileCall, named: Named): Promise<Answer> {
  const { request, service } = call
  const metadata = decodeMetadata(request.rawHeaders)
  const target = { address: fileAddress(request), named }
  const guard = changeGuard(request, 'Set Metadata', named)
  const moment = service.moment()
  const node = await afterBreaks(service, request, () =>
    service.kv.attempt((tx) => changeMetadata(tx, target, guard, metadata, moment)),
  )
  return { status: 200, headers: [...validators(node), ...WRITTEN] }
}

export async function runSetDirectoryProperties(call: FileCall): Promise<Answer> {
  const properties = decodeSmbProperties(call.request, 'set', 'directory')
  return setProperties(call, 'directory', { properties })
}

/** If any content header is sent, all of them change; otherwise none does. */
export async function runSetFileProperties(call: FileCall): Promise<Answer> {
  const { request, service } = call
  const properties = decodeSmbProperties(request, 'set')
  const bounds = { min: 0, max: FILE_BYTES_MAX }
  const lengthBytes = optionalInt(request.headers, 'x-ms-content-length', bounds)
  const headers = decodeContentChange(request.headers)
  return setProperties(call, 'file', {
    properties,
    ...(headers !== undefined && { headers }),
    ...(lengthBytes !== undefined && { resize: { lengthBytes, newId: service.newId() } }),
  })
}

async function setProperties(
  { request, service }: FileCall,
  named: Named,
  change: NodeChange,
): Promise<Answer> {
  const target = { address: fileAddress(request), named }
  const { attributes } = change.properties
  // A request may clear ReadOnly on a read-only file, as AzCopy does for --force-if-read-only.
  const clearsReadOnly = typeof attributes === 'number' && !isReadOnly({ attributes })
  const guard = changeGuard(request, 'Set Properties', named, clearsReadOnly)
  const moment = service.moment()
  const node = await afterBreaks(service, request, () =>
    service.kv.attempt((tx) => changeProperties(tx, target, guard, change, moment)),
  )
  return { status: 200, headers: [...validators(node), ...WRITTEN, ...smbHeaders(node)] }
}

/** As in Windows, ReadOnly on a directory prevents its deletion but not its change. */
function changeGuard(
  request: Request,
  operation: 'Set Properties' | 'Set Metadata',
  named: Named,
  clearsReadOnly = false,
): FileGuard {
  const ignoresReadOnly = named === 'directory' || clearsReadOnly
  return { ...fileGuard(request, operation), ignoresReadOnly }
}
