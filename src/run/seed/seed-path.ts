// Names of blobs as paths of files, and back. Characters that some file system refuses are percent-encoded. An empty
// segment is `%2F`; a blob below whose name there are others (`a` beside `a/b`) has `%2F` at its end.
const REFUSED = /[%<>:"|?*\\\p{Cc}]|^\.+$|^ | $|\.$/gu
const EMPTY = '%2F'

export function encodeSegment(segment: string): string {
  if (segment === '') return EMPTY
  return segment.replaceAll(REFUSED, (found) =>
    [...Buffer.from(found)]
      .map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`)
      .join(''),
  )
}

export function encodeSegments(name: string): readonly string[] {
  return name.split('/').map(encodeSegment)
}

/** The name of a file that stands beside a folder of that name. */
export function besideFolder(segment: string): string {
  return `${segment}${EMPTY}`
}

/** A name that was not encoded stays as it is: `100%.txt`. */
export function decodeSegment(segment: string): string {
  const plain = segment === EMPTY ? '' : segment.replace(/%2F$/i, '')
  if (!plain.includes('%')) return plain
  try {
    return decodeURIComponent(plain.replaceAll(/%(?![0-9A-Fa-f]{2})/g, '%25'))
  } catch {
    return plain
  }
}
