// Filesystems: containers by another name. Lease, access policy and everything else of a container is at the Blob endpoint.
import { formatHttpDate } from '../../http/protocol/date.ts'
import { decodeConditions } from '../../http/protocol/header.ts'
import type { Answer } from '../../http/door/operation.ts'
import { changeContainer, readContainer } from '../../storage/blob/container/container.ts'
import { listContainers } from '../../storage/blob/container/container-list.ts'
import { checkNoConditions } from '../../storage/shared/condition.ts'
import { etagOf } from '../../storage/shared/etag.ts'
import { NO_METADATA } from '../../storage/shared/metadata.ts'
import { validators } from '../shared/answer-header.ts'
import {
  containerGuard,
  createContainerOf,
  encryptionPolicyHeaders,
  runDeleteContainer,
} from '../blob/container.ts'
import { decodeContainerMarker, encodeContainerMarker } from '../blob/list/list-marker.ts'
import { containerAddress } from '../blob/service.ts'
import { decodeProperties, propertiesHeaders } from './property.ts'
import { countQuery, isHierarchical, jsonAnswer, type LakeCall } from './service.ts'

const LIST_COUNT_MAX = 5_000
const PREFIX_LENGTH_MAX = 64

export async function runListFilesystems({ request, service }: LakeCall): Promise<Answer> {
  const list = {
    prefix: (request.query.get('prefix') ?? '').slice(0, PREFIX_LENGTH_MAX),
    after: decodeContainerMarker(request, 'continuation'),
    countMax: countQuery(request, 'maxResults', LIST_COUNT_MAX),
    isDeletedIncluded: false,
    isSystemIncluded: false,
  }
  const { nowMs } = service.moment()
  const page = await service.kv.read((tx) => listContainers(tx, request.account, list, nowMs))
  const filesystems = page.items.map(({ name, container }) => ({
    name,
    lastModified: formatHttpDate(container.modifiedMs),
    etag: bareETag(container.stamp),
    ...(container.defaultEncryptionScope !== undefined && {
      DefaultEncryptionScope: container.defaultEncryptionScope,
      DenyEncryptionScopeOverride: String(container.denyEncryptionScopeOverride ?? false),
    }),
  }))
  return jsonAnswer({ filesystems }, continuationHeaders(encodeContainerMarker(page.next)))
}

/** Lists have ETags without quotes. */
export function bareETag(stamp: number): string {
  return etagOf(stamp).slice(1, -1)
}

export function continuationHeaders(continuation: string | undefined): string[] {
  return continuation === undefined ? [] : ['x-ms-continuation', continuation]
}

export async function runCreateFilesystem(call: LakeCall): Promise<Answer> {
  const metadata = decodeProperties(call.request) ?? NO_METADATA
  const container = await createContainerOf(call, metadata)
  return { status: 201, headers: [...validators(container), ...namespaceHeader(call)] }
}

export function runDeleteFilesystem(call: LakeCall): Promise<Answer> {
  return runDeleteContainer(call)
}

export async function runGetFilesystemProperties(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  const { conditions, leaseId } = containerGuard(request)
  checkNoConditions(conditions)
  const [address, { nowMs }] = [containerAddress(request), service.moment()]
  const container = await service.kv.read((tx) => readContainer(tx, address, leaseId, nowMs))
  const headers = [
    ...validators(container),
    ...namespaceHeader(call),
    ...encryptionPolicyHeaders(container),
    ...propertiesHeaders(container.metadata),
  ]
  return { status: 200, headers }
}

/** Properties that are not sent are removed. */
export async function runSetFilesystemProperties({ request, service }: LakeCall): Promise<Answer> {
  const metadata = decodeProperties(request) ?? NO_METADATA
  const guard = { conditions: decodeConditions(request.headers) }
  const [address, moment] = [containerAddress(request), service.moment()]
  const container = await service.kv.write((tx) =>
    changeContainer(tx, address, { guard, set: { metadata } }, moment),
  )
  return { status: 200, headers: validators(container) }
}

function namespaceHeader(call: LakeCall): string[] {
  return ['x-ms-namespace-enabled', String(isHierarchical(call))]
}
