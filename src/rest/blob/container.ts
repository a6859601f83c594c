// Create, Get, Set and Delete Container: decode once, call storage, encode.
import { decodeSignedIdentifiers, encodeSignedIdentifiers } from '../../http/access-policy-xml.ts'
import { decodeConditions, decodeMetadata, optionalGuid, optionalWord } from '../../http/header.ts'
import type { Answer, Request } from '../../http/operation.ts'
import {
  changeContainer,
  createContainer,
  deleteContainer,
  readContainer,
  type Container,
  type ContainerGuard,
  type PublicAccess,
} from '../../storage/blob/container.ts'
import { checkNoConditions } from '../../storage/condition.ts'
import { LEASE_HEADERS, metadataHeaders, validators } from './answer.ts'
import { refuseUnbuilt } from './header.ts'
import { containerAddress, type BlobCall } from './service.ts'

/** Five policies of at most a few hundred bytes each. */
export const ACL_BYTES_MAX = 64 * 1024

export async function runCreateContainer({ request, service }: BlobCall): Promise<Answer> {
  refuseUnbuilt(request, ['x-ms-default-encryption-scope', 'x-ms-deny-encryption-scope-override'])
  checkNoConditions(decodeConditions(request.headers))
  const created = {
    id: service.newId(),
    metadata: decodeMetadata(request.rawHeaders),
    ...publicAccessOf(request),
  }
  const [address, moment] = [containerAddress(request), service.moment()]
  const container = await service.kv.write((tx) => createContainer(tx, address, created, moment))
  return { status: 201, headers: validators(container) }
}

export async function runGetContainerProperties(call: BlobCall): Promise<Answer> {
  const container = await read(call)
  const headers = [
    ...validators(container),
    ...LEASE_HEADERS,
    ...publicAccessHeaders(container),
    'x-ms-has-immutability-policy', 'false',
    'x-ms-has-legal-hold', 'false',
    'x-ms-immutable-storage-with-versioning-enabled', 'false',
    'x-ms-default-encryption-scope', '$account-encryption-key',
    'x-ms-deny-encryption-scope-override', 'false',
    ...metadataHeaders(container.metadata),
  ] // prettier-ignore
  return { status: 200, headers }
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
  const policies = body.length === 0 ? [] : decodeSignedIdentifiers(body)
  const set = { policies, publicAccess: undefined, ...publicAccessOf(request) }
  return change({ request, service }, set)
}

export async function runDeleteContainer({ request, service }: BlobCall): Promise<Answer> {
  const [address, guard] = [containerAddress(request), containerGuard(request)]
  await service.kv.write((tx) => deleteContainer(tx, address, guard))
  return { status: 202, headers: [] }
}

function read({ request, service }: BlobCall): Promise<Container> {
  const { conditions, leaseId } = containerGuard(request)
  checkNoConditions(conditions)
  const address = containerAddress(request)
  return service.kv.read((tx) => readContainer(tx, address, leaseId))
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

function containerGuard({ headers }: Request): ContainerGuard {
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
