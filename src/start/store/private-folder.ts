// Makes the data folder private to the user who runs the server: whoever can read `data.mdb` can read every blob. New
// files get modes 0700 and 0600; existing ones are restricted at start.
import { chmod, lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

export type TightenSettings = {
  /** The user id of this process; undefined on Windows, which has no modes. */
  readonly uid: number | undefined
  readonly report: (level: 'info' | 'warn', message: string) => void
}

const FOLDER_MODE = 0o700
const FILE_MODE = 0o600
const OTHERS = 0o077

/** The files that Lazuli itself creates in the data folder. */
const OWN_NAME =
  /^(store|extents|https|\.gitignore|\.write-check|server\.json|azurite-import|lazuli-[0-9a-f]{8}\.sock)$/

export async function tightenLocation(path: string, settings: TightenSettings): Promise<void> {
  const { uid, report } = settings
  if (uid === undefined) return
  const found: Found = { uid, tightened: 0, foreign: [] }
  const names = await readdir(path)
  const own = names.filter((name) => OWN_NAME.test(name))
  // If it contains other files, the folder also serves another purpose (a project, or even /tmp): it keeps its mode, and
  // only Lazuli's own files are restricted.
  if (own.length === names.length) await tighten(path, found)
  else for (const name of own) await tighten(join(path, name), found)
  if (found.tightened > 0) {
    report('info', `${path}: restricted to its owner; other users could read the data before`)
  }
  for (const foreign of found.foreign) {
    report(
      'warn',
      `${foreign} belongs to another user and keeps its permissions: others may be able to read it`,
    )
  }
}

type Found = { readonly uid: number; tightened: number; readonly foreign: string[] }

/** Skips private folders: nobody else can reach their contents. */
async function tighten(path: string, found: Found): Promise<void> {
  const stats = await lstat(path)
  if (stats.isSymbolicLink() || (stats.mode & OTHERS) === 0) return
  if (stats.uid !== found.uid) {
    found.foreign.push(path)
    return
  }
  // Contents first, so that the next start completes an interrupted one.
  if (stats.isDirectory()) {
    for (const name of await readdir(path)) await tighten(join(path, name), found)
  }
  await chmod(path, stats.isDirectory() ? FOLDER_MODE : FILE_MODE)
  found.tightened += 1
}
