// The resource of a service or user delegation SAS. The string to sign contains the path of the request, cut to
// the level that `sr` names, so the signature of a SAS for another resource does not match.
import type { SasResource, SasScope, TableKeyRange } from '../identity.ts'
import { headerText, queryField, type AuthRequest, type ServiceName } from '../request.ts'
import {
  encryptionScope,
  malformedField,
  optionalField,
  requiredField,
  responseHeaderOverrides,
} from './sas.ts'

/** The fields of the string to sign by version, newest first. */
export type Layouts = readonly (readonly [version: string, fields: readonly string[]])[]

export function layouts(...rows: readonly [version: string, fields: string][]): Layouts {
  return rows.map(([version, fields]) => [version, fields.split(' ')])
}

const RESOURCES: Readonly<Record<ServiceName, readonly SasResource[]>> = {
  blob: ['b', 'bs', 'bv', 'c', 'd'],
  file: ['f', 's'],
  queue: ['q'],
  table: ['t'],
}

/** From this version on, the canonical resource begins with the service. */
const SERVICE_PREFIX_VERSION = '2015-02-21'
/** The first version with directories. */
const DIRECTORY_VERSION = '2020-02-10'

export function sasScope(request: AuthRequest): SasScope {
  return {
    resource: sasResource(request),
    table: request.service === 'table' ? sasTable(request) : undefined,
    keyRange: tableKeyRange(request),
    responseHeaders: responseHeaderOverrides(request),
    encryptionScope: encryptionScope(request),
  }
}

function sasResource(request: AuthRequest): SasResource {
  const { service } = request
  if (service === 'queue') return 'q'
  if (service === 'table') return 't'
  const text = requiredField(request, 'sr')
  const resource = RESOURCES[service].find((name) => name === text)
  if (resource === undefined) throw malformedField('sr')
  return resource
}

/** The table in the path if there is one, otherwise `tn`: the path of a batch is $batch. */
function sasTable(request: AuthRequest): string {
  const named = requiredField(request, 'tn')
  const addressed = request.path[0]
  const table = addressed === undefined || addressed.startsWith('$') ? named : addressed
  return table.toLowerCase()
}

function tableKeyRange(request: AuthRequest): TableKeyRange {
  if (request.service !== 'table') return {}
  const fields = {
    startPartitionKey: optionalField(request, 'spk'),
    startRowKey: optionalField(request, 'srk'),
    endPartitionKey: optionalField(request, 'epk'),
    endRowKey: optionalField(request, 'erk'),
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

export function signedFields(request: AuthRequest, version: string, table: Layouts): string {
  const layout = table.find(([since]) => version >= since)
  if (layout === undefined) throw malformedField('sv')
  return layout[1].map((name) => signedField(request, version, name)).join('\n')
}

function signedField(request: AuthRequest, version: string, name: string): string {
  if (name === 'cr') return canonicalName(request, version)
  if (name === 'time') return signedTimestamp(request)
  if (name === 'srh') return signedHeaders(request)
  if (name === 'srq') return signedQuery(request)
  return queryField(request, name)
}

function canonicalName(request: AuthRequest, version: string): string {
  const prefix = version >= SERVICE_PREFIX_VERSION ? `/${request.service}/` : '/'
  return `${prefix}${request.account}/${canonicalPath(request, version)}`
}

function canonicalPath(request: AuthRequest, version: string): string {
  const [container = '', name] = request.path
  const resource = sasResource(request)
  if (resource === 't') return sasTable(request)
  if (resource === 'c' || resource === 's' || resource === 'q') return container
  // Before 2018-11-09 `sr` itself is not signed, so a changed `sr` must not widen the SAS: one for a blob
  // must not open its container or a directory with the blob's name.
  const isRoot = name === undefined || name === ''
  if (isRoot && (resource !== 'd' || queryField(request, 'sdd') !== '0')) throw malformedField('sr')
  if (resource !== 'd') return `${container}/${name}`
  if (version < DIRECTORY_VERSION) throw malformedField('sr')
  return directoryPath(request, container, name)
}

/** `sdd` is the depth of the directory: the number of path segments that are signed. */
function directoryPath(request: AuthRequest, container: string, name = ''): string {
  const depth = requiredField(request, 'sdd')
  if (!/^\d{1,3}$/.test(depth)) throw malformedField('sdd')
  const segments = name === '' ? [] : name.split('/')
  if (segments.length < Number(depth)) throw malformedField('sdd')
  return [container, ...segments.slice(0, Number(depth))].join('/')
}

function signedTimestamp(request: AuthRequest): string {
  const resource = sasResource(request)
  if (resource === 'bs') return queryField(request, 'snapshot')
  return resource === 'bv' ? queryField(request, 'versionid') : ''
}

/** `srh` lists headers that the request must carry with the signed values. */
function signedHeaders(request: AuthRequest): string {
  const names = queryField(request, 'srh')
  if (names === '') return ''
  const lines = names
    .split(',')
    .map((name) => `${name}:${headerText(request, name.toLowerCase())}\n`)
  return lines.join('')
}

/** `srq` likewise, for query parameters. */
function signedQuery(request: AuthRequest): string {
  const names = queryField(request, 'srq')
  if (names === '') return ''
  const lines = names
    .split(',')
    .map((name) => `\n${name}:${queryField(request, name.toLowerCase())}`)
  return lines.join('')
}
