// The journal as a file of JSON lines, as `--journalFile` asks for. Requests never wait for it: if the disk is too slow, entries
// are dropped, and a line says how many.
import type { Journal } from '../../control/journal.ts'
import { LineBuffer } from './line-buffer.ts'
import { openPrivateFile } from './private-file.ts'

export type JournalFile = {
  /** Writes every entry from now on. */
  follow(journal: Journal): void
  /** Goes on in a new file, after a program that rotates logs has renamed this one. */
  reopen(): void
  /** Writes the rest and closes the file. */
  close(): Promise<void>
}

const PURPOSE = { what: 'the journal file', flag: '--journalFile' }

/** Calls `report` if writing fails. The file ends there until it is reopened, and the server goes on. */
export async function openJournalFile(
  path: string,
  report: (message: string, error: unknown) => void,
): Promise<JournalFile> {
  const file = await openPrivateFile(path, PURPOSE, (error) =>
    report(`the journal file ${path} has ended`, error),
  )
  const lines = new LineBuffer(file, (droppedCount) => JSON.stringify({ droppedCount }))
  let stop = (): void => undefined
  return {
    follow: (journal) => {
      stop = journal.listen((entry) => lines.write(JSON.stringify(journal.view(entry))))
    },
    reopen: () => file.reopen(),
    close: async () => {
      stop()
      lines.flush()
      await file.end()
    },
  }
}
