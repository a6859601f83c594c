// Ends the lease of a resource by its path. A container and a share, or a blob and a file, may have the same path.
import { activeBlobLease, activeContainerLease } from '../../storage/blob/held/lease.ts'
import { activeFileLease, activeShareLease } from '../../storage/file/held/lease.ts'
import type { FileKv, FileTx } from '../../storage/file/open/open.ts'
import { parseTimestamp } from '../../storage/shared/etag.ts'
import { endActiveLease, type ActiveLease } from '../../storage/shared/leased.ts'
import type { ReadTx, Step } from '../../kv/kv.ts'
import type { HeldLease } from '../api.ts'
import { HeldError, servedElsewhere } from './held-error.ts'
import type { HeldSource } from './source.ts'

type LeaseKind = HeldLease['kind']

type Candidate = {
  readonly kind: LeaseKind
  /** undefined: another node serves it. */
  readonly kv: FileKv | undefined
  find(tx: ReadTx): Step<ActiveLease<FileTx> | undefined>
}

export async function breakLease(
  source: HeldSource,
  resource: string,
  kind: LeaseKind | undefined,
): Promise<void> {
  const all = candidatesOf(source, resource)
  const candidates = kind === undefined ? all : all.filter((each) => each.kind === kind)
  if (candidates.length === 0) {
    const message = `${resource} can't be a ${kind}: it can be a ${all.map((each) => each.kind).join(' or a ')}`
    throw new HeldError('InvalidField', message, 'kind')
  }
  const leased: Candidate[] = []
  for (const each of candidates) {
    const kv = each.kv ?? source.kv
    if ((await kv.read((tx) => each.find(tx))) !== undefined) leased.push(each)
  }
  const [first, second] = leased
  if (first !== undefined && second !== undefined) {
    const message = `a ${first.kind} and a ${second.kind} are leased at ${resource}: say which kind is meant`
    throw new HeldError('Ambiguous', message, 'kind')
  }
  if (first !== undefined && first.kv === undefined) throw servedElsewhere()
  const isEnded =
    first?.kv !== undefined &&
    (await first.kv.write((tx) => endActiveLease(tx, (inside) => first.find(inside))))
  if (!isEnded)
    throw new HeldError('NotHeld', `there is no active lease on ${resource}`, 'resource')
}

function candidatesOf(source: HeldSource, resource: string): readonly Candidate[] {
  const { kv } = source
  const files = source.files()
  const { nowMs } = source.moment()
  const [snapshotOf, snapshot] = splitSnapshot(resource)
  const [start, account, name, ...rest] = (snapshotOf ?? resource).split('/')
  if (start !== '' || !account || !name) throw invalidResource()
  const share = { account, share: name }
  if (snapshot !== undefined && rest.length === 0) {
    const address = { ...share, snapshot }
    return [{ kind: 'share', kv: files, find: (tx) => activeShareLease(tx, address, nowMs) }]
  }
  const container = { account, container: name }
  if (rest.length === 0) {
    return [
      { kind: 'container', kv, find: (tx) => activeContainerLease(tx, container, nowMs) },
      { kind: 'share', kv: files, find: (tx) => activeShareLease(tx, share, nowMs) },
    ]
  }
  const blob = { ...container, blob: rest.join('/') }
  const file = { ...share, path: rest }
  return [
    { kind: 'blob', kv, find: (tx) => activeBlobLease(tx, blob, nowMs) },
    { kind: 'file', kv: files, find: (tx) => activeFileLease(tx, file, nowMs) },
  ]
}

/** `/account/share?sharesnapshot=2026-01-02T03:04:05.0000000Z` */
function splitSnapshot(resource: string): readonly [string?, number?] {
  const [, share, time] = /^(\/[^/]+\/[^/?]+)\?sharesnapshot=(.+)$/.exec(resource) ?? []
  if (share === undefined || time === undefined) return []
  const snapshot = parseTimestamp(time)
  if (snapshot === undefined) throw invalidResource()
  return [share, snapshot]
}

function invalidResource(): HeldError {
  const message =
    'resource must be the path of a container, blob, share or file: /account/container/blob'
  return new HeldError('InvalidField', message, 'resource')
}
