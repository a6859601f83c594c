// What the API of the admin port reaches in a server.
import type { Control } from '../control/control.ts'
import type { Journal } from '../control/journal.ts'
import type { RaceKey } from '../control/race/replay/race-test.ts'
import type { ControlParts } from '../start/admin/api/parts.ts'
import type { OfferedService } from '../start/admin/api/storage/storage-routes.ts'
import { connectHost, urlOf } from '../start/host.ts'
import type { Endpoint } from '../start/log/banner.ts'
import type { Handlers, HttpService } from './handlers.ts'

/** The search for races is loaded on demand. */
export function controlParts(
  { journal, barriers, faults }: Control,
  others: Omit<ControlParts, 'journal' | 'barriers' | 'faults' | 'races'>,
): ControlParts {
  const api = async (kept: Journal) => (await import('../control/race/race.ts')).createRaces(kept)
  const races = journal && {
    races: async () => (await api(journal)).races(),
    expectNoRaces: async () => (await api(journal)).expectNoRaces(),
    test: async (race: RaceKey) =>
      (await import('../control/race/replay/race-test.ts')).raceTest(journal, race),
  }
  return { journal, barriers, faults, races, ...others }
}

/** A service to which the admin port passes requests for data; undefined: this server does not offer it. */
export function offeredService(
  endpoints: readonly Endpoint[],
  handlers: Handlers,
  name: HttpService,
): OfferedService | undefined {
  const found = endpoints.find(({ service }) => service === name)
  if (found === undefined || found.protocol === 'smb') return undefined
  const { protocol, host, port } = found
  return { handler: handlers[name], url: new URL(urlOf(protocol, connectHost(host), port)) }
}
