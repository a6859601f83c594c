// The checker itself: it accepts every history that one order explains, however calls overlap, and notices most wrong answers.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { objectsOf } from '../../src/torture/check/objects.ts'
import { explain, type Verdict } from '../../src/torture/check/search.ts'
import type { Answer, Call } from '../../src/torture/history/call.ts'
import { decodeHistory, encodeHistory } from '../../src/torture/history/file.ts'
import { isKind } from '../../src/torture/check/objects.ts'
import { startServer, type LazuliServer } from '../../src/server.ts'
import { randomFrom, type Random } from '../random.ts'
import { endpointsOf } from './rig.ts'
import { play } from './transcript.ts'

const STEPS = 240
const RUNS = 40
/** By how many other calls a call may begin earlier and end later. */
const OVERLAP = 4
/** Half a second of the clock for each place in the order would be much; here, no lease or timeout ends. */
const HEAD = { seed: 0, clients: 3, slackMs: 0, services: ['blob', 'queue', 'table', 'file', 'dfs', 'smb'], faults: false } // prettier-ignore

let server: LazuliServer
let calls: readonly Call[]
let nowMs = Date.now()

before(async () => {
  server = await startServer({ clock: () => nowMs })
  const playing = { servers: [endpointsOf(server)], seed: 11, steps: STEPS, nowMs: () => nowMs, advance: () => void (nowMs += 0) } // prettier-ignore
  calls = (await play(playing)).calls
})
after(() => server.close())

/** Each call may begin earlier and end later than it did; those of a kind whose times matter by less than a millisecond each. */
function stretched(random: Random): Call[] {
  return calls.map((call) => {
    const [before, later] = [random.below(OVERLAP * 10) / 10, random.below(OVERLAP * 10) / 10]
    return { ...call, began: call.began - before, ended: call.ended + later }
  })
}

function verdictsOf(given: readonly Call[]): readonly Verdict[] {
  return objectsOf({ head: HEAD, calls: given }).map(({ model, calls: own }) =>
    explain({ model, calls: own, from: [model.initial], effort: { left: 300_000 } }),
  )
}

const anySeed = fc.integer({ min: 0, max: 2 ** 31 })

test('a history that happened one by one is explained, however its calls are stretched', () => {
  fc.assert(
    fc.property(anySeed, (seed) => {
      const verdicts = verdictsOf(stretched(randomFrom(seed)))
      assert.deepEqual(verdicts.filter((each) => each !== 'explained'), []) // prettier-ignore
    }),
    { numRuns: RUNS },
  )
})

test('so it is when some answers were lost', () => {
  fc.assert(
    fc.property(anySeed, (seed) => {
      const random = randomFrom(seed)
      const lossy = stretched(random).map((call): Call => {
        if (random.below(20) > 0 || call.operation.name === 'end') return call
        const { answer: _lost, ...rest } = call
        return { ...rest, failure: 'TIMEOUT' }
      })
      assert(!verdictsOf(lossy).includes('unexplained'))
    }),
    { numRuns: RUNS },
  )
})

/** Another status, or something else shown. */
function mutated(answer: Answer, random: Random): Answer {
  if (answer.value !== undefined && random.below(2) === 0) return { ...answer, value: '1.1.1.16' }
  if (answer.etag !== undefined && random.below(2) === 0) return { ...answer, etag: '"0x0"' }
  return answer.status < 300 ? { status: 412, code: 'ConditionNotMet' } : { status: 201 }
}

test('one wrong answer is mostly noticed', () => {
  let noticed = 0
  for (let seed = 0; seed < RUNS; seed += 1) {
    const random = randomFrom(seed)
    const all = stretched(random)
    const at = random.below(all.length)
    const wrong = all.map((call, place): Call => (place === at && call.answer !== undefined ? { ...call, answer: mutated(call.answer, random) } : call)) // prettier-ignore
    if (verdictsOf(wrong).includes('unexplained')) noticed += 1
  }
  assert(noticed >= RUNS * 0.8, `${noticed} of ${RUNS}`)
})

test('a history is the same after it was written and read', () => {
  const history = { head: HEAD, calls }
  assert.deepEqual(decodeHistory(encodeHistory(history), isKind), history)
})

test('a file that is no history is refused with its line', () => {
  const [head = '', call = ''] = encodeHistory({ head: HEAD, calls }).split('\n')
  const rows: readonly [string, RegExp][] = [
    ['', /^line 1 is not JSON$/],
    ['{}', /^line 1 does not begin a history/],
    [`${head}\nnull`, /^line 2 is not a JSON object$/],
    [`${head}\n${call}\n{"object":"x/y"}`, /^line 3 has no object, such as/],
    [`${head}\n${call.replace('"operation":{', '"operation":7,"o":{')}`, /^line 2 has no operation with a name$/],
    [`${head}\n${call.replace('"began":', '"began":"x","b":')}`, /^line 2 must have the numbers/],
  ] // prettier-ignore
  for (const [text, message] of rows) assert.throws(() => decodeHistory(text, isKind), { message })
})

test('whatever JSON a history has, deciding ends with a verdict or a refusal', () => {
  const anyOperation = fc.record({ name: fc.constantFrom('put', 'get', 'batch', 'acquire', 'query', 'update', 'rename', 'x') , value: fc.anything(), row: fc.anything(), condition: fc.anything(), blocks: fc.anything(), operations: fc.anything(), properties: fc.anything() }, { requiredKeys: ['name'] }) // prettier-ignore
  const anyCall = fc.record({
    number: fc.nat(), client: fc.nat(), began: fc.nat({ max: 9 }), ended: fc.nat({ max: 9 }),
    object: fc.constantFrom('block/b', 'partition/p', 'directory/d', 'queue/q'),
    operation: anyOperation, answer: fc.record({ status: fc.constantFrom(200, 201, 202), rows: fc.anything(), value: fc.anything(), messages: fc.anything() }, { requiredKeys: ['status'] }),
  }) // prettier-ignore
  fc.assert(
    fc.property(fc.array(anyCall, { maxLength: 4 }), (given) => {
      const text = [{ lazuliHistory: 1, ...HEAD }, ...given].map((each) => JSON.stringify(each)).join('\n') // prettier-ignore
      try {
        verdictsOf(decodeHistory(text, isKind).calls)
      } catch (error) {
        assert.match(String(error), /^HistoryError: line \d+ /)
      }
    }),
  )
})
