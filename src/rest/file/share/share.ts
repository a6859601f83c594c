// The operations on a share as a whole: decode once, call storage, encode.
import {
  ACL_BYTES_MAX,
  decodeSignedIdentifiers,
  encodeSignedIdentifiers,
} from '../../shared/access-policy-xml.ts'
import {
  decodeConditions,
  decodeMetadata,
  metadataHeaders,
  optionalGuid,
  optionalWord,
  requiredHeader,
} from '../../../http/protocol/header.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import { isAtLeast } from '../../../http/door/version.ts'
import { XML_DECLARATION, xmlElement } from '../../../http/protocol/xml.ts'
import { checkNoConditions } from '../../../storage/shared/condition.ts'
import { invalidHeader, invalidQuery } from '../../../storage/shared/error.ts'
import { timestampOf } from '../../../storage/shared/etag.ts'
import {
  changeShare,
  createShare,
  readShare,
  type ShareChange,
  type ShareOrSnapshot,
  readUsage,
} from '../../../storage/file/share/share-change.ts'
import { deleteShare, restoreShare } from '../../../storage/file/share/share-delete.ts'
import { deleteShareSnapshot, snapshotShare } from '../../../storage/file/share/share-snapshot.ts'
import type { Share, ShareAddress } from '../../../storage/file/share/share.ts'
import { leavingName, takingName } from '../../../storage/shared/held-name.ts'
import { validators } from '../../shared/answer-header.ts'
import { reusedName } from '../../shared/held-name.ts'
import { shareAddress, shareAddressAt, type FileCall } from '../service.ts'
import { changedHeaders, decodeProvision, propertiesHeaders } from './share-answer.ts'

const XML = ['Content-Type', 'application/xml']

export async function runCreateShare({ request, service }: FileCall): Promise<Answer> {
  checkNoConditions(decodeConditions(request.headers))
  const created = {
    id: service.newId(),
    metadata: decodeMetadata(request.rawHeaders),
    provision: decodeProvision(request),
  }
  const [address, moment] = [shareAddress(request), service.moment()]
  const name = reusedName(service, 'share', address.account, address.share)
  const share = await service.kv.write((tx) =>
    takingName(tx, name, moment.nowMs, createShare(tx, address, created, moment)),
  )
  return { status: 201, headers: changedHeaders(share) }
}

export async function runGetShareProperties(call: FileCall): Promise<Answer> {
  const share = await read(call, shareAddressAt(call.request))
  const { nowMs } = call.service.moment()
  return { status: 200, headers: propertiesHeaders(share, nowMs) }
}

export async function runGetShareMetadata(call: FileCall): Promise<Answer> {
  const share = await read(call, shareAddressAt(call.request))
  return { status: 200, headers: [...validators(share), ...metadataHeaders(share.metadata)] }
}

export async function runGetShareAcl(call: FileCall): Promise<Answer> {
  const share = await read(call, shareAddress(call.request))
  const body = encodeSignedIdentifiers(share.policies)
  return { status: 200, headers: [...validators(share), ...XML], body }
}

export async function runGetShareStats(call: FileCall): Promise<Answer> {
  const { request, service } = call
  checkNoConditions(decodeConditions(request.headers))
  const [address, { nowMs }] = [shareAddress(request), service.moment()]
  const leaseId = optionalGuid(request.headers, 'x-ms-lease-id')
  const usageBytes = await service.kv.read((tx) => readUsage(tx, address, leaseId, nowMs))
  const usage = usageXml(usageBytes, request.version)
  return { status: 200, headers: XML, body: `${XML_DECLARATION}<ShareStats>${usage}</ShareStats>` }
}

const GIB = 2 ** 30

/** Before 2018-11-09 the usage is in gibibytes, rounded up. */
function usageXml(usageBytes: number, version: string): string {
  return isAtLeast(version, '2018-11-09')
    ? xmlElement('ShareUsageBytes', String(usageBytes))
    : xmlElement('ShareUsage', String(Math.ceil(usageBytes / GIB)))
}

export async function runSetShareProperties(call: FileCall): Promise<Answer> {
  // A share keeps the protocol that it was created with, so the header is ignored here.
  const { enabledProtocol: _protocol, ...provision } = decodeProvision(call.request)
  return { status: 200, headers: changedHeaders(await change(call, { provision })) }
}

export async function runSetShareMetadata(call: FileCall): Promise<Answer> {
  const metadata = decodeMetadata(call.request.rawHeaders)
  return { status: 200, headers: validators(await change(call, { metadata })) }
}

