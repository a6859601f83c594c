// Nodes of one cluster: who is there, who has which role, and what becomes of a node that has died. The database's clock
// and the nodes' own are numbers here; the heartbeats are the test's.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMemoryEngine } from '../kv/engine/memory.ts'
import { StoreUnavailable } from '../kv/engine/unavailable.ts'
import { encodeKey } from '../kv/key.ts'
import type { EventKv } from '../kv/kv.ts'
import { encodeRecord } from '../kv/record.ts'
import { openKv, versionsOf } from '../kv/runner/runner.ts'
import { Cluster, SettingsDiffer, type ClusterSettings } from './cluster.ts'
import { ROLE_MS, ROLES, withRole } from './role.ts'

const KEY = encodeKey('k')

function openWorld() {
  const engine = openMemoryEngine({ isShared: true })
  const now = { ms: 1_000_000 }
  const expelled: number[] = []
  const warnings: string[] = []
  let count = 0
  const join = async (settings: Partial<ClusterSettings> = {}) => {
    count += 1
    const number = count
    const kv: EventKv<never> = openKv(engine, { nextVersion: versionsOf(number) })
    const cluster = await Cluster.join({
      kv,
      number,
      clock: () => now.ms,
      wallClock: () => now.ms + number * 3_600_000,
      monotonicMs: () => now.ms,
      roles: ROLES,
      describe: () => ({ name: `n${number}`, version: '1', settings: 'x', endpoints: [] }),
      oldestReadMs: () => undefined,
      expel: async (gone) => void expelled.push(gone),
      warn: (message) => warnings.push(message),
      ...settings,
    })
    return { kv, cluster }
  }
  return { now, join, expelled, warnings }
}

function write(kv: EventKv<never>): Promise<void> {
  return kv.write(function* (tx) {
    tx.put(KEY, encodeRecord({}))
  })
}

test('the first node has every role, and the others know', async () => {
  const { join } = openWorld()
  const { cluster: first } = await join()
  const { cluster: second } = await join()
  for (const name of ROLES) {
    assert.deepEqual(first.held(name), { name, node: 1, epoch: 1 })
    assert.equal(second.held(name), undefined)
    assert.deepEqual(second.holder(name), { node: 1, epoch: 1 })
  }
  assert.deepEqual(second.nodes.map(({ name }) => name), ['n1', 'n2']) // prettier-ignore
  assert.deepEqual(second.secret, first.secret)
})

test('nodes that start at the same time agree', async () => {
  const { join } = openWorld()
  const nodes = await Promise.all([join(), join(), join(), join()])
  await Promise.all(nodes.map(({ cluster }) => cluster.beat()))
  for (const name of ROLES) {
    assert.equal(nodes.filter(({ cluster }) => cluster.held(name) !== undefined).length, 1, name)
  }
  assert.equal(new Set(nodes.map(({ cluster }) => cluster.secret.toString('hex'))).size, 1)
})

test('a node takes only roles that it can act in', async () => {
  const { join } = openWorld()
  const { cluster: first } = await join({ roles: ['sweeper'] })
  const { cluster: second } = await join({ roles: ['files'] })
  assert.deepEqual(ROLES.map((name) => first.held(name)?.name), ['sweeper', undefined, undefined]) // prettier-ignore
  assert.deepEqual(ROLES.map((name) => second.held(name)?.name), [undefined, undefined, 'files']) // prettier-ignore
  assert.equal(second.holder('copies'), undefined)
})

test('a holder that renews keeps its roles; one that is silent loses them', async () => {
  const { now, join } = openWorld()
  const { cluster: first } = await join()
  const { cluster: second } = await join()
  for (let beats = 0; beats < 10; beats += 1) {
    now.ms += ROLE_MS - 1
    await first.beat()
    await second.beat()
  }
  assert.equal(second.held('files'), undefined)
  now.ms += ROLE_MS
  await second.beat()
  assert.deepEqual(second.held('files'), { name: 'files', node: 2, epoch: 2 })
  await first.beat()
  assert.equal(first.held('files'), undefined)
})

