// Seeding at the start of a server, and whenever somebody asks; and exports.
import type { ResetApi, SeedApi } from '../../control/api.ts'
import type { FileKv } from '../../storage/file/open/open.ts'
import { beginSeeding, endSeeding, isSeedUnfinished, isStoreEmpty } from '../../storage/seeding.ts'
import { exportStore } from './export-store.ts'
import { ownClient, type OwnWorld } from './own-client.ts'
import { openSeed, type Seed } from './seed-form.ts'
import { writeSeed } from './write-seed.ts'

export type SeedWorld = OwnWorld & { readonly kv: FileKv }

export function seedApi(world: SeedWorld): SeedApi<Seed> {
  const client = ownClient(world)
  const { accounts, kv } = world
  return {
    seed: async (given) => writeSeed(client, accounts, await openSeed(given, accounts.names())),
    export: async (folder) => exportStore({ client, accounts, kv }, folder),
  }
}

/**
 * Seeds an empty store. One that has data keeps it: the server has been started before. A seed that failed or was
 * interrupted leaves nothing. Returns whether it has seeded.
 */
export async function seedAtStart(
  world: SeedWorld,
  given: string | Seed,
  reset: ResetApi['reset'],
): Promise<boolean> {
  const { kv } = world
  if (await kv.read(isSeedUnfinished)) await reset()
  else if (!(await kv.read(isStoreEmpty))) return false
  await kv.write(beginSeeding)
  try {
    await seedApi(world).seed(given)
  } catch (error) {
    await reset()
    await kv.write(endSeeding)
    throw error
  }
  await kv.write(endSeeding)
  return true
}
