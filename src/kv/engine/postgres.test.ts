// The contracts of an engine and of a store, over PostgreSQL: with one node, two and three, each with its own engine.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SKIP_REASON, testServer } from '../../postgres/harness.ts'
import { connectionSettings } from '../../postgres/settings.ts'
import { NO_CACHE } from '../cache.ts'
import { kvConformance } from '../conformance.ts'
import { openKv, versionsOf } from '../runner/runner.ts'
import { engineConformance } from './conformance.ts'
import { Texts } from './harness.ts'
import { openPostgresEngine, type PostgresEngine } from './postgres.ts'
import { retryBeforeOthers } from './retry-conformance.ts'

describe('PostgreSQL', { skip: SKIP_REASON ?? false }, () => {
  engineConformance('one engine', openEngine)

  test('a retry commits before the other nodes', async () => {
    const [first, second] = await openEngines(2)
    assert(first !== undefined && second !== undefined)
    for (const round of [1, 2, 3]) await retryBeforeOthers(new Texts(first, `${round}`), second)
    await Promise.all([first.close(), second.close()])
  })

  for (const count of [1, 2, 3]) {
    for (const cache of ['with cache', 'without cache']) {
      kvConformance(`${count} nodes, ${cache}`, async () => {
        const engines = await openEngines(count)
        return engines.map((engine) =>
          openKv(engine, {
            nextVersion: versionsOf(engine.number),
            ...(cache === 'without cache' && { cache: NO_CACHE }),
          }),
        )
      })
    }
  }
})

/** Engines of a new database, opened at the same time. */
async function openEngines(count: number): Promise<readonly PostgresEngine[]> {
  const server = await testServer()
  const settings = connectionSettings(server.url(await server.newDatabase()), {})
  return Promise.all(Array.from({ length: count }, () => openPostgresEngine(settings)))
}

async function openEngine(): Promise<PostgresEngine> {
  const [engine] = await openEngines(1)
  assert(engine !== undefined)
  return engine
}
