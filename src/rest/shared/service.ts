// The account-level operations of every service: properties, statistics, account information and the key for user
// delegation SAS.
import { SERVICE_LETTERS } from '../../auth/sas/account-sas.ts'
import type { Permission } from '../../auth/permission.ts'
import { getUserDelegationKey } from '../../auth/sas/user-delegation-key.ts'
import type { AuthWorld } from '../../auth/world.ts'
import type { ExtentStore } from '../../extent/extent.ts'
import type { HashThreads } from '../../extent/hash/hash-threads.ts'
import { formatHttpDate } from '../../http/protocol/date.ts'
import type { Answer, Call, Operation, Request } from '../../http/door/operation.ts'
import { decodeServiceProperties, encodeServiceProperties } from './service-properties-xml.ts'
import { decodeKeyRequest, encodeUserDelegationKey } from './user-delegation-key-xml.ts'
import { XML_DECLARATION } from '../../http/protocol/xml.ts'
import type { Kv } from '../../kv/kv.ts'
import type { Accounts } from '../../storage/shared/account.ts'
import { invalidQuery, StorageError } from '../../storage/shared/error.ts'
import type { Moment } from '../../node/moment.ts'
import {
  changeServiceProperties,
  getServiceProperties,
} from '../../storage/shared/service/service.ts'
import type { CopySources } from './copy/copy-sources.ts'

/** What the account-level operations need from a service. */
export type AccountService = {
  readonly kv: Pick<Kv, 'read' | 'write' | 'attemptRead' | 'attempt'>
  readonly accounts: Accounts
  /** How long a deleted name stays taken; 0: it is free at once. */
  readonly nameReuseMs: number
  moment(): Moment
  /** For requests within a request: the parts of a batch, the source of a rename. */
  world(): AuthWorld
}

/** An error inside a batch whose own answer is 202, for metrics. */
export type ReportRefusal = (refusal: {
  readonly operation: string
  readonly status: number
  readonly errorCode: string
}) => void

/** What operations on the bytes of blobs and files need. */
export type ContentService = AccountService & {
  readonly extents: ExtentStore
  readonly recycle: ExtentStore['recycle']
  readonly hashThreads: HashThreads
  newId(): number
  readonly copySources: CopySources
}

const PROPERTIES_BYTES_MAX = 64 * 1024
const XML = ['Content-Type', 'application/xml']

const service = (letters: string): Permission => {
  return { resourceType: 's', accountSas: letters, serviceSas: undefined }
}

// prettier-ignore
export function serviceOperations<S extends AccountService>(): Operation<S>[] {
  return [
    { name: 'Get Service Properties', methods: ['GET'], level: 'service', restype: 'service', comp: 'properties', writes: false,
      permission: service('r'), run: runGetServiceProperties },
    { name: 'Set Service Properties', methods: ['PUT'], level: 'service', restype: 'service', comp: 'properties', writes: true,
      permission: service('w'), bodyBytesMax: PROPERTIES_BYTES_MAX, run: runSetServiceProperties },
    { name: 'Get Service Stats', methods: ['GET'], level: 'service', restype: 'service', comp: 'stats', writes: false,
      permission: service('r'), run: runGetServiceStats },
    { name: 'Get User Delegation Key', methods: ['POST'], level: 'service', restype: 'service', comp: 'userdelegationkey', writes: false,
      permission: { resourceType: 's', accountSas: undefined, serviceSas: undefined, bearer: 'only' },
      bodyBytesMax: PROPERTIES_BYTES_MAX, run: runGetUserDelegationKey },
  ]
}

type ServiceCall = Call<AccountService>

async function runGetServiceProperties({ request, service }: ServiceCall): Promise<Answer> {
  const properties = await service.kv.read((tx) => getServiceProperties(tx, request))
  const body = encodeServiceProperties(request.service, properties)
  return { status: 200, headers: settingsHeaders(request), body }
}

/** Recorded: only the Queue service forbids caching of properties and statistics. */
function settingsHeaders({ service }: Request): readonly string[] {
  return service === 'queue' ? ['Cache-Control', 'no-cache', ...XML] : XML
}

async function runSetServiceProperties({ request, service }: ServiceCall): Promise<Answer> {
  const body = await request.body.read(PROPERTIES_BYTES_MAX)
  const update = decodeServiceProperties(request.service, body)
  // Recorded: the Queue service requires at least one setting.
  if (request.service === 'queue' && Object.keys(update).length === 0) {
    throw new StorageError('InvalidXmlDocument')
  }
  await service.kv.write((tx) => changeServiceProperties(tx, request, update))
  return { status: 202, headers: [] }
}

/** Only the secondary endpoint answers. Ours reads the same store, so it is never behind. */
async function runGetServiceStats({ request, service }: ServiceCall): Promise<Answer> {
  if (!request.secondary) throw invalidQuery('comp', 'stats')
  const lastSync = formatHttpDate(service.moment().nowMs)
  const body =
    `${XML_DECLARATION}<StorageServiceStats><GeoReplication><Status>live</Status>` +
    `<LastSyncTime>${lastSync}</LastSyncTime></GeoReplication></StorageServiceStats>`
  return { status: 200, headers: settingsHeaders(request), body }
}

/** A general-purpose account, read-access geo-redundant because it has a secondary endpoint. */
export async function runGetAccountInformation({ request, service }: ServiceCall): Promise<Answer> {
  const { isHierarchical = false } = service.accounts.get(request.account) ?? {}
  const headers = [
    'x-ms-sku-name', 'Standard_RAGRS',
    'x-ms-account-kind', 'StorageV2',
    'x-ms-is-hns-enabled', String(isHierarchical),
  ] // prettier-ignore
  return { status: 200, headers }
}

async function runGetUserDelegationKey(call: ServiceCall): Promise<Answer> {
  const { request, identity, service } = call
  const account = service.accounts.get(request.account)
  if (identity.kind !== 'bearer' || account === undefined) {
    throw new StorageError('AuthenticationFailed')
  }
  const keyRequest = decodeKeyRequest(await request.body.read(PROPERTIES_BYTES_MAX))
  const key = getUserDelegationKey(
    account,
    {
      ...keyRequest,
      claims: identity.claims,
      service: SERVICE_LETTERS[request.service],
      version: request.version,
    },
    service.world().nowMs,
  )
  return { status: 200, headers: XML, body: encodeUserDelegationKey(key) }
}
