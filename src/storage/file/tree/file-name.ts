// Names of directories and files: case-preserving and case-insensitive, with the characters that Windows allows
// ("Naming and Referencing Shares, Directories, Files, and Metadata").
import { memoize } from '../../../memory/memoize.ts'
import { StorageError } from '../../shared/error.ts'

const NAME_LENGTH_MAX = 255
const PATH_LENGTH_MAX = 2_048
const DEPTH_MAX = 250

// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /["\\/:|<>*?\u0000-\u001f\u007f]/
const DEVICES = /^(?:CON|PRN|AUX|NUL|CLOCK\$|COM[1-9]|LPT[1-9])$/i

type PathRule = {
  /** x-ms-allow-trailing-dot; without it, trailing dots of a name are removed. */
  readonly allowTrailingDot: boolean
}

/** The names of a path, starting below the share's root; empty for the root itself. */
export function parseFilePath(text: string, { allowTrailingDot }: PathRule): readonly string[] {
  return allowTrailingDot ? pathWithDots(text) : pathWithoutDots(text)
}

const pathWithDots = memoize((text) => parsePath(text, (name) => name))
const pathWithoutDots = memoize((text) => parsePath(text, withoutDots))

function parsePath(text: string, nameOf: (name: string) => string): readonly string[] {
  const path = text.replaceAll('\\', '/').replace(/\/+$/, '')
  if (path === '') return []
  if (path.length > PATH_LENGTH_MAX) throw new StorageError('InvalidFileOrDirectoryPathName')
  const names = path.split('/').map(nameOf)
  if (names.length > DEPTH_MAX) throw new StorageError('InvalidFileOrDirectoryPathName')
  for (const name of names) checkFileName(name)
  return names
}

/** `.` and `..` are not names with trailing dots. */
function withoutDots(name: string): string {
  return /^\.{1,2}$/.test(name) ? name : name.replace(/\.+$/, '')
}

export function checkFileName(name: string): void {
  if (name === '' || name === '.' || name === '..' || name.length > NAME_LENGTH_MAX) {
    throw new StorageError('InvalidFileOrDirectoryPathName')
  }
  if (FORBIDDEN.test(name)) throw new StorageError('InvalidResourceName')
  if (DEVICES.test(name.split('.', 1)[0] ?? '')) throw new StorageError('InvalidResourceName')
}

/** The case-insensitive form of a name. Each code unit folds to one code unit, as in Windows' own table. */
export const foldName = memoize((name: string): string => {
  if (ASCII.test(name)) return name.toUpperCase()
  let folded = ''
  for (const character of name) {
    const upper = character.toUpperCase()
    folded += upper.length === character.length ? upper : character
  }
  return folded
})

// oxlint-disable-next-line no-control-regex
const ASCII = /^[\u0000-\u007f]*$/
