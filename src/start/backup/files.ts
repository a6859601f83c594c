// Where the files of a backup are: in a folder (folder.ts), or in a tar file (tar-file.ts).
import { StartError } from '../start-error.ts'

export interface BackupFiles {
  /** For people. */
  readonly text: string
  /** The names of complete files, with their sizes. */
  list(): Promise<ReadonlyMap<string, number>>
  /** Throws BackupDamaged if the file has fewer bytes. */
  read(name: string, offset: number, lengthBytes: number): Promise<Buffer>
  close(): Promise<void>
}

/** A backup that is being written. */
export interface BackupWriter {
  /** What is there: of earlier backups, if they can be used again, and what was written by now. */
  readonly files: BackupFiles
  /** The file is complete and durable when it is listed. */
  write(name: string, lengthBytes: number, chunks: AsyncIterable<Uint8Array>): Promise<void>
  /** Writes the manifest, so that `files` has everything; people still see the earlier backup. */
  finish(manifest: Buffer): Promise<void>
  /** From now on, this is the backup. Removes what it does not need. */
  publish(needed: ReadonlySet<string>): Promise<void>
  close(): Promise<void>
}

export class BackupDamaged extends StartError {
  constructor(detail: string) {
    super(`the backup is damaged: ${detail}`)
    this.name = 'BackupDamaged'
  }
}
