// Clients and the checker without a server: the models answer, and a bug of each kind is put into their answers.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import type { Service } from '../../src/torture/drive/kind.ts'
import { Random } from '../../src/torture/drive/random.ts'
import { Recorder } from '../../src/torture/drive/recorder.ts'
import { Client } from '../../src/torture/drive/workload.ts'
import type { Answer, History, Operation } from '../../src/torture/history/call.ts'
import { judge } from './rig.ts'
import { Mock } from './mock.ts'

/** Queues promise no order, so no model of one answers a get. */
const SERVICES: readonly Service[] = ['blob', 'table', 'file', 'dfs', 'smb']
const CLIENTS = 5
const STEPS = 1_500
const STEP_MS = 40
/** Up to so much earlier than it takes effect a call begins, and so much later it ends. */
const STRETCH_MS = 120

type Bug = (answer: Answer, operation: Operation, object: string) => Answer

/** Calls take effect one after the other, and overlap for those who watch. */
async function run(seed: number, bug: Bug = (answer) => answer): Promise<History> {
  const terms = { seed, clients: CLIENTS, services: SERVICES, run: 'mock' }
  const [mock, random] = [new Mock(), new Random(seed, 'turns')]
  let nowMs = 0
  const recorder = new Recorder(() => nowMs)
  const perform = async (object: string, operation: Operation): Promise<Answer> => {
    const moment = { began: nowMs, ended: nowMs, answer: { status: 200 } }
    return bug(mock.answer(object, operation, moment), operation, object)
  }
  const clients = Array.from({ length: CLIENTS }, (_, at) => new Client(at + 1, terms, recorder, (object, operation) => perform(object, operation))) // prettier-ignore
  for (let step = 1; step <= STEPS; step += 1) {
    nowMs += STEP_MS
    await random.pick(clients).step(step, never, () => '')
  }
  const calls = recorder.calls.map((call) => {
    const [before, later] = [random.below(STRETCH_MS), random.below(STRETCH_MS)]
    return { ...call, began: call.began - before, ended: call.ended + later }
  })
  const head = { seed, clients: CLIENTS, slackMs: STRETCH_MS, services: SERVICES, faults: false }
  return { head, calls }
}

const never = (): Promise<never> => assert.fail('there is no server')

for (const seed of [1, 2, randomInt(2 ** 31)]) {
  test(`what the models answer is explained, seed ${seed}`, async () => {
    const { exitCode, lines } = judge(await run(seed))
    assert.equal(exitCode, 0, lines.join('\n'))
  })
}

/** Every n-th answer to such operations. */
function every(
  count: number,
  names: string,
  change: (answer: Answer, before: Answer) => Answer,
): () => Bug {
  return () => {
    const before = new Map<string, Answer>()
    let seen = 0
    return (answer, { name, file = '' }, object) => {
      if (answer.status >= 300 || !names.split(' ').includes(name)) return answer
      const old = before.get(object + file)
      before.set(object + file, answer)
      seen += 1
      return old !== undefined && seen % count === 0 ? change(answer, old) : answer
    }
  } // prettier-ignore
}

const BUGS: readonly [string, () => Bug][] = [
  ['some reads are stale', every(4, 'get', (_, before) => before)],
  ['some reads over SMB are stale', every(2, 'read', (_, before) => before)],
  ['some lists are stale', every(3, 'list', (_, before) => before)],
  ['some queries are stale', every(3, 'query', (_, before) => before)],
  ['an ETag is used twice', every(5, 'put setMetadata update', (answer, { etag = '' }) => ({ ...answer, etag }))], // prettier-ignore
  ['opens and leases are granted to nobody', every(3, 'open acquire', () => ({ status: 409, code: 'SHARING_VIOLATION' }))], // prettier-ignore
  ['appends overlap', every(3, 'append', (answer, { offset }) => ({ ...answer, offset: offset ?? 1 }))], // prettier-ignore
]

for (const [name, bug] of BUGS) {
  test(`not explained: ${name}`, async () => {
    const { exitCode, lines } = judge(await run(3, bug()))
    assert.equal(exitCode, 1, lines.join('\n'))
  })
}
