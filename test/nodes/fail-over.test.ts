// The primary is killed under load and its synchronous standby takes over: every acknowledged write is there.
import { after, test } from 'node:test'
import { STANDBY_SKIP_REASON, startServer } from '../../src/postgres/harness.ts'
import { startFront, startLocalNode } from './rig.ts'
import { createPlaces, Writers } from './writers.ts'

test(
  'a fail-over to a synchronous standby loses nothing',
  { skip: STANDBY_SKIP_REASON ?? false },
  async (t) => {
    const primary = await startServer()
    const database = await primary.newDatabase()
    const standby = await primary.startStandby()
    // Only now: commits wait for it.
    await primary.sql(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await primary.sql('SELECT pg_reload_conf()')
    const url = `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/${database}`
    const nodes = await Promise.all([startLocalNode({ url }), startLocalNode({ url })])
    const front = await startFront(() => nodes)
    after(async () => {
      await front.close()
      for (const node of nodes) await node.close()
      await standby.stop()
      // It was killed; this removes its folder.
      await primary.restart()
      await primary.stop()
    })
    await createPlaces(front.ports)
    const writers = await Writers.start({ ports: front.ports, clientsPerKind: 3, prefix: 'over' })
    await writers.acknowledge(5)
    await primary.kill()
    await writers.fail(1)
    standby.promote()
    await writers.acknowledge(5)
    await writers.stop()
    t.diagnostic(writers.summary())
    await writers.check()
  },
)
