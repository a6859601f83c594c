// What loads the code that seeds and exports with its first use: few servers need it.
import type { ResetApi, SeedApi } from '../../control/api.ts'
import type { Log } from '../../start/log/log.ts'
import type { SeedWorld } from './seed.ts'
import type { Seed } from './seed-form.ts'

export type Seeding = () => Promise<{
  readonly seedApi: SeedApi<Seed>
  readonly atStart: (seed: string | Seed, reset: ResetApi['reset']) => Promise<boolean>
}>

/** Loaded on demand. */
export function lazySeed(world: SeedWorld): Seeding {
  return async () => {
    const { seedApi, seedAtStart } = await import('./seed.ts')
    return {
      seedApi: seedApi(world),
      atStart: (seed, reset) => seedAtStart(world, seed, reset),
    }
  }
}

export async function seedStart(
  seeding: Seeding,
  seed: string | Seed,
  reset: ResetApi['reset'],
  log: Log,
): Promise<void> {
  if (await (await seeding()).atStart(seed, reset)) return
  log.info('the store has data from an earlier start, so it was not seeded again')
}
