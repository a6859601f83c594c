// `lazuli import azurite DIR`, and the import at the first start in a folder of Azurite. Azurite's files are only read.
import { randomBytes } from 'node:crypto'
import type { ServiceName } from '../../start/options/services.ts'
import { decodeAccountsJson } from '../../start/account/account-list.ts'
import { fixedAccounts } from '../../start/account/accounts.ts'
import type { Log } from '../../start/log/log.ts'
import { defaultOptions } from '../../start/options/options.ts'
import { checkLocationExists } from '../../start/store/location.ts'
import { StartError } from '../../start/start-error.ts'
import { isStoreEmpty } from '../../storage/seeding.ts'
import { ownClient } from '../seed/own-client.ts'
import { runServer, type FillWorld } from '../server.ts'
import { checkFolder } from './check.ts'
import { AZURITE_SERVICES, AzuriteFolder, isAzuriteFolder } from './folder.ts'
import { importAzurite, type ImportSettings } from './import.ts'
import { markImport, unfinishedImport, unmarkImport } from './import-mark.ts'
import type { Imported, ImportProgress } from './report.ts'

export type ImportCommand = {
  /** Azurite's folder. */
  readonly from: string
  /** Lazuli's. */
  readonly location: string
  /** By default, all that Azurite has. */
  readonly services: readonly ServiceName[] | undefined
}

export type ImportRun = { readonly progress: ImportProgress; readonly log: Log }

/** Throws StartError if nothing is imported. */
export async function runImport(
  { from, location, services }: ImportCommand,
  { progress, log }: ImportRun,
): Promise<Imported> {
  await checkLocationExists(from)
  const settings = { ...(await openFolder(from, services)), progress }
  const names = [...settings.checked.accounts]
  // Nobody but the import uses these keys. The server gets its own accounts when it starts.
  const keys = names.map((name) => [name, randomBytes(64).toString('base64')])
  let imported: Imported | undefined
  const server = await runServer({
    options: defaultOptions({ journal: 'off' }),
    location,
    memoryLimitBytes: undefined,
    accounts: fixedAccounts(decodeAccountsJson(Object.fromEntries(keys), from)),
    clock: Date.now,
    // Its requests are those of nobody.
    log: withoutAccess(log),
    services: [],
    mayMove: [],
    fill: async (world) => {
      imported = await fill(world, { from, location }, settings)
    },
  })
  await server.close()
  await unmarkImport(location)
  if (imported === undefined) throw new Error('the store was not filled')
  return imported
}

function withoutAccess({ access: _access, ...log }: Log): Log {
  return { ...log, access: undefined }
}

async function openFolder(from: string, services: ImportCommand['services']) {
  const folder = new AzuriteFolder(from)
  const wanted = AZURITE_SERVICES.filter((name) => services?.includes(name) ?? true)
  if (!isAzuriteFolder(from)) throw new StartError(`${from} has no data of Azurite 3`)
  if (wanted.includes('blob') && folder.hasOnlyBytes()) {
    throw new StartError(
      `the records of the blobs in ${from} are in the database of AZURITE_DB, which Lazuli cannot read: ` +
        'copy the blobs from a running Azurite (docs/migrate-from-azurite.md), and import the rest with --services queue,table',
    )
  }
  return { folder, services: wanted, checked: await checkFolder(folder, wanted) }
}

async function fill(
  world: FillWorld,
  { from, location }: Pick<ImportCommand, 'from' | 'location'>,
  settings: ImportSettings,
): Promise<Imported> {
  const { store, reset } = world
  if (unfinishedImport(location) !== undefined) await reset()
  else if (!(await store.kv.read(isStoreEmpty))) {
    throw new StartError(`${location} has data already; import into an empty folder (--location)`)
  }
  await markImport(location, from)
  const { kv, newId } = store
  const moment = () => store.moment()
  return importAzurite({ kv, newId, moment, client: ownClient(world) }, settings)
}

export function importLines(
  { from, location }: ImportCommand,
  imported: Imported,
): readonly string[] {
  const { counts, leftOut } = imported
  const parts = [...counts].map(([what, count]) => `${count} ${what}`)
  return [
    `imported from ${from} into ${location}: ${parts.length === 0 ? 'nothing' : parts.join(', ')}`,
    ...(leftOut.length === 0 ? ['nothing was left out'] : ['left out:', ...leftOut.map((line) => `  ${line}`)]), // prettier-ignore
    'ETags, message ids and pop receipts are new; the files of Azurite are unchanged',
  ]
}
