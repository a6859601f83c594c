// The data folder belongs to the user who runs the server: everything in it is made with modes 0700 and 0600,
// because whoever can read `data.mdb` can read every blob. A folder from before that, or made by somebody else's
// mkdir, is tightened at start.
import { chmod, lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

export type TightenSettings = {
  /** Of this process; undefined on Windows, which has no modes. */
  readonly uid: number | undefined
  readonly report: (level: 'info' | 'warn', message: string) => void
}

const FOLDER_MODE = 0o700
const FILE_MODE = 0o600
const OTHERS = 0o077

/** What Lazuli itself makes in its location. */
const OWN_NAME = /^(store|extents|https|\.gitignore|\.write-check|lazuli-[0-9a-f]{8}\.sock)$/

export async function tightenLocation(path: string, settings: TightenSettings): Promise<void> {
  const { uid, report } = settings
  if (uid === undefined) return
  const found: Found = { uid, tightened: 0, foreign: [] }
  const names = await readdir(path)
  const own = names.filter((name) => OWN_NAME.test(name))
  // With other files in it the folder has another purpose as well (a project, or even /tmp): its mode stays, and only
  // what Lazuli made below it is tightened.
  if (own.length === names.length) await tighten(path, found)
  else for (const name of own) await tighten(join(path, name), found)
  if (found.tightened > 0) {
    report('info', `${path}: only its owner can read the data now; before, other users could`)
  }
  for (const foreign of found.foreign) {
    report(
      'warn',
      `${foreign} belongs to another user, so its permissions stay: others may read it`,
    )
  }
}

type Found = { readonly uid: number; tightened: number; readonly foreign: string[] }

/** Nothing below a folder can be reached through it once it is private, so a private one is not walked. */
async function tighten(path: string, found: Found): Promise<void> {
  const stats = await lstat(path)
  if (stats.isSymbolicLink() || (stats.mode & OTHERS) === 0) return
  if (stats.uid !== found.uid) {
    found.foreign.push(path)
    return
  }
  // From the inside out: a start that is cut short is finished by the next one.
  if (stats.isDirectory()) {
    for (const name of await readdir(path)) await tighten(join(path, name), found)
  }
  await chmod(path, stats.isDirectory() ? FOLDER_MODE : FILE_MODE)
  found.tightened += 1
}
