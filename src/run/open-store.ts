// Opens what a server stands on: its data folder, the certificate in it, and the store.
import type { ForkedStore } from '../control/fork.ts'
import type { Log } from '../start/log/log.ts'
import type { Options } from '../start/options/options.ts'
import { prepareLocation } from '../start/store/location.ts'
import { tightenLocation } from '../start/store/private-folder.ts'
import { openStore, type Clock, type Store } from '../start/store/store.ts'
import { loadTls, type Tls } from '../start/tls/tls.ts'

export type StoreSettings = {
  readonly options: Options
  /** undefined: in memory. */
  readonly location: string | undefined
  readonly memoryLimitBytes: number | undefined
  readonly forked: ForkedStore | undefined
  readonly clock: Clock
  readonly log: Log
  /** The store of a node, which is open already. */
  readonly shared: Store | undefined
}

export async function openStoreAndTls({
  options,
  location,
  memoryLimitBytes,
  forked,
  clock,
  log,
  shared,
}: StoreSettings): Promise<{ readonly store: Store; readonly tls: Tls | undefined }> {
  const tlsSettings = { options, location, nowMs: Date.now() }
  // A given certificate is checked before anything is written; a generated one needs the data folder.
  const givenTls = options.cert === undefined ? undefined : await loadTls(tlsSettings)
  if (location !== undefined) {
    await prepareLocation(location)
    const report = (level: 'info' | 'warn', message: string): void => log[level](message)
    await tightenLocation(location, { uid: process.getuid?.(), report })
  }
  const tls = givenTls ?? (await loadTls(tlsSettings))
  if (shared !== undefined) return { tls, store: shared }
  const inMemory = {
    ...(memoryLimitBytes !== undefined && { memoryLimitBytes }),
    ...(forked !== undefined && { forked }),
  }
  const place = location === undefined ? inMemory : { folder: location, pid: process.pid }
  return { tls, store: await openStore(place, clock) }
}
