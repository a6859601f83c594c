// The contract of an extent store, over PostgreSQL.
import { describe } from 'node:test'
import { openPostgresEngine } from '../kv/engine/postgres.ts'
import { openKv, versionsOf } from '../kv/runner/runner.ts'
import { SKIP_REASON, testServer } from '../postgres/harness.ts'
import { connectionSettings } from '../postgres/settings.ts'
import { extentConformance } from './conformance.ts'
import { nodesConformance, type OpenNode } from './nodes-conformance.ts'
import { openPostgresExtents } from './postgres.ts'
import { soleWriter } from './writers.ts'

describe('PostgreSQL', { skip: SKIP_REASON ?? false }, () => {
  extentConformance('PostgreSQL', async (clock) => {
    const openNode = await newStore()
    return openNode(clock, soleWriter('a'))
  })

  nodesConformance('PostgreSQL', newStore)
})

async function newStore(): Promise<OpenNode> {
  const server = await testServer()
  const settings = connectionSettings(server.url(await server.newDatabase()), {})
  return async (clock, writers) => {
    const engine = await openPostgresEngine(settings)
    const kv = openKv(engine, { nextVersion: versionsOf(engine.number) })
    const store = await openPostgresExtents({ settings, kv, clock, writers, extentBytes: 100_000 })
    const close = async () => {
      await store.close()
      await kv.close()
    }
    return { kv, store, close }
  }
}
