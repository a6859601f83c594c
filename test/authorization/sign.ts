// SAS signed by hand, from the strings in Azure's documentation: for an account, for a container (queue, table, share), and with a key
// for user delegation.
import { createHmac } from 'node:crypto'
import { ACCOUNT_KEY } from '../harness.ts'
import type { MatrixService } from './rules.ts'

const VERSION = '2022-11-02'
/** Queues, tables and files have user delegation SAS since this version. */
const DELEGATION_VERSION = '2025-07-05'
const EXPIRY = '2099-01-01T00:00:00Z'

/** The letter of a service in `ss`; Data Lake Storage is part of Blob. */
export const SERVICE_LETTER = { blob: 'b', queue: 'q', table: 't', file: 'f', dfs: 'b' } as const

const RESOURCE = { blob: 'c', queue: 'q', table: 't', file: 's', dfs: 'c' } as const
const NAMESPACE = {
  blob: 'blob',
  queue: 'queue',
  table: 'table',
  file: 'file',
  dfs: 'blob',
} as const

export type AccountGrant = {
  readonly account: string
  readonly permissions: string
  readonly services: string
  readonly types: string
}

export function accountSas({ account, permissions, services, types }: AccountGrant): string {
  const lines = [account, permissions, services, types, '', EXPIRY, '', '', VERSION, '', '']
  return query(
    { sv: VERSION, sp: permissions, ss: services, srt: types, se: EXPIRY },
    signature(lines, ACCOUNT_KEY),
  )
}

export type ContainerGrant = {
  readonly service: MatrixService
  readonly account: string
  readonly container: string
  readonly permissions: string
}

/** https://learn.microsoft.com/rest/api/storageservices/create-service-sas */
export function containerSas(grant: ContainerGrant): string {
  const { service, permissions: sp } = grant
  const lines = [sp, '', EXPIRY, resourceOf(grant), '', '', '', VERSION, ...endOf(service)]
  return query({ sv: VERSION, sp, se: EXPIRY, ...scopeOf(grant) }, signature(lines, ACCOUNT_KEY))
}

export type DelegationKey = {
  readonly oid: string
  readonly tid: string
  readonly start: string
  readonly expiry: string
  readonly service: string
  readonly version: string
  readonly value: string
}

/** https://learn.microsoft.com/rest/api/storageservices/create-user-delegation-sas */
export function delegationSas(grant: ContainerGrant, key: DelegationKey): string {
  const { service, permissions: sp } = grant
  const isBlob = NAMESPACE[service] === 'blob'
  const sv = isBlob ? VERSION : DELEGATION_VERSION
  const { oid, tid, start, expiry } = key
  const fields = {
    skoid: oid,
    sktid: tid,
    skt: start,
    ske: expiry,
    sks: key.service,
    skv: key.version,
  }
  const agents = isBlob ? ['', '', ''] : ['', '']
  const lines = [
    sp, '', EXPIRY, resourceOf(grant), ...Object.values(fields), ...agents, '', '', sv, ...endOf(service),
  ] // prettier-ignore
  return query({ sv, sp, se: EXPIRY, ...scopeOf(grant), ...fields }, signature(lines, key.value))
}

function resourceOf({ service, account, container }: ContainerGrant): string {
  return `/${NAMESPACE[service]}/${account}/${service === 'table' ? container.toLowerCase() : container}`
}

function scopeOf({ service, container }: ContainerGrant): Record<string, string> {
  if (service === 'table') return { tn: container }
  return service === 'queue' ? {} : { sr: RESOURCE[service] }
}

/** What follows the version: the resource and the snapshot, the encryption scope, five response headers; or four table keys. */
function endOf(service: MatrixService): readonly string[] {
  if (NAMESPACE[service] === 'blob') return ['c', '', '', '', '', '', '', '']
  if (service === 'queue') return []
  return service === 'table' ? ['', '', '', ''] : ['', '', '', '', '']
}

function signature(lines: readonly string[], key: string): string {
  return createHmac('sha256', Buffer.from(key, 'base64')).update(lines.join('\n')).digest('base64')
}

function query(fields: Readonly<Record<string, string>>, sig: string): string {
  return new URLSearchParams({ ...fields, sig }).toString()
}
