// Get Properties, Get Status and Set Properties of paths, their leases and their expiry.
import { randomUUID } from 'node:crypto'
import type { Answer } from '../../http/door/operation.ts'
import { readRule } from '../../http/door/version.ts'
import { decodeConditions } from '../../http/protocol/header.ts'
import { readBlob } from '../../storage/blob/blob.ts'
import { leaseBlob, readBlobProperties } from '../../storage/blob/change.ts'
import { setBlobExpiry } from '../../storage/blob/expiry.ts'
import { blobOfPath } from '../../storage/datalake/path-address.ts'
import { setPathProperties } from '../../storage/datalake/set-properties.ts'
import { NO_METADATA } from '../../storage/shared/metadata.ts'
import { validators, withOverrides } from '../shared/answer-header.ts'
import { decodeLeaseAction, leaseAnswer } from '../shared/lease-header.ts'
import { decodeExpiry } from '../blob/immutability.ts'
import { pathHeaders, statusHeaders, writtenPathHeaders } from './path-answer.ts'
import { decodeContentHeaders } from './path-header.ts'
import { decodeProperties } from './property.ts'
import { lakeGuard, optionalBooleanQuery, pathAddress, type LakeCall } from './service.ts'

export async function runGetPathProperties(call: LakeCall): Promise<Answer> {
  const { request, service, identity } = call
  // There is no directory of users, so object ids are shown as they are, as the service does for ids that it can't resolve.
  optionalBooleanQuery(request, 'upn')
  const [path, guard] = [pathAddress(call), lakeGuard(request, 'read')]
  const address = blobOfPath(path, 'traverse')
  const { nowMs } = service.moment()
  const blob = await service.kv.read((tx) => readBlobProperties(tx, address, guard, nowMs))
  const headers = pathHeaders(blob, undefined, nowMs)
  return { status: 200, headers: withOverrides(headers, identity) }
}

/** Only what the service itself says of a path. Needs no key, and shows no lease. */
export async function runGetPathStatus(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  optionalBooleanQuery(request, 'upn')
  const [path, guard] = [pathAddress(call), lakeGuard(request, 'read')]
  const [address, { nowMs }] = [blobOfPath(path, 'traverse'), service.moment()]
  const { stored } = await service.kv.read((tx) => readBlob(tx, address, guard, nowMs))
  return { status: 200, headers: statusHeaders(stored.blob) }
}

/** Properties that are not sent are removed. Content headers that are not sent stay. */
export async function runSetPathProperties(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  const set = {
    guard: lakeGuard(request),
    metadata: decodeProperties(request) ?? NO_METADATA,
    headers: decodeContentHeaders(request),
    newId: service.newId(),
  }
  const [address, moment] = [pathAddress(call), service.moment()]
  const blob = await service.kv.write((tx) => setPathProperties(tx, address, set, moment))
  return { status: 200, headers: writtenPathHeaders(blob) }
}

/** The same leases as those of Lease Blob. */
export async function runLeasePath(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  const action = decodeLeaseAction(request.headers, randomUUID)
  const conditions = decodeConditions(request.headers)
  const guard = { conditions, readRule: readRule(request.version) }
  const [address, moment] = [blobOfPath(pathAddress(call), 'write'), service.moment()]
  const { blob, result } = await service.kv.write((tx) =>
    leaseBlob(tx, address, guard, action, moment),
  )
  const { status, headers } = leaseAnswer(result)
  return { status, headers: blob === undefined ? headers : [...validators(blob), ...headers] }
}

export async function runSetPathExpiry(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  const [expiry, guard] = [decodeExpiry(request), lakeGuard(request)]
  const [address, { nowMs }] = [blobOfPath(pathAddress(call), 'write'), service.moment()]
  const blob = await service.kv.write((tx) => setBlobExpiry(tx, address, guard, expiry, nowMs))
  return { status: 200, headers: validators(blob) }
}