export async function runSetShareAcl(call: FileCall): Promise<Answer> {
  const body = await call.request.body.read(ACL_BYTES_MAX)
  const policies = decodeSignedIdentifiers('file', body)
  return { status: 200, headers: validators(await change(call, { policies })) }
}

export async function runSnapshotShare({ request, service }: FileCall): Promise<Answer> {
  checkNoConditions(decodeConditions(request.headers))
  const given = decodeMetadata(request.rawHeaders)
  const metadata = given.length === 0 ? undefined : given
  const [address, moment] = [shareAddress(request), service.moment()]
  const snapshot = await service.kv.write((tx) => snapshotShare(tx, address, metadata, moment))
  const headers = ['x-ms-snapshot', timestampOf(snapshot.snapshot), ...validators(snapshot)]
  return { status: 201, headers }
}

const DELETE_SNAPSHOTS = ['include', 'include-leased'] as const

export async function runDeleteShare(call: FileCall): Promise<Answer> {
  const { request, service } = call
  checkNoConditions(decodeConditions(request.headers))
  const address = shareAddressAt(request)
  const leaseId = optionalGuid(request.headers, 'x-ms-lease-id')
  const snapshots = optionalWord(request.headers, 'x-ms-delete-snapshots', DELETE_SNAPSHOTS)
  const moment = service.moment()
  const { snapshot } = address
  if (snapshot !== undefined) {
    if (snapshots !== undefined) throw snapshotWithSnapshots(request)
    const one = { ...address, snapshot }
    await service.kv.write((tx) => deleteShareSnapshot(tx, one, leaseId, moment))
    return { status: 202, headers: [] }
  }
  const name = reusedName(service, 'share', address.account, address.share)
  const usage = await service.kv.write((tx) =>
    leavingName(tx, name, moment.nowMs, deleteShare(tx, address, { leaseId, snapshots }, moment)),
  )
  const headers = [
    'x-ms-file-share-usage-bytes', String(usage.usageBytes),
    'x-ms-file-share-snapshot-usage-bytes', String(usage.snapshotUsageBytes),
  ] // prettier-ignore
  return { status: 202, headers }
}

function snapshotWithSnapshots({ query }: Request): Error {
  const reason = 'x-ms-delete-snapshots is for the share itself'
  return invalidQuery('sharesnapshot', query.get('sharesnapshot') ?? '', reason)
}

/** The version of a deleted share in List Shares: its id, in 16 hexadecimal digits. */
export function shareVersion(id: number): string {
  return id.toString(16).toUpperCase().padStart(16, '0')
}

const VERSION = 'x-ms-deleted-share-version'
const NAME = 'x-ms-deleted-share-name'

export async function runRestoreShare({ request, service }: FileCall): Promise<Answer> {
  checkNoConditions(decodeConditions(request.headers))
  const [address, moment] = [shareAddress(request), service.moment()]
  const name = requiredHeader(request.headers, NAME)
  const version = requiredHeader(request.headers, VERSION)
  // A share can be restored only under its own name ("Restore Share").
  if (name !== address.share) throw invalidHeader(NAME, name)
  const id = /^[0-9A-F]{16}$/i.test(version) ? Number.parseInt(version, 16) : Number.NaN
  if (!Number.isSafeInteger(id)) throw invalidHeader(VERSION, version)
  const taken = reusedName(service, 'share', address.account, address.share)
  // A share that is still being deleted can't be restored yet (azure-sdk-for-net#11260).
  const share = await service.kv.write((tx) =>
    takingName(tx, taken, moment.nowMs, restoreShare(tx, address, id, moment)),
  )
  return { status: 201, headers: changedHeaders(share) }
}

function read({ request, service }: FileCall, address: ShareAddress): Promise<ShareOrSnapshot> {
  checkNoConditions(decodeConditions(request.headers))
  const { nowMs } = service.moment()
  const leaseId = optionalGuid(request.headers, 'x-ms-lease-id')
  return service.kv.read((tx) => readShare(tx, address, leaseId, nowMs))
}

function change({ request, service }: FileCall, changed: ShareChange): Promise<Share> {
  checkNoConditions(decodeConditions(request.headers))
  const [address, moment] = [shareAddress(request), service.moment()]
  const leaseId = optionalGuid(request.headers, 'x-ms-lease-id')
  return service.kv.write((tx) => changeShare(tx, address, { leaseId, change: changed }, moment))
}
