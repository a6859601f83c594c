// A directory of a share, as List Directories and Files gives it.
import type { PageOf } from '../paged.ts'
import { ask, type Area, type Ask } from '../storage.ts'
import { askXml, childrenOf, childOf, nameOf, textAt } from '../xml.ts'

export type FileRow = {
  readonly name: string
  readonly isDirectory: boolean
  readonly sizeBytes: number
  readonly modified: string
  readonly attributes: string
}

/** A share, or a snapshot of it. */
export type ShareOf = {
  readonly area: Area
  readonly share: string
  readonly snapshot: string | undefined
}

export async function listFiles(
  { area, share, snapshot }: ShareOf,
  directory: string,
  prefix: string,
  marker: string | undefined,
  signal: AbortSignal,
): Promise<PageOf<FileRow>> {
  const query = {
    restype: 'directory', comp: 'list', prefix, marker, sharesnapshot: snapshot,
    include: 'timestamps,attributes', maxresults: marker === undefined ? 500 : 5_000,
  } // prettier-ignore
  const path = directory === '' ? [share] : [share, directory]
  const list = await askXml(area, { path, query, headers: EXTENDED, signal })
  const rows = [...(childOf(list, 'Entries')?.children ?? [])].map((each): FileRow => {
    const properties = childOf(each, 'Properties')
    return {
      name: nameOf(each),
      isDirectory: each.tagName === 'Directory',
      sizeBytes: Number(textAt(properties, 'Content-Length')),
      modified: textAt(properties, 'LastWriteTime') || textAt(properties, 'Last-Modified'),
      attributes: textAt(each, 'Attributes'),
    }
  })
  return { rows, next: textAt(list, 'NextMarker') || undefined }
}

const EXTENDED = { 'x-ms-file-extended-info': 'true' }

/** Oldest first. */
export async function listSnapshots(area: Area, share: string): Promise<readonly string[]> {
  const list = await askXml(area, { query: { comp: 'list', prefix: share, include: 'snapshots' } })
  return childrenOf(childOf(list, 'Shares'), 'Share')
    .filter((each) => nameOf(each) === share)
    .map((each) => textAt(each, 'Snapshot'))
    .filter((snapshot) => snapshot !== '')
}

export function itemRequest(
  { share, snapshot }: ShareOf,
  { path, isDirectory }: Item,
): Ask & { query: Record<string, string | undefined> } {
  return {
    path: [share, path],
    query: { restype: isDirectory ? 'directory' : undefined, sharesnapshot: snapshot },
  }
}

/** A file or directory, by its path within the share. */
export type Item = { readonly path: string; readonly isDirectory: boolean }

export async function makeDirectory({ area, share }: ShareOf, path: string): Promise<void> {
  await ask(area, { method: 'PUT', path: [share, path], query: { restype: 'directory' } })
}
