// What clients hold, for people: loaded with the first question, since few servers are asked.
import type { HeldApi } from '../control/api.ts'
import type { HeldSource } from '../control/held/source.ts'

export function lazyHeld(source: HeldSource): HeldApi {
  let loading: Promise<HeldApi> | undefined
  const held = (): Promise<HeldApi> =>
    (loading ??= import('../control/held/held.ts').then(({ createHeld }) => createHeld(source)))
  return {
    leases: async (options) => (await held()).leases(options),
    invisibleMessages: async (options) => (await held()).invisibleMessages(options),
    opens: async (options) => (await held()).opens(options),
    locks: async (options) => (await held()).locks(options),
    copies: async (options) => (await held()).copies(options),
    uncommitted: async (options) => (await held()).uncommitted(options),
    breakLease: async (resource, kind) => (await held()).breakLease(resource, kind),
    makeVisible: async (message) => (await held()).makeVisible(message),
    closeOpen: async (id) => (await held()).closeOpen(id),
  }
}
