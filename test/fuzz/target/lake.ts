// Data Lake Storage: which requests are for it, their queries, access control, properties and other headers.
import type { Request } from '../../../src/http/door/operation.ts'
import { resolvePath } from '../../../src/http/door/resource-path.ts'
import { parseQuery } from '../../../src/http/protocol/query.ts'
import {
  encodePathContinuation,
  decodePathContinuation,
} from '../../../src/rest/datalake/continuation.ts'
import { endpointOf } from '../../../src/rest/datalake/endpoint.ts'
import { LAKE_TABLE } from '../../../src/rest/datalake/operations.ts'
import {
  decodeContentHeaders,
  decodeEncryptionContext,
  decodeLeaseUse,
  decodeNewAccess,
  decodeNewLease,
} from '../../../src/rest/datalake/path-header.ts'
import { decodeProperties, propertiesHeaders } from '../../../src/rest/datalake/property.ts'
import {
  countQuery,
  optionalBooleanQuery,
  pathAddress,
  wordQuery,
  type LakeCall,
} from '../../../src/rest/datalake/service.ts'
import { decodePermissionBody } from '../../../src/rest/file/permission.ts'
import {
  formatAcl,
  parseAcl,
  parseAclEntries,
  parseAclEntryNames,
} from '../../../src/storage/blob/access/acl-text.ts'
import { parseMode, parseUmask } from '../../../src/storage/blob/access/permissions.ts'
import { StorageError } from '../../../src/storage/shared/error.ts'
import { target } from '../target.ts'

const VERSION = '2025-11-05'
const ACL =
  'user::rwx,user:00000000-0000-4000-8000-000000000000:r-x,group::r-x,mask::r-x,other::---,default:user::rwx,default:group::r-x,default:other::---'

function attempt(decode: () => unknown): unknown {
  try {
    return decode() ?? 'nothing'
  } catch (error) {
    if (error instanceof StorageError) return error.code
    throw error
  }
}

