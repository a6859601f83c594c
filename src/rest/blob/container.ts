// Create, Get, Set and Delete Container: decode once, call storage, encode.
import { randomUUID } from 'node:crypto'
import {
  ACL_BYTES_MAX,
  decodeSignedIdentifiers,
  encodeSignedIdentifiers,
} from '../shared/access-policy-xml.ts'
import {
  decodeConditions,
  decodeMetadata,
  metadataHeaders,
  optionalBoolean,
  optionalGuid,
  optionalHeader,
  optionalWord,
  requiredHeader,
} from '../../http/protocol/header.ts'
import { decodeLeaseAction, leaseAnswer, leaseHeaders } from '../shared/lease-header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import type { Step, Tx } from '../../kv/kv.ts'
import {
  changeContainer,
  createContainer,
  deleteContainer,
  leaseContainer,
  readContainer,
  renameContainer,
  restoreContainer,
  type Container,
  type ContainerGuard,
  type PublicAccess,
  type ContainerAddress,
} from '../../storage/blob/container/container.ts'
import type { ContainerEncryption } from '../../storage/blob/encryption.ts'
import { checkNoConditions } from '../../storage/shared/condition.ts'
import { ACCOUNT_ENCRYPTION_KEY } from '../../storage/shared/encryption-scope.ts'
import { invalidHeader, missingHeader } from '../../storage/shared/error.ts'
import { leavingName, takingName, type ReusedName } from '../../storage/shared/held-name.ts'
import type { Moment } from '../../node/moment.ts'
import type { Metadata } from '../../storage/shared/metadata.ts'
import { checkContainerName } from '../../storage/shared/name.ts'
import { validators } from '../shared/answer-header.ts'
import { reusedName } from '../shared/held-name.ts'
import { actorOf } from './path-access.ts'
import { containerAddress, type BlobCall } from './service.ts'

export async function runCreateContainer(call: BlobCall): Promise<Answer> {
  const metadata = decodeMetadata(call.request.rawHeaders)
  const container = await createContainerOf(call, metadata)
  return { status: 201, headers: validators(container) }
}

/** Create Container, and Create Filesystem of Data Lake Storage. */
export async function createContainerOf(
  { request, service, identity }: BlobCall,
  metadata: Metadata,
): Promise<Container> {
  checkNoConditions(decodeConditions(request.headers))
  const encryption = encryptionPolicyOf(request)
  const actor = actorOf(identity)
  const isHierarchical = service.accounts.get(request.account)?.isHierarchical === true
  const created = {
    id: service.newId(),
    metadata,
    isHierarchical,
    ...(actor.kind === 'user' && { owner: actor.objectId }),
    ...publicAccessOf(request),
    ...encryption,
  }
  const [address, moment] = [containerAddress(request), service.moment()]
  const name = nameOf(service, address)
  return service.kv.write((tx) =>
    takingName(tx, name, moment.nowMs, createContainer(tx, address, created, moment)),
  )
}

const SCOPE = 'x-ms-default-encryption-scope'
const DENY = 'x-ms-deny-encryption-scope-override'

/** Both headers or none (pulumi-azure-nextgen#222). */
function encryptionPolicyOf({ headers }: Request): ContainerEncryption {
  const scope = optionalHeader(headers, SCOPE)
  const deny = optionalBoolean(headers, DENY)
  if (scope === undefined && deny === undefined) return {}
  if (scope === undefined) throw missingHeader(SCOPE)
  if (deny === undefined) throw missingHeader(DENY)
  if (scope === ACCOUNT_ENCRYPTION_KEY) return { denyEncryptionScopeOverride: deny }
  return { defaultEncryptionScope: scope, denyEncryptionScopeOverride: deny }
}

export async function runGetContainerProperties(call: BlobCall): Promise<Answer> {
  const container = await read(call)
  const headers = [
    ...validators(container),
    ...leaseHeaders(container.lease, call.service.moment().nowMs),
    ...publicAccessHeaders(container),
    'x-ms-has-immutability-policy', 'false',
    'x-ms-has-legal-hold', 'false',
    'x-ms-immutable-storage-with-versioning-enabled', String(container.spaceId === undefined),
    ...encryptionPolicyHeaders(container),
    ...metadataHeaders(container.metadata),
  ] // prettier-ignore
  return { status: 200, headers }
}

export function encryptionPolicyHeaders(container: Container): string[] {
  return [
    SCOPE, container.defaultEncryptionScope ?? ACCOUNT_ENCRYPTION_KEY,
    DENY, String(container.denyEncryptionScopeOverride ?? false),
  ] // prettier-ignore
}

export async function runGetContainerMetadata(call: BlobCall): Promise<Answer> {
  const container = await read(call)
  return {
    status: 200,
    headers: [...validators(container), ...metadataHeaders(container.metadata)],
  }
}

export async function runGetContainerAcl(call: BlobCall): Promise<Answer> {
  const container = await read(call)
  return {
    status: 200,
    headers: [
      ...validators(container),
      ...publicAccessHeaders(container),
      'Content-Type',
      'application/xml',
    ],
    body: encodeSignedIdentifiers(container.policies),
  }
}

