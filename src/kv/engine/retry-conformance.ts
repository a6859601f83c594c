// The contract of retries, for engines with several writers: nobody else commits between a refusal and the retry.
import assert from 'node:assert/strict'
import type { Engine, Transaction, Verdict } from './engine.ts'
import { areCommitted, turn, type Check, type Texts } from './harness.ts'

/** A transaction that has read an old state of `a`. */
async function overtaken(texts: Texts): Promise<Transaction> {
  await texts.fill('a')
  const reads = await texts.readSet({ keys: ['a'] })
  await texts.write(texts.put('a', 'changed'))
  return { reads, writes: [texts.put('a', 'stale')] }
}

/** What `a` is when another commit, by `other`, has waited for a retry. */
export async function retryBeforeOthers(texts: Texts, other: Engine): Promise<void> {
  const stale = await overtaken(texts)
  let waiting: Promise<readonly Verdict[]> | undefined
  const verdicts = await texts.engine.commit([stale], async (refused, commit) => {
    assert.deepEqual(areCommitted(refused), [false])
    const reads = await texts.readSet({ keys: ['a'] })
    waiting = other.commit([{ reads, writes: [texts.put('a', 'other')] }])
    for (let turns = 0; turns < 20; turns += 1) await turn()
    assert.equal(await texts.text('a'), 'changed', 'the other commit waits')
    assert.deepEqual(await commit([{ reads, writes: [texts.put('a', 'retried')] }]), ['committed'])
  })
  assert.deepEqual(areCommitted(verdicts), [false], 'the verdicts of the first commit')
  assert.deepEqual(areCommitted((await waiting) ?? []), [false], 'the other one is overtaken')
  assert.equal(await texts.text('a'), 'retried')
}

export function retryConformance(check: Check): void {
  check('a retry commits before all others', (texts) => retryBeforeOthers(texts, texts.engine))

  check('there is no retry if nothing was overtaken', async (texts) => {
    let retries = 0
    const retry = async (): Promise<void> => {
      retries += 1
    }
    const write = { writes: [texts.put('a', '1')] }
    assert.deepEqual(await texts.engine.commit([write], retry), ['committed'])
    assert.equal(retries, 0)
  })

  check('a retry may commit nothing, or what is overtaken again', async (texts) => {
    const stale = await overtaken(texts)
    await texts.engine.commit([stale], async () => {})
    await texts.engine.commit([stale], async (_, commit) => {
      assert.deepEqual(await commit([]), [])
    })
    await texts.engine.commit([stale], async (_, commit) => {
      assert.deepEqual(areCommitted(await commit([stale, { writes: [] }])), [false, true])
    })
    await texts.write(texts.put('a', 'later'))
    assert.equal(await texts.text('a'), 'later')
  })

  check('a retry sees what others of its group have written', async (texts) => {
    const stale = await overtaken(texts)
    const later = { writes: [texts.put('a', 'later')] }
    let seen: readonly (string | undefined)[] = []
    const verdicts = await texts.engine.commit([stale, later], async ([first]) => {
      assert(first !== undefined && first !== 'committed')
      seen = texts.texts(first.current).keys
    })
    assert.deepEqual([areCommitted(verdicts), seen], [[false, true], ['later']])
  })
}