/** A request line and headers, as the door hands them on. */
function requestOf(input: Buffer): Request {
  const [line = '', ...lines] = input.toString('latin1').split('\n')
  const [method = '', target = ''] = line.split(' ')
  const [resource = '', search = ''] = target.replace(/^\//, '').split(/\?(.*)/s)
  const pairs = lines.map((each) => each.split(/:(.*)/s))
  const headers = Object.fromEntries(
    pairs.map(([name = '', value = '']) => [name.toLowerCase(), value]),
  )
  const query = parseQuery(search)
  const context = { query, headers, version: VERSION }
  return {
    ...context,
    method,
    account: 'a',
    path: resolvePath('dfs', resource, context),
  } as Request
}

const QUERY_DECODERS: readonly ((request: Request) => unknown)[] = [
  (request) => LAKE_TABLE.find(request).name,
  (request) => decodePathContinuation(request),
  (request) => pathAddress({ request, identity: { kind: 'sharedKey' } } as LakeCall),
  (request) => optionalBooleanQuery(request, 'recursive'),
  (request) => wordQuery(request, 'mode', ['set', 'modify', 'remove']),
  (request) => countQuery(request, 'maxResults', 5_000),
  (request) =>
    endpointOf(
      {
        method: request.method,
        target: request.path.join('/'),
        headers: request.headers,
      } as Parameters<typeof endpointOf>[0],
      { accounts: { get: () => undefined }, pathStyleOnly: false, port: 'blob' },
    ),
]

const HEADER_DECODERS: readonly ((request: Request) => unknown)[] = [
  decodeNewAccess,
  decodeContentHeaders,
  decodeNewLease,
  decodeEncryptionContext,
  (request) => decodeLeaseUse(request, false),
  (request) => decodeLeaseUse(request, true),
]

export const LAKE_TARGETS = [
  target({
    name: 'acl',
    seeds: [ACL, 'user::rwx,group::r-x,other::---'],
    words: ['user:', 'group:', 'mask::', 'other::', 'default:', 'rwx', '---', ',', ':', '$superuser'],
    decode: (input) => parseAcl(input.toString('latin1')),
    again: (acl) => parseAcl(formatAcl(acl)),
    refuses: [StorageError],
  }),
  target({
    name: 'acl-change',
    seeds: [ACL, 'user:x,mask,default:group', 'default:user:y:'],
    words: ['user:', 'group', 'mask', 'default:', 'rwx', ',', ':'],
    decode: (input) => {
      const text = input.toString('latin1')
      const [mode, umask] = [parseMode(text), parseUmask(text)]
      return [attempt(() => parseAclEntries(text)), attempt(() => parseAclEntryNames(text)), mode, umask]
    },
    refuses: [],
  }),
  target({
    name: 'lake-properties',
    seeds: ['a=Yg==,c=', 'name=w7zDtg=='],
    words: ['=', ',', '==', 'Yg==', '__proto__=', ' '],
    decode: (input) => decodeProperties({ headers: { 'x-ms-properties': input.toString('latin1') } }),
    again: (metadata) => {
      const [, value] = metadata === undefined ? [] : propertiesHeaders(metadata)
      return value === undefined ? undefined : decodeProperties({ headers: { 'x-ms-properties': value } })
    },
    refuses: [StorageError],
  }),
  target({
    name: 'lake-query',
    seeds: [
      'GET /fs?resource=filesystem&recursive=true&directory=a/b&maxResults=5&continuation=YQ',
      'PATCH /fs/a?action=append&position=0&flush=true&close=true',
      'PUT /fs/a/b?resource=file&mode=posix\nx-ms-rename-source:/fs/c',
      'HEAD /fs/a?action=checkAccess&fsAction=r--&upn=true',
      'PUT /fs/a?action=flush&position=5\nx-http-method-override:PATCH',
      'GET /?resource=account&prefix=x',
    ],
    words: ['resource=', 'filesystem', 'directory=', 'action=', 'recursive=', '&', '?', '%2e%2e/', '%2F', '\\', 'continuation=', '\nx-http-method-override:PATCH'],
    decode: (input) => {
      const request = requestOf(input)
      return QUERY_DECODERS.map((decode) => attempt(() => decode(request)))
    },
    refuses: [StorageError],
  }),
  target({
    name: 'lake-headers',
    seeds: [
      `PUT /fs/a\nx-ms-acl:${ACL}\nx-ms-umask:0027\nx-ms-owner:o\nx-ms-group:g`,
      'PUT /fs/a\nx-ms-permissions:rwxr-x--T+\nx-ms-proposed-lease-id:00000000-0000-4000-8000-000000000000\nx-ms-lease-duration:-1',
      'PATCH /fs/a\nx-ms-lease-action:acquire-release\nx-ms-proposed-lease-id:00000000-0000-4000-8000-000000000000\nx-ms-lease-duration:15',
      'PUT /fs/a\nx-ms-content-md5:XUFAKrxLKna5cZ2REBfFkg==\nx-ms-cache-control:no-cache\nx-ms-encryption-context:YQ==',
    ],
    words: ['\nx-ms-acl:', '\nx-ms-permissions:', '\nx-ms-umask:', '\nx-ms-lease-action:', 'auto-renew', '\nx-ms-lease-id:', '1777', ':'],
    decode: (input) => {
      const request = requestOf(input)
      return HEADER_DECODERS.map((decode) => attempt(() => decode(request)))
    },
    refuses: [StorageError],
  }),
  target({
    name: 'lake-continuation',
    seeds: [encodePathContinuation('a/b') ?? '', encodePathContinuation('\u{1f600}') ?? ''],
    words: ['=', '-', '_', 'AAAA'],
    decode: (input) => decodePathContinuation({ query: new Map([['continuation', input.toString('latin1')]]) } as unknown as Request),
    again: (place) => {
      const text = encodePathContinuation(place)
      return text === undefined ? undefined : decodePathContinuation({ query: new Map([['continuation', text]]) } as unknown as Request)
    },
    refuses: [StorageError],
  }),
  target({
    name: 'file-permission',
    seeds: ['{"permission":"O:SYG:SYD:(A;;FA;;;SY)","format":"Sddl"}', '{"Permission":"AQAUgAAAAAAAAAAAAAAAAAAAAAA=","Format":"Binary"}'],
    words: ['"permission":', '"format":', '"binary"', 'null', '[', '{', '"__proto__":', '(A;;FA;;;SY)'],
    decode: (input) => decodePermissionBody(input),
    refuses: [StorageError],
  }),
] // prettier-ignore
