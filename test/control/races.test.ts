// The race detector from the user's side: each wrong program has exactly the race that it is about, with an explanation,
// and the right program beside it has none.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRaceWorld, type RaceWorld } from './race-client.ts'
import { LAKE_RACES } from './program/data-lake.ts'
import { COPY_RACES } from './program/copy.ts'
import { LOST_UPDATES } from './program/lost-update.ts'
import { LOST_ENTITIES } from './program/lost-entity.ts'
import { CHECKS_THEN_ACTS } from './program/check-then-act.ts'
import { OUTLIVED_LEASES } from './program/lease-outlived.ts'
import { OTHER_RACES } from './program/other.ts'
import { get, put } from './program/requests.ts'
import { startTestServer, type TestServerOptions } from '../harness.ts'
import { RACE_KINDS } from '../../src/control/api.ts'

const PROGRAMS = [
  ...LOST_UPDATES,
  ...COPY_RACES,
  ...LAKE_RACES,
  ...LOST_ENTITIES,
  ...CHECKS_THEN_ACTS,
  ...OUTLIVED_LEASES,
  ...OTHER_RACES,
]

async function inWorld<T>(
  run: (world: RaceWorld) => Promise<T>,
  options?: TestServerOptions,
): Promise<T> {
  const world = await openRaceWorld(options)
  try {
    return await run(world)
  } finally {
    await world.close()
  }
}

test('every kind has a program', () => {
  assert.deepEqual(new Set(PROGRAMS.map(({ kind }) => kind)), new Set(RACE_KINDS))
})

for (const { kind, name, wrong, right, says, isHarmless = false } of PROGRAMS) {
  test(`${kind}: ${name}`, async () => {
    await inWorld(async (world) => {
      await wrong(world)
      const races = world.server.races()
      assert.deepEqual(
        races.map((race) => [race.kind, race.isHarmless]),
        [[kind, isHarmless]],
        JSON.stringify(races, undefined, 1),
      )
      assert.match(races[0]?.explanation ?? '', says)
      const expected = world.server.expectNoRaces()
      await (isHarmless ? expected : assert.rejects(expected, new RegExp(`1 race:\n1. ${kind}: `)))
    })
  })

  test(`no ${kind}: ${name}`, () =>
    inWorld(async (world) => {
      await right(world)
      assert.deepEqual(world.server.races(), [])
      await world.server.expectNoRaces()
    }))
}

test('a race names both clients and shows the entries in their order', () =>
  inWorld(async ({ client, server }) => {
    await put(client('B'), '1')
    await get(client('A'))
    await put(client('B'), '2')
    await put(client('A'), '3')
    const [race] = server.races()
    assert.deepEqual(race?.clients, ['A', 'B'])
    assert.equal(race.resource, '/devstoreaccount1/box/doc')
    assert.deepEqual(
      race.entries.map(({ operation, client: { name } }) => `${name}: ${operation}`),
      ['A: Get Blob', 'B: Put Blob', 'A: Put Blob'],
    )
  }))

test('without a journal, races are refused with the name of the option', async () => {
  const server = await startTestServer({ journal: false })
  try {
    assert.throws(() => server.races(), /option `journal` is off/)
    await assert.rejects(server.expectNoRaces(), /option `journal` is off/)
  } finally {
    await server.close()
  }
})

test('a journal that has lost requests is no proof that there were no races', () =>
  inWorld(
    async ({ client, server }) => {
      for (let count = 0; count < 5; count += 1) await put(client('A'), '1')
      assert.deepEqual(server.races(), [])
      await assert.rejects(server.expectNoRaces(), /No race was found, but \d+ earlier requests/)
    },
    { journal: { countMax: 4 } },
  ))

test('what counts as one client is a setting', () =>
  inWorld(
    async ({ client, server }) => {
      const from = (id: string) => ({ 'x-ms-client-request-id': `${id}:1` })
      await put(client('A'), '1', from('one'))
      await put(client('A'), '2', from('two'))
      await put(client('A'), '3', from('one'))
      assert.deepEqual(server.races()[0]?.clients, ['one', 'two'])
    },
    { journal: { clientBy: ['requestId'] } },
  ))
