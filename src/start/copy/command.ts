// `lazuli copy`: opens both stores, copies, and says how it went. Ctrl-C stops it where the same command goes on later.
import { ExtentDamaged } from '../../extent/error.ts'
import { FolderDiffers } from '../../extent/file/folder-id.ts'
import { BytesKindDiffers } from '../../node/bytes-kind.ts'
import type { CopyCommand, StoreName } from '../options/command.ts'
import { StartError } from '../start-error.ts'
import { copyStore, type CopyOptions } from './copy.ts'
import { openStoreToCopy, openTarget, type CopySource, type OpenSettings } from './place.ts'
import { bytesText, type Progress } from './progress.ts'

export type CopyRun = OpenSettings & {
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** Returns lines to print. Throws StartError if the copy is not complete. */
export function runCopy({ from, to }: CopyCommand, run: CopyRun): Promise<readonly string[]> {
  return runCopyFrom(() => openStoreToCopy(from, run), to, { ...run, done: 'copied', what: 'copy' })
}

/** What people call it: `the copy was stopped`, `copied 5 records`. */
export type NamedRun = CopyRun &
  Pick<CopyOptions, 'ifDamaged' | 'acceptsDamage'> & {
    readonly what: string
    readonly done: string
  }

export async function runCopyFrom(
  openFrom: () => Promise<CopySource>,
  to: StoreName,
  run: NamedRun,
): Promise<readonly string[]> {
  try {
    const source = await openFrom()
    try {
      const target = await openTarget(to, run)
      try {
        const { recordCount, contentBytes, lines } = await copyStore(source, target, run)
        const what = `${recordCount} records and ${bytesText(contentBytes)} of content`
        return [`${run.done} ${what} from ${source.text} to ${target.text}`, ...lines]
      } finally {
        await target.close()
      }
    } finally {
      await source.close()
    }
  } catch (error) {
    throw copyError(error, run)
  }
}

/** The reasons that an operator can do something about, in one line. */
function copyError(error: unknown, { signal, what }: NamedRun): unknown {
  if (signal.aborted) {
    return new StartError(`the ${what} was stopped; run the same command again to go on`)
  }
  if (error instanceof ExtentDamaged) {
    return new StartError(`the source is damaged (${error.message}); see lazuli fsck`, 1, error)
  }
  const isNamed = error instanceof BytesKindDiffers || error instanceof FolderDiffers
  const isAway = error instanceof Error && /^(Database|Store)Unavailable$/.test(error.name)
  if (isAway) return new StartError(`${error.message} Run the same command again to go on.`, 1, error) // prettier-ignore
  return isNamed ? new StartError(error.message, 1, error) : error
}
