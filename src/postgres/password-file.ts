// Passwords from libpq's password file: lines of host:port:database:user:password, where * matches anything and a
// backslash escapes a colon or a backslash. https://www.postgresql.org/docs/15/libpq-pgpass.html
import { readFile, stat } from 'node:fs/promises'

export type PasswordQuery = {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
}

/** Undefined if there is no file, or no line matches. */
export async function passwordFromFile(
  file: string,
  query: PasswordQuery,
): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined)
  if (found === undefined || !found.isFile()) return undefined
  // libpq ignores such a file; we say so, because "password missing" would mislead.
  if ((found.mode & 0o077) !== 0 && !isWindows(file)) {
    throw new Error(`The password file ${file} may be read by others. Run: chmod 600 ${file}`)
  }
  return matchPassword(await readFile(file, 'utf8'), query)
}

/** There, folders protect files. */
function isWindows(file: string): boolean {
  return /^[A-Za-z]:[\\/]/.test(file)
}

export function matchPassword(
  text: string,
  { host, port, database, user }: PasswordQuery,
): string | undefined {
  // A Unix socket is "localhost" in the file.
  const wanted = [host.startsWith('/') ? 'localhost' : host, String(port), database, user]
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue
    const fields = splitLine(line)
    const isMatch = wanted.every((value, at) => fields[at] === '*' || fields[at] === value)
    if (isMatch && fields[4] !== undefined) return fields[4]
  }
  return undefined
}

function splitLine(line: string): readonly string[] {
  return Array.from(line.matchAll(/(?:^|:)((?:\\.|[^:\\])*)/g), ([, field = '']) =>
    field.replaceAll(/\\(.)/g, '$1'),
  )
}