export async function runSetContainerMetadata({ request, service }: BlobCall): Promise<Answer> {
  const set = { metadata: decodeMetadata(request.rawHeaders) }
  return change({ request, service }, set)
}

export async function runSetContainerAcl({ request, service }: BlobCall): Promise<Answer> {
  const body = await request.body.read(ACL_BYTES_MAX)
  const policies = body.length === 0 ? [] : decodeSignedIdentifiers('blob', body)
  const set = { policies, publicAccess: undefined, ...publicAccessOf(request) }
  return change({ request, service }, set)
}

export async function runDeleteContainer({ request, service }: BlobCall): Promise<Answer> {
  const [address, guard] = [containerAddress(request), containerGuard(request)]
  const moment = service.moment()
  const name = nameOf(service, address)
  await service.kv.write((tx) =>
    leavingName(tx, name, moment.nowMs, deleteContainer(tx, address, guard, moment)),
  )
  return { status: 202, headers: [] }
}

export async function runLeaseContainer({ request, service }: BlobCall): Promise<Answer> {
  const action = decodeLeaseAction(request.headers, randomUUID)
  const { conditions } = containerGuard(request)
  const [address, moment] = [containerAddress(request), service.moment()]
  const { container, result } = await service.kv.write((tx) =>
    leaseContainer(tx, address, { conditions }, action, moment),
  )
  const { status, headers } = leaseAnswer(result)
  return { status, headers: [...validators(container), ...headers] }
}

/** The version of a deleted container in List Containers: its id, in 16 hexadecimal digits. */
export function containerVersion(id: number): string {
  return id.toString(16).toUpperCase().padStart(16, '0')
}

export async function runRestoreContainer({ request, service }: BlobCall): Promise<Answer> {
  const name = requiredHeader(request.headers, 'x-ms-deleted-container-name')
  const version = requiredHeader(request.headers, 'x-ms-deleted-container-version')
  checkContainerName(name)
  const id = /^[0-9A-F]{16}$/i.test(version) ? Number.parseInt(version, 16) : Number.NaN
  if (!Number.isSafeInteger(id)) throw invalidHeader('x-ms-deleted-container-version', version)
  const [address, moment] = [containerAddress(request), service.moment()]
  const deleted = { name, version: id }
  await service.kv.write((tx) => restore(tx, service, address, deleted, moment))
  return { status: 201, headers: [] }
}

/** A container that is still being deleted can't be restored yet (azure-sdk-for-net#28897). */
function restore(
  tx: Tx,
  service: BlobCall['service'],
  address: ContainerAddress,
  deleted: { readonly name: string; readonly version: number },
  moment: Moment,
): Step<Container> {
  const { nowMs } = moment
  const former = nameOf(service, { ...address, container: deleted.name })
  const restored = restoreContainer(tx, address, deleted, moment)
  const named = takingName(tx, nameOf(service, address), nowMs, restored)
  return takingName(tx, former, nowMs, named)
}

export async function runRenameContainer({ request, service }: BlobCall): Promise<Answer> {
  const name = requiredHeader(request.headers, 'x-ms-source-container-name')
  const leaseId = optionalGuid(request.headers, 'x-ms-source-lease-id')
  checkContainerName(name)
  const [address, moment] = [containerAddress(request), service.moment()]
  const taken = nameOf(service, address)
  await service.kv.write((tx) =>
    takingName(tx, taken, moment.nowMs, renameContainer(tx, address, { name, leaseId }, moment)),
  )
  return { status: 200, headers: [] }
}

function nameOf(
  service: BlobCall['service'],
  { account, container }: ContainerAddress,
): ReusedName {
  return reusedName(service, 'container', account, container)
}

function read({ request, service }: BlobCall): Promise<Container> {
  const { conditions, leaseId } = containerGuard(request)
  checkNoConditions(conditions)
  const [address, { nowMs }] = [containerAddress(request), service.moment()]
  return service.kv.read((tx) => readContainer(tx, address, leaseId, nowMs))
}

async function change(
  { request, service }: Pick<BlobCall, 'request' | 'service'>,
  set: Parameters<typeof changeContainer>[2]['set'],
): Promise<Answer> {
  const [address, guard] = [containerAddress(request), containerGuard(request)]
  const moment = service.moment()
  const container = await service.kv.write((tx) =>
    changeContainer(tx, address, { guard, set }, moment),
  )
  return { status: 200, headers: validators(container) }
}

export function containerGuard({ headers }: Request): ContainerGuard {
  const leaseId = optionalGuid(headers, 'x-ms-lease-id')
  const conditions = decodeConditions(headers)
  return leaseId === undefined ? { conditions } : { conditions, leaseId }
}

function publicAccessHeaders({ publicAccess }: Container): string[] {
  return publicAccess === undefined ? [] : ['x-ms-blob-public-access', publicAccess]
}

function publicAccessOf({ headers }: Request): { publicAccess?: PublicAccess } {
  const publicAccess = optionalWord(headers, 'x-ms-blob-public-access', PUBLIC_ACCESS)
  return publicAccess === undefined ? {} : { publicAccess }
}

const PUBLIC_ACCESS = ['container', 'blob'] as const
