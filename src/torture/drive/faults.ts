// Faults on the servers, by their admin ports: answers that get lost before and after the work was done, errors and delays.
import { askServer, type AskedServer } from '../../start/steer/client.ts'

/** A few percent of all requests each. */
const EFFECTS = [
  { effect: { reset: 'after' }, probability: 0.02 },
  { effect: { reset: 'before' }, probability: 0.01 },
  { effect: { truncate: 20 }, probability: 0.01 },
  { effect: { status: 503 }, probability: 0.02 },
  { effect: { disk: 'sync failure' }, probability: 0.01 },
  { effect: { delay: { from: 'PT0.001S', to: 'PT0.03S' } }, probability: 0.1 },
] as const

const SEED_END = 2 ** 32

export type Faults = {
  /** Returns how many requests were struck. */
  remove(): Promise<number>
}

type Added = { readonly server: AskedServer; readonly id: string }

/** Only requests for what this run has created are struck. */
export async function addFaults(
  servers: readonly AskedServer[],
  run: string,
  seed: number,
): Promise<Faults> {
  // prettier-ignore
  const added: Added[] = []
  const remove = async (): Promise<number> => {
    let count = 0
    for (const { server, id } of added.splice(0)) {
      const state = await askServer(server, { method: 'GET', path: 'faults' })
      const { faults } = state as { faults: readonly { id: string; struckCount: number }[] }
      count += faults.find((each) => each.id === id)?.struckCount ?? 0
      await askServer(server, { method: 'DELETE', path: `faults/${id}` })
    }
    return count
  }
  try {
    for (const server of servers) {
      for (const [at, fault] of EFFECTS.entries()) {
        const body = { ...fault, match: { path: `/${run}*` }, seed: (seed + at) % SEED_END }
        const state = await askServer(server, { method: 'POST', path: 'faults', body })
        added.push({ server, id: (state as { id: string }).id })
      }
    }
  } catch (error) {
    await remove().catch(() => undefined)
    throw error
  }
  return { remove }
}
