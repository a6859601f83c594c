// Where the server of a data folder is reached: its admin port may have moved, and another server may have the usual one.
// The server writes this into the folder when it is ready.
import { readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'

export type RunningServerFile = {
  readonly adminUrl: string
  /** The server answers with it, since the port of one that was killed may belong to another program now. */
  readonly id: string
  /** For the commands of those who may read the folder; undefined: the server asks for none, or its owner has chosen it. */
  readonly token?: string
  /** A copy of the folder has the file of the original. */
  readonly location: string
}

/** `location` is that of the folder. */
export type AnnouncedServer = Omit<RunningServerFile, 'location'>

const NAME = 'server.json'

export function newServerId(): string {
  return randomUUID()
}

export function announceServer(location: string, found: AnnouncedServer): void {
  const file = { ...found, location: realpathSync(location) } satisfies RunningServerFile
  writeFileSync(join(location, NAME), `${JSON.stringify(file)}\n`, { mode: 0o600 })
}

export function retractServer(location: string): void {
  rmSync(join(location, NAME), { force: true })
}

/** undefined if no server uses the folder, as far as the folder knows. */
export function readRunningServer(location: string): RunningServerFile | undefined {
  try {
    const file = JSON.parse(readFileSync(join(location, NAME), 'utf8')) as RunningServerFile
    const isWhole = typeof file.adminUrl === 'string' && typeof file.id === 'string'
    return isWhole && file.location === realpathSync(location) ? file : undefined
  } catch {
    return undefined
  }
}
