// A server that dies at every named point of a request in turn, and at random moments, while clients of all services write.
// After each restart, what was acknowledged is there, what was not is whole or absent, and fsck finds nothing; in the end
// the space comes back. CRASH_SEED=n sets another seed, CRASH_KILLS=n another number of random moments.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { readdirSync, statSync } from 'node:fs'
import { after, test } from 'node:test'
import { POINTS, type Point } from '../../src/control/point.ts'
import { startServer } from '../../src/server.ts'
import { checkLocation } from '../../src/start/store/fsck.ts'
import { randomFrom } from '../random.ts'
import { cleanUp, launch, tempFolder, type Running } from '../server-process.ts'
import { blobCell, fileCell, queueCell, tableCell, type Cell, type Ports } from './cell.ts'
import type { KillPlan } from './killed-server.ts'

const SEED = Number(process.env['CRASH_SEED'] ?? 1)
const RANDOM_KILLS = Number(process.env['CRASH_KILLS'] ?? 32)
const KILLS_PER_POINT = 3
const PROGRAM = join(import.meta.dirname, 'killed-server.ts')
const SWEEP_COUNT = 6
/** What may be left of extents when all is deleted: one that is being written to. */
const REST_BYTES_MAX = 256 * 1_024

after(cleanUp)

/** A kill for every point in turn, several times, and then at random moments. */
function plansFor(folder: string): readonly KillPlan[] {
  const random = randomFrom(SEED)
  const plan = (point: Point | undefined, turns: number): KillPlan => {
    // Late enough that every client has had an answer, and not always in the same request of a client.
    const nth = point === undefined ? 60 + random.below(120) : 9 + random.below(12)
    return { folder, point, nth, turns }
  }
  const inTurn = Array.from({ length: KILLS_PER_POINT }, () =>
    POINTS.map((point) => plan(point, 0)),
  )
  const atRandom = Array.from({ length: RANDOM_KILLS }, () => plan(undefined, random.below(20)))
  return [...inTurn.flat(), ...atRandom]
}

async function startKilled(plan: KillPlan): Promise<Running & { readonly ports: Ports }> {
  const running = launch({ program: [process.execPath, PROGRAM], args: [JSON.stringify(plan)] })
  const [line] = await running.printed(/^\{.*\}$/m)
  return { ...running, ports: JSON.parse(line) as Ports }
}

let lastVersion = 0
let acknowledgedCount = 0

async function writeUntilKilled(
  cell: Cell,
  ports: Ports,
  { child, ended }: Running,
): Promise<void> {
  const random = randomFrom(SEED + lastVersion)
  try {
    for (;;) {
      await cell.write(ports, (lastVersion += 1), random)
      acknowledgedCount += 1
    }
  } catch (error) {
    // An answer that is wrong fails the test; no answer means that the server is dead.
    if (error instanceof assert.AssertionError) throw error
    const { signal, stderr } = await ended
    assert.equal(signal, 'SIGKILL', `${child.exitCode}: ${stderr}`)
  }
}

async function checkSound(folder: string): Promise<void> {
  const { exitCode, lines } = await checkLocation(folder, process.pid)
  assert.deepEqual([exitCode, lines.at(-1)], [0, 'no problems'], lines.join('\n'))
}

function extentBytes(folder: string): number {
  const extents = join(folder, 'extents')
  return readdirSync(extents).reduce((sum, name) => sum + statSync(join(extents, name)).size, 0)
}

test(`nothing acknowledged is lost wherever the server dies (seed ${SEED})`, async (context) => {
  const folder = tempFolder('killed')
  const makers = [blobCell, tableCell, fileCell, queueCell]
  const cells = [0, 1].flatMap((index) => makers.map((make) => make(index)))
  const plans = plansFor(folder)
  for (const [at, plan] of plans.entries()) {
    const server = await startKilled({ ...plan, nth: plan.nth + cells.length * 4 })
    if (at === 0) for (const cell of cells) await cell.create(server.ports)
    else for (const cell of cells) await cell.check(server.ports)
    const before = acknowledgedCount
    await Promise.all(cells.map((cell) => writeUntilKilled(cell, server.ports, server)))
    await checkSound(folder)
    const count = acknowledgedCount - before
    context.diagnostic(
      `killed at ${plan.point ?? 'any point'}, number ${plan.nth}, after ${count} acknowledged writes`,
    )
  }
  assert(acknowledgedCount > plans.length * cells.length, `${acknowledgedCount} were acknowledged`)
  await checkEnd(folder, cells)
})

async function checkEnd(folder: string, cells: readonly Cell[]): Promise<void> {
  const server = await startServer({ location: folder })
  try {
    for (const cell of cells) await cell.check(server)
    for (const cell of cells) await cell.remove(server)
    for (let pass = 0; pass < SWEEP_COUNT; pass += 1) await server.sweep()
    const bytes = extentBytes(folder)
    assert(bytes <= REST_BYTES_MAX, `${bytes} bytes for nothing`)
  } finally {
    await server.close()
  }
  await checkSound(folder)
}