test('while the database is away nobody loses a role, unless another node comes back first', async () => {
  const { now, join } = openWorld()
  const { cluster: first } = await join()
  const { cluster: second } = await join()
  now.ms += 60_000
  await first.beat()
  await second.beat()
  assert.deepEqual(first.held('files'), { name: 'files', node: 1, epoch: 1 })
})

test('a node that has lost its role can neither commit nor answer', async () => {
  const { now, join } = openWorld()
  const { kv, cluster: first } = await join()
  const { cluster: second } = await join()
  const role = first.held('files')
  assert(role !== undefined)
  const files = withRole(kv, role)
  await write(files)
  now.ms += ROLE_MS
  await second.beat()
  const lost = (error: unknown) => error instanceof StoreUnavailable
  await assert.rejects(write(files), lost)
  await assert.rejects(files.read((tx) => tx.get(KEY)), lost) // prettier-ignore
  await assert.rejects(files.attempt((tx) => tx.get(KEY)), lost) // prettier-ignore
  await assert.rejects(files.attemptRead((tx) => tx.get(KEY)), lost) // prettier-ignore
  await write(kv)
  // It has the role again, but not since then.
  now.ms += ROLE_MS
  await first.beat()
  assert.equal(first.held('files')?.epoch, 3)
  await assert.rejects(write(files), lost)
})

test('a node that leaves hands its roles over with the next heartbeat of another', async () => {
  const { join } = openWorld()
  const { cluster: first } = await join()
  const { cluster: second } = await join()
  let changes = 0
  second.listen(() => (changes += 1))
  await second.beat()
  assert.equal(changes, 0)
  await first.leave()
  await second.beat()
  assert.equal(changes, 1)
  assert.deepEqual([second.held('files')?.epoch, second.nodes.length], [2, 1])
  await second.beat()
  assert.equal(changes, 1)
})

test('a node that is silent for long is expelled by the sweeper, and only by it', async () => {
  const { now, join, expelled, warnings } = openWorld()
  const { cluster: first } = await join()
  const { cluster: second } = await join()
  await join()
  for (let beats = 0; beats <= 31; beats += 1) {
    now.ms += 1_000
    await second.beat()
    await first.beat()
  }
  assert.deepEqual([expelled, [...(await first.liveNodes())]], [[3], [1, 2]])
  assert.match(warnings.join(), /n3 .*expelled/)
})

test('nobody is expelled because the database was away for long', async () => {
  const { now, join, expelled } = openWorld()
  const { cluster: first } = await join()
  const { cluster: second } = await join()
  await first.beat()
  now.ms += 600_000
  await first.beat()
  await second.beat()
  await first.beat()
  assert.deepEqual(expelled, [])
})

test('a node with other accounts is refused while others run, and not afterwards', async () => {
  const { now, join, warnings } = openWorld()
  const describe = (settings: string) => () => ({ name: settings, version: '1', settings, endpoints: [] }) // prettier-ignore
  const { cluster: first } = await join({ describe: describe('a') })
  await assert.rejects(join({ describe: describe('b') }), SettingsDiffer)
  assert.equal((await first.liveNodes()).size, 1)
  now.ms += ROLE_MS
  await join({ describe: describe('b') })
  await first.beat()
  await first.beat()
  assert.deepEqual(warnings.length, 1)
})

test('the oldest read of all nodes counts, and a node without one counts as of its heartbeat', async () => {
  const { now, join } = openWorld()
  const { cluster: first } = await join({ oldestReadMs: () => 500_000 })
  const { cluster: second } = await join()
  assert.equal(await second.oldestReadMs(), 500_000)
  await first.leave()
  now.ms += 4_000
  assert.equal(await second.oldestReadMs(), 1_000_000)
  await second.beat()
  assert.equal(await second.oldestReadMs(), 1_004_000)
})
