// Blobs as List Blobs gives them. A row is small: a list may have a million.
import type { Area } from '../storage.ts'
import { askXml, childrenOf, childOf, nameOf, pairsOf, textAt } from '../xml.ts'
import type { PageOf } from '../paged.ts'

export type BlobProps = { readonly area: Area; readonly container: string; readonly blob: string }

export type BlobRow = {
  /** In full, for requests; a folder ends with a slash. */
  readonly name: string
  readonly isFolder: boolean
  readonly sizeBytes: number
  readonly modified: string
  readonly type: string
  readonly lease: string
  readonly isDeleted: boolean
}

/** Enough to fill a window at once; more at a time while somebody scrolls. */
const FIRST_COUNT = 500
const NEXT_COUNT = 5_000

export type Shown = { readonly prefix: string; readonly isDeletedShown: boolean }

export async function listBlobs(
  area: Area,
  container: string,
  { prefix, isDeletedShown }: Shown,
  marker: string | undefined,
  signal: AbortSignal,
): Promise<PageOf<BlobRow>> {
  const query = {
    restype: 'container', comp: 'list', prefix, delimiter: '/', marker,
    maxresults: marker === undefined ? FIRST_COUNT : NEXT_COUNT,
    include: isDeletedShown ? 'deleted' : undefined,
  } // prettier-ignore
  const list = await askXml(area, { path: [container], query, signal })
  const rows = [...(childOf(list, 'Blobs')?.children ?? [])].map(rowOf)
  return { rows, next: textAt(list, 'NextMarker') || undefined }
}

function rowOf(element: Element): BlobRow {
  const properties = pairsOf(childOf(element, 'Properties'))
  return {
    name: nameOf(element),
    isFolder: element.tagName === 'BlobPrefix',
    sizeBytes: Number(properties['Content-Length'] ?? 0),
    modified: properties['Last-Modified'] ?? '',
    type: properties['Content-Type'] ?? '',
    lease: properties['LeaseState'] ?? '',
    isDeleted: textAt(element, 'Deleted') === 'true',
  }
}

/** An earlier state of a blob: a snapshot, a version, or one that was deleted. */
export type PastBlob = {
  readonly snapshot: string
  readonly versionId: string
  readonly isCurrent: boolean
  readonly isDeleted: boolean
  readonly sizeBytes: number
  readonly modified: string
  readonly daysLeft: string
}

export async function listPast(
  area: Area,
  container: string,
  blob: string,
): Promise<readonly PastBlob[]> {
  const query = {
    restype: 'container',
    comp: 'list',
    prefix: blob,
    include: 'snapshots,versions,deleted',
    maxresults: 1_000,
  }
  const list = await askXml(area, { path: [container], query })
  const own = childrenOf(childOf(list, 'Blobs'), 'Blob').filter((each) => nameOf(each) === blob)
  return own.map((each) => {
    const properties = childOf(each, 'Properties')
    return {
      snapshot: textAt(each, 'Snapshot'),
      versionId: textAt(each, 'VersionId'),
      isCurrent: textAt(each, 'IsCurrentVersion') === 'true',
      isDeleted: textAt(each, 'Deleted') === 'true',
      sizeBytes: Number(textAt(properties, 'Content-Length')),
      modified: textAt(properties, 'Last-Modified'),
      daysLeft: textAt(properties, 'RemainingRetentionDays'),
    }
  })
}

export type Retention = { readonly isOn: boolean; readonly days: string }

/** Whether deleted blobs are kept for a while. */
export async function retentionOf(area: Area): Promise<Retention> {
  const properties = await askXml(area, { query: { restype: 'service', comp: 'properties' } })
  const policy = pairsOf(childOf(properties, 'DeleteRetentionPolicy'))
  return { isOn: policy['Enabled'] === 'true', days: policy['Days'] ?? '' }
}
