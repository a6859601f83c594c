// The attributes, times, permission, owner and mode of a copy ("Copy File"): those of the source if the request says
// `source`, those in the request if it gives values, otherwise those of a new file.
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
  /** Sets the Archive attribute. Default: unless the attributes come from the source, as recorded answers show. */
  readonly setsArchive?: boolean
}

/** The properties that the source has: a blob has only times. */
export type SourceProperties = Partial<
  Pick<
    FileNode,
    'attributes' | 'creationTime' | 'lastWriteTime' | 'changeTime' | 'owner' | 'group' | 'mode'
  >
> & { readonly descriptorBytes?: Uint8Array }

/** For a file. Its permission key is valid only in its own share, so the descriptor itself is copied. */
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

export function copiedSmbProperties(
  asked: CopyProperties,
  source: SourceProperties,
): SmbProperties {
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
