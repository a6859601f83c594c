// The backups of a running server, one at a time, in the background of its requests.
import { realpathSync } from 'node:fs'
import { isAbsolute, relative } from 'node:path'
import { ControlError } from '../../control/control-error.ts'
import type { BackupState } from '../admin/api/parts.ts'
import type { Progress } from '../copy/progress.ts'
import { errorReason, StartError } from '../start-error.ts'
import { backedUpLine, backUp } from './backup.ts'
import { liveSource, type LiveStore } from './live-source.ts'
import { writeBackupTo } from './open-backup.ts'

export class BackupJobs {
  readonly #live: LiveStore
  readonly #version: string
  #state: BackupState = { state: 'none' }
  #completedMs: number | undefined
  #running: Promise<void> | undefined
  #stopping = new AbortController()

  constructor(live: LiveStore, version: string) {
    this.#live = live
    this.#version = version
  }

  state(): BackupState {
    return this.#state
  }

  /** Of the last complete one. */
  completedMs(): number | undefined {
    return this.#completedMs
  }

  /** Returns when it has begun. */
  async start(place: string, location: string | undefined): Promise<BackupState> {
    const { folder } = this.#live
    if (!isAbsolute(place)) throw new ControlError('must be an absolute path', 'place')
    if (location !== undefined && realPath(location) !== realPath(folder)) {
      throw new ControlError(
        `is not the data folder of this server, which is ${folder}`,
        'location',
      )
    }
    checkOutside(place, folder)
    if (this.#running !== undefined) {
      throw new ControlError(`a backup to ${this.#state.place} is running`)
    }
    this.#stopping = new AbortController()
    this.#state = { state: 'running', place }
    this.#running = this.#run(place).finally(() => (this.#running = undefined))
    return this.#state
  }

  async stop(): Promise<BackupState> {
    this.#stopping.abort()
    await this.#running
    return this.#state
  }

  async #run(place: string): Promise<void> {
    const { signal } = this.#stopping
    try {
      const writer = await writeBackupTo(place)
      try {
        const source = await liveSource(this.#live)
        const settings = {
          version: this.#version,
          nowMs: Date.now,
          progress: this.#progress,
          signal,
        }
        const message = backedUpLine(await backUp(source, writer, settings), place)
        this.#state = { state: 'done', place, message }
        this.#completedMs = Date.now()
      } finally {
        await writer.close()
      }
    } catch (error) {
      const message = signal.aborted ? 'the backup was stopped' : failure(error)
      this.#state = { state: 'failed', place, message }
    }
  }

  readonly #progress: Progress = {
    show: (phase, done, total) => {
      this.#state = { ...this.#state, phase, done, total }
    },
    say: () => undefined,
  }
}

function failure(error: unknown): string {
  return error instanceof StartError ? error.message : `the backup failed: ${errorReason(error)}`
}

/** A backup inside the data folder would be lost with it. */
export function checkOutside(place: string, folder: string): void {
  const inside = relative(folder, place)
  if (inside.startsWith('..') || isAbsolute(inside)) return
  throw new ControlError(
    `${place} is inside the data folder ${folder}, with which it would be lost; choose another place`,
  )
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
