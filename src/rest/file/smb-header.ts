// Decodes attributes, times, permission, owner and mode from the headers of a request. Some versions require some of
// them; later versions have defaults ("Create File", "Set File Properties").
import { optionalHeader, optionalWord, type HeaderFields } from '../../http/protocol/header.ts'
import type { Request } from '../../http/door/operation.ts'
import { isAtLeast } from '../../http/door/version.ts'
import { invalidHeader, missingHeader, StorageError } from '../../storage/shared/error.ts'
import { parseAttributes } from '../../storage/file/tree/attributes.ts'
import { parseFileTime } from '../../storage/file/tree/file-time.ts'
import type { NodeKind } from '../../storage/file/tree/node.ts'
import type {
  PermissionChange,
  PosixProperties,
  SmbProperties,
  TimeChange,
} from '../../storage/file/tree/smb-properties.ts'
import { parsePermission } from './permission.ts'

type SmbUse = 'create' | 'set' | 'rename' | 'copy'

const ATTRIBUTES = 'x-ms-file-attributes'
const PERMISSION = 'x-ms-file-permission'
const PERMISSION_KEY = 'x-ms-file-permission-key'
const PERMISSION_FORMAT = 'x-ms-file-permission-format'
const CREATION_TIME = 'x-ms-file-creation-time'
const LAST_WRITE_TIME = 'x-ms-file-last-write-time'
const CHANGE_TIME = 'x-ms-file-change-time'

/** A longer permission needs Create Permission. */
const INLINE_PERMISSION_BYTES_MAX = 8 * 1024

/** `kind` is the type of node that the request addresses or creates. */
export function decodeSmbProperties(
  request: Request,
  use: SmbUse,
  kind: NodeKind = 'file',
): SmbProperties {
  const { headers } = request
  checkRequired(request, use)
  const attributes = decodeAttributes(headers, use, kind)
  const creationTime = decodeTime(headers, CREATION_TIME, use)
  const lastWriteTime = decodeTime(headers, LAST_WRITE_TIME, use)
  const changeTime = decodeTime(headers, CHANGE_TIME, use)
  const permission = decodePermission(headers, use)
  const posix = decodePosix(headers)
  return {
    ...(attributes !== undefined && { attributes }),
    ...(creationTime !== undefined && { creationTime }),
    ...(lastWriteTime !== undefined && { lastWriteTime }),
    ...(changeTime !== undefined && { changeTime }),
    ...(permission !== undefined && { permission }),
    ...(posix !== undefined && { posix }),
  }
}

/** From 2019-02-02 to 2021-04-10 there are no defaults, except in renames and copies. */
function checkRequired({ headers, version }: Request, use: SmbUse): void {
  const isNeeded = isAtLeast(version, '2019-02-02') && !isAtLeast(version, '2021-06-08')
  if (!isNeeded || use === 'rename' || use === 'copy') return
  for (const name of [ATTRIBUTES, CREATION_TIME, LAST_WRITE_TIME]) {
    if (optionalHeader(headers, name) === undefined) throw missingHeader(name)
  }
  const permission = optionalHeader(headers, PERMISSION) ?? optionalHeader(headers, PERMISSION_KEY)
  if (permission === undefined) throw missingHeader(PERMISSION)
}

// Keywords that are accepted instead of a value, per operation.
// prettier-ignore
const WORDS = {
  create: { keep: undefined,  source: undefined, now: 'now' },
  set:    { keep: 'preserve', source: undefined, now: 'now' },
  rename: { keep: 'preserve', source: undefined, now: 'now' },
  copy:   { keep: undefined,  source: 'source',  now: undefined },
} as const

function decodeAttributes(
  headers: HeaderFields,
  use: SmbUse,
  kind: NodeKind,
): number | 'source' | undefined {
  const text = optionalHeader(headers, ATTRIBUTES)
  if (text === undefined) return undefined
  const word = text.toLowerCase()
  if (word === WORDS[use].keep) return undefined
  if (word === WORDS[use].source) return 'source'
  const attributes = parseAttributes(text, kind)
  if (attributes === undefined) throw invalidHeader(ATTRIBUTES, text)
  return attributes
}

function decodeTime(headers: HeaderFields, name: string, use: SmbUse): TimeChange | undefined {
  const text = optionalHeader(headers, name)
  if (text === undefined) return undefined
  const word = text.toLowerCase()
  const words = WORDS[use]
  if (word === words.keep) return undefined
  if (word === words.source) return 'source'
  if (word === words.now) return 'now'
  const at = parseFileTime(text)
  if (at === undefined) throw invalidHeader(name, text)
  return { at }
}

/** `inherit` is the default of a new file; `preserve` keeps the permission of an existing one. */
function decodePermission(headers: HeaderFields, use: SmbUse): PermissionChange | undefined {
  const text = optionalHeader(headers, PERMISSION)
  const key = optionalHeader(headers, PERMISSION_KEY)
  const format = optionalWord(headers, PERMISSION_FORMAT, ['Sddl', 'Binary']) ?? 'Sddl'
  if (text !== undefined && key !== undefined) throw invalidHeader(PERMISSION_KEY, key)
  if (key !== undefined) return { key }
  if (text === undefined) return undefined
  const word = text.toLowerCase()
  if (word === 'inherit') return 'inherit'
  if (word === 'preserve' && use !== 'create') return undefined
  if (text.length > INLINE_PERMISSION_BYTES_MAX) throw new StorageError('FileInvalidPermission')
  return { descriptorBytes: parsePermission(text, format) }
}

const ID_MAX = 2 ** 32 - 1

function decodePosix(headers: HeaderFields): PosixProperties | undefined {
  const owner = decodeId(headers, 'x-ms-owner')
  const group = decodeId(headers, 'x-ms-group')
  const mode = decodeMode(headers)
  if (owner === undefined && group === undefined && mode === undefined) return undefined
  return {
    ...(owner !== undefined && { owner }),
    ...(group !== undefined && { group }),
    ...(mode !== undefined && { mode }),
  }
}

function decodeId(headers: HeaderFields, name: string): string | undefined {
  const text = optionalHeader(headers, name)
  if (text === undefined) return undefined
  if (!/^\d{1,10}$/.test(text) || Number(text) > ID_MAX) throw invalidHeader(name, text)
  return String(Number(text))
}

const RWX = /^([r-])([w-])([x-])([r-])([w-])([x-])([r-])([w-])([xtT-])$/

/** Octal digits, or the nine letters of `ls`, the last of which may be the sticky bit. */
function decodeMode(headers: HeaderFields): string | undefined {
  const text = optionalHeader(headers, 'x-ms-mode')
  if (text === undefined) return undefined
  if (/^[0-7]{3,4}$/.test(text)) return text.padStart(4, '0')
  const letters = RWX.exec(text)?.slice(1)
  if (letters === undefined) throw invalidHeader('x-ms-mode', text)
  const bits = letters.reduce((mode, letter) => mode * 2 + (/[rwxt]/.test(letter) ? 1 : 0), 0)
  const sticky = /t$/i.test(text) ? 0o1000 : 0
  return (bits + sticky).toString(8).padStart(4, '0')
}
