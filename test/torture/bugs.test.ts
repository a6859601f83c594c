// Torture finds bugs: the same right server with a bug of each kind in front of it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startServer, type LazuliServer } from '../../src/server.ts'
import type { Service } from '../../src/torture/drive/kind.ts'
import * as bugs from './bugs.ts'
import { endpointsOf, judge, torture } from './rig.ts'

let server: LazuliServer
before(async () => {
  server = await startServer()
})
after(() => server.close())

const BUGS: readonly [string, Service, () => bugs.Bug, RegExp][] = [
  ['stale read', 'blob', bugs.staleRead, /(block|append)\d? /],
  ['torn read', 'blob', bugs.tornRead, /torn@/],
  ['lost condition', 'blob', bugs.lostCondition, /(block|append)\d? /],
  ['lost write', 'blob', bugs.lostWrite, /block\d? /],
  ['lost lease', 'blob', bugs.lostLease, /(block|append)\d? /],
  ['double delivery', 'queue', bugs.doubleDelivery, /message\/.*\n.*\n(.*\n)*.*got/],
  ['lost message', 'queue', bugs.lostMessage, /message\//],
  ['stale receipt', 'queue', bugs.staleReceipt, /message\//],
  ['torn batch', 'table', bugs.tornBatch, /partition\d? /],
]

// Most of the time, a run waits.
describe('a bug', { concurrency: 3 }, () => {
  for (const [name, service, bug, expected] of BUGS) {
    test(`${name}: a violation`, async (t) => {
      const servers = [endpointsOf(server)]
      const history = await torture({ servers, seed: 1, services: [service], through: bug() })
      const { exitCode, lines } = judge(history)
      t.diagnostic(lines.slice(0, 12).join('\n'))
      assert.equal(exitCode, 1, lines.join('\n'))
      assert.match(lines.join('\n'), expected)
    })
  }
})

test('the same without a bug: explained', async () => {
  const servers = [endpointsOf(server)]
  const history = await torture({ servers, seed: 1, operations: 2_000 })
  const { exitCode, lines } = judge(history)
  assert.equal(exitCode, 0, lines.join('\n'))
})

test('too little load, or none of the faults that were asked for: invalid', async () => {
  const servers = [endpointsOf(server)]
  const few = judge(await torture({ servers, seed: 1, operations: 100 }))
  assert.equal(few.exitCode, 2)
  assert.match(few.lines.join('\n'), /INVALID.*\n.*only \d+ calls were answered, of at least 100/)
  const alone = await torture({ servers, seed: 1, clients: 1, operations: 800, services: ['blob'] })
  assert.match(judge(alone).lines.join('\n'), /INVALID.*\n.*only 0 of \d+ calls met another/)
  const faultless = judge(await torture({ servers, seed: 1, faults: true }))
  assert.equal(faultless.exitCode, 2)
  assert.match(faultless.lines.join('\n'), /faults left only 0 calls without an answer/)
})
