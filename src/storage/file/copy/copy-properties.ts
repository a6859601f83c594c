// What a copy makes of the attributes, times, permission, owner and mode of its source ("Copy File"): taken over
// where the request says `source`, set where it gives a value, and else those of a file that was just written.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { ARCHIVE } from '../tree/attributes.ts'
import type { Existing, FileNode } from '../tree/node.ts'
import { requirePermission } from '../security/permission.ts'
import type { PermissionChange, SmbProperties, TimeChange } from '../tree/smb-properties.ts'

type CopyMode = 'source' | 'override'

export type CopyProperties = SmbProperties & {
  readonly permissionMode?: CopyMode
  readonly modeMode?: CopyMode
  readonly ownerMode?: CopyMode
  /** The archive attribute is set; left out, unless the attributes are the source's, as recorded answers show. */
  readonly setsArchive?: boolean
}

/** As far as the source has them: a blob has times alone. */
export type SourceProperties = Partial<
  Pick<
    FileNode,
    'attributes' | 'creationTime' | 'lastWriteTime' | 'changeTime' | 'owner' | 'group' | 'mode'
  >
> & { readonly descriptorBytes?: Uint8Array }

/** Of a file; its permission is a key of its own share, so it goes along as a descriptor. */
export function* sourceProperties(tx: ReadTx, { share, node }: Existing): Step<SourceProperties> {
  const { attributes, creationTime, lastWriteTime, changeTime, owner, group, mode } = node
  return {
    attributes,
    creationTime,
    lastWriteTime,
    changeTime,
    ...(owner !== undefined && { owner }),
    ...(group !== undefined && { group }),
    ...(mode !== undefined && { mode }),
    descriptorBytes: yield* requirePermission(tx, share.id, node.permissionKey),
  }
}

export function copiedProperties(asked: CopyProperties, source: SourceProperties): SmbProperties {
  const { attributes = ARCHIVE, setsArchive = attributes !== 'source' } = asked
  const taken = attributes === 'source' ? (source.attributes ?? ARCHIVE) : attributes
  const posix = copiedPosix(asked, source)
  return {
    attributes: setsArchive ? taken | ARCHIVE : taken,
    creationTime: copiedTime(asked.creationTime, source.creationTime),
    lastWriteTime: copiedTime(asked.lastWriteTime, source.lastWriteTime),
    changeTime: copiedTime(asked.changeTime, source.changeTime),
    permission: copiedPermission(asked, source),
    ...(posix !== undefined && { posix }),
  }
}

function copiedTime(asked: TimeChange = 'now', source: FileNode['creationTime'] | undefined) {
  if (asked !== 'source') return asked
  return source === undefined ? 'now' : { at: source }
}

function copiedPermission(
  { permissionMode, permission = 'inherit' }: CopyProperties,
  { descriptorBytes }: SourceProperties,
): PermissionChange {
  if (permissionMode !== 'source') return permission
  return descriptorBytes === undefined ? 'inherit' : { descriptorBytes }
}

function copiedPosix(
  { posix, modeMode, ownerMode }: CopyProperties,
  source: SourceProperties,
): SmbProperties['posix'] {
  const { owner, group } = ownerMode === 'source' ? source : (posix ?? {})
  const { mode } = modeMode === 'source' ? source : (posix ?? {})
  if (owner === undefined && group === undefined && mode === undefined) return undefined
  return {
    ...(owner !== undefined && { owner }),
    ...(group !== undefined && { group }),
    ...(mode !== undefined && { mode }),
  }
}
