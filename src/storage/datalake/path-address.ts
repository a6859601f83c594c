// What a request of the Data Lake endpoint names: a path of a filesystem, which is a blob of a container.
import type { BlobAddress } from '../blob/blob.ts'
import type { ContainerAddress } from '../blob/container/container.ts'
import type { PathNeed } from '../blob/path/access.ts'
import { SUPERUSER_ACTOR, type Actor } from '../blob/access/actor.ts'

export type PathAddress = ContainerAddress & {
  /** Empty: the root of the filesystem. */
  readonly path: string
  /** By default, nothing is restricted. Counts only in accounts with a hierarchical namespace. */
  readonly actor?: Actor
}

export function blobOfPath(
  { account, container, path, actor = SUPERUSER_ACTOR }: PathAddress,
  need: PathNeed,
): BlobAddress {
  return { account, container, blob: path, access: { actor, need } }
}
