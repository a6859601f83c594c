// The connection to PostgreSQL is lost at the n-th statement, for each n: before it arrives, while it runs, and after it has
// run. The node answers 503 or has found out what happened; nothing acknowledged is lost, nothing is torn or done twice, and
// it goes on by itself. STATEMENT_EVERY=1 takes every statement; by default each moment takes some of them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { SKIP_REASON, testServer } from '../../src/postgres/harness.ts'
import { checkStore } from '../../src/extent/sweep/fsck.ts'
import { blobCell, fileCell, queueCell, tableCell, type Cell, type Ports } from '../crash/cell.ts'
import { randomFrom } from '../random.ts'
import { DatabaseProxy } from './database-proxy.ts'
import { startLocalNode, type LocalNode } from './rig.ts'

const EVERY = Number(process.env['STATEMENT_EVERY'] ?? 5)
const MOMENTS = ['before', 'during', 'after'] as const

/** A small blob and one that needs an extent. */
const VERSIONS = [2, 3]
const VERSIONS_PERIOD = 42
/** More than the script sends. */
const STATEMENTS_MAX = 200
const TRIES_MAX = 1_000

describe('a statement loses its connection', { skip: SKIP_REASON ?? false }, () => {
  let proxy: DatabaseProxy
  let node: LocalNode
  let ports: Ports
  let cells: readonly Cell[]
  let period = 0

  before(async () => {
    const postgres = await testServer()
    proxy = await DatabaseProxy.start(postgres.port)
    node = await startLocalNode({ url: proxy.url(await postgres.newDatabase()) })
    const { blob, queue, table, file } = node.ports
    ports = { blobPort: blob, queuePort: queue, tablePort: table, filePort: file }
    cells = [blobCell(0), tableCell(0), fileCell(0), queueCell(0)]
    for (const cell of cells) await cell.create(ports)
  })

  after(async () => {
    await node.close()
    await proxy.close()
  })

  async function write(): Promise<void> {
    period += 1
    const random = randomFrom(1)
    for (const version of VERSIONS) {
      for (const cell of cells) {
        await cell.write(ports, VERSIONS_PERIOD * period + version, random).catch(assertBusy)
      }
    }
  }

  /** Clients try again while the node is busy finding its way back. */
  async function check(cell: Cell): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await cell.check(ports)
      } catch (error) {
        if (tries === TRIES_MAX) throw error
        assertBusy(error)
      }
    }
  }

  for (const [at, moment] of MOMENTS.entries()) {
    test(`${moment} it has run, whichever statement it is`, async (context) => {
      let lostCount = 0
      for (let nth = 1 + (at % EVERY); nth <= STATEMENTS_MAX; nth += EVERY) {
        proxy.loseStatement(nth, moment)
        await write()
        if (!proxy.endLoss()) break
        lostCount += 1
        for (const cell of cells) await check(cell)
      }
      context.diagnostic(`${lostCount} statements`)
      assert(lostCount * EVERY > VERSIONS.length * cells.length, 'every request sends statements')
    })
  }

  test('afterwards, all content and all references are whole', async () => {
    const { kv, extents } = node.server.store
    assert.deepEqual((await checkStore(kv, extents)).problems, [])
  })
})

/** The client is told to try again, or its connection ended as the home of the files moved. */
function assertBusy(error: unknown): void {
  assert(error instanceof Error)
  const isBusy = /: 503 |"ServerBusy"/.test(error.message)
  const isEnd = 'code' in error && (error.code === 'ECONNRESET' || error.code === 'ECONNREFUSED')
  assert(isBusy || isEnd, error)
}
