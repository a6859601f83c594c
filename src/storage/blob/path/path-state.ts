// What a path of a hierarchical container has besides what every blob has. Names are entries of directories, and files and
// directories have ids for life: an id is the name under which their records are stored, so that a rename moves one entry
// and nothing below it (docs/decisions/0030-paths-are-ids.md).
import type { AccessControl } from '../access/acl.ts'

export type PathState = {
  /** The name under which its records are stored. */
  readonly id: string
  /** The directory that has its entry. */
  readonly parentId: string
  readonly name: string
  readonly isDirectory?: true
  /** Without it, the path is the superuser's and has the mode of a new path. */
  readonly access?: AccessControl
  /** It is soft-deleted: no entry leads to it, and nothing below it is found either. */
  readonly isDeleted?: true
}

/** A name in a directory. */
export type PathEntry = { readonly id: string; readonly isDirectory?: true }

/** A soft-deleted path: its record and, of a directory, everything below it are where they were. */
export type DeletedPath = PathEntry & {
  readonly spaceId: number
  readonly atMs: number
  readonly untilMs: number
}

/** Marks directories for clients of the Blob service. */
export const FOLDER_MARK = 'hdi_isfolder'

/** Ids of paths don't begin with a slash (newPathId), so these two are nobody's. */
export function rootIdOf(containerId: number): string {
  return `/${containerId}`
}

/** Undefined: the directory isn't the root of a container. */
export function containerIdOfRoot(id: string): number | undefined {
  return id.startsWith('/') ? Number(id.slice(1)) : undefined
}

/**
 * Where the uncommitted blocks and the lease of a path are that doesn't exist yet. Separators sort before all characters
 * of names, as in lists.
 */
export function uncommittedName(rootId: string, names: readonly string[]): string {
  return `${rootId}\0${names.join('\0')}`
}

/** Undefined: it is not the name of an uncommitted path. */
export function splitUncommittedName(name: string) {
  const at = name.indexOf('\0')
  if (!name.startsWith('/') || at < 0) return undefined
  return { rootId: name.slice(0, at), path: name.slice(at + 1).replaceAll('\0', '/') }
}

/** No two writes have the same stamp. `at` tells apart the paths that one write creates. */
export function newPathId(stamp: number, at: number): string {
  return at === 0 ? stamp.toString(36) : `${stamp.toString(36)}.${at}`
}
