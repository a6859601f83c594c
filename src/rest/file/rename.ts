// Rename File and Rename Directory: the request addresses the new path; a header has the URL of the old one.
import type { Permission } from '../../auth/permission.ts'
import type { AuthRequest } from '../../auth/request.ts'
import {
  decodeMetadata,
  optionalBoolean,
  optionalGuid,
  optionalHeader,
  requiredHeader,
} from '../../http/protocol/header.ts'
import type { Answer } from '../../http/door/operation.ts'
import { withoutSignature } from '../../http/protocol/signature-field.ts'
import { invalidHeader } from '../../storage/shared/error.ts'
import type { Named } from '../../storage/file/open/rest-guard.ts'
import { validators } from '../shared/answer-header.ts'
import { authorizeOther, requestOfUrl } from '../shared/other-resource.ts'
import { smbHeaders, WRITTEN } from './answer.ts'
import { afterBreaks } from './breaks.ts'
import { refuseConditions } from './file-header.ts'
import { fileAddress, pathOf, type FileCall } from './service.ts'
import { decodeSmbProperties } from './smb-header.ts'
import { type Rename, moveNode } from '../../storage/file/tree/rest-rename.ts'

const SOURCE = 'x-ms-file-rename-source'
const SOURCE_LENGTH_MAX = 2 * 1024
/** Removing the old name needs permission to write or to delete. */
const REMOVE_SOURCE: Permission = { resourceType: 'o', accountSas: 'wd', serviceSas: 'wd' }

export async function runRename(call: FileCall, named: Named): Promise<Answer> {
  const { request, service } = call
  const rename = await decodeRename(call, named)
  const moment = service.moment()
  const node = await afterBreaks(service, request, () =>
    service.kv.attempt((tx) => moveNode(tx, rename, moment)),
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

/** The path of the source in the share. Authorizes its URL like a request to remove it. */
async function decodeSource(call: FileCall, share: string): Promise<readonly string[]> {
  const { request } = call
  const text = requiredHeader(request.headers, SOURCE)
  const source = sourceRequest(call, text)
  const [sourceShare, path] = source?.path ?? []
  const isHere = source?.account === request.account && sourceShare === share && path !== undefined
  if (source === undefined || !isHere || source.query.get('sharesnapshot')) {
    throw invalidHeader(SOURCE, withoutSignature(text).slice(0, SOURCE_LENGTH_MAX))
  }
  await authorizeOther(call, source, REMOVE_SOURCE)
  return pathOf(source)
}

/** Some clients omit the account in the URL; it is then that of the request. */
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
