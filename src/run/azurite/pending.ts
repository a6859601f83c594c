// Whether a server has to import something before it starts. Looks at names of files only, since every start does it.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { StartError } from '../../start/start-error.ts'
import { isAzuriteFolder } from './folder.ts'
import { unfinishedImport } from './import-mark.ts'

export type StartPlace = {
  readonly location: string
  /** Where Azurite would look for its data; undefined if nobody has named a folder. */
  readonly azuriteLocation: string | undefined
}

/** The folder of Azurite; undefined if there is none, or it has been imported. */
export function pendingImport({ location, azuriteLocation }: StartPlace): string | undefined {
  const unfinished = unfinishedImport(location)
  const isOurs = azuriteLocation !== undefined && resolve(azuriteLocation) === unfinished
  if (unfinished !== undefined && !isOurs) {
    throw new StartError(
      `the import from ${unfinished} did not finish; run it again: lazuli import azurite ${unfinished} --location ${location}`,
    )
  }
  if (azuriteLocation === undefined) return undefined
  const isNew = unfinished !== undefined || !existsSync(join(location, 'store'))
  return isNew && isAzuriteFolder(azuriteLocation) ? azuriteLocation : undefined
}
