// The contract of `alone` for engines with several writers: no other commit disturbs the work.
import assert from 'node:assert/strict'
import { areCommitted, turn, type Check } from './harness.ts'

export function aloneConformance(check: Check): void {
  check('other commits wait for work alone', async (texts) => {
    const { engine } = texts
    await texts.fill('a')
    const order: string[] = []
    let other: Promise<void> | undefined
    const result = await engine.alone(async (commit) => {
      const reads = await texts.readSet({ keys: ['a'] })
      other = texts.write(texts.put('a', 'other')).then(() => void order.push('other'))
      for (let turns = 0; turns < 20; turns += 1) await turn()
      assert.equal(await texts.text('a'), 'a', 'the other commit waits')
      const writes = [texts.put('a', 'alone')]
      assert.deepEqual(await commit([{ reads, writes }]), ['committed'])
      assert.equal(await texts.text('a'), 'alone')
      order.push('alone')
      return 'result'
    })
    assert.equal(result, 'result')
    await other
    assert.deepEqual(order, ['alone', 'other'])
    assert.equal(await texts.text('a'), 'other')
  })

  check('work alone begins after the commits under way', async (texts) => {
    const commits = Array.from({ length: 10 }, (_, n) => texts.write(texts.put(n, '')))
    const names = await texts.engine.alone(() => texts.names({ from: 0, to: 10 }))
    assert.equal(names.length, 10)
    await Promise.all(commits)
  })

  check('work alone is checked too, and may commit several times', async (texts) => {
    await texts.fill('a')
    const stale = await texts.readSet({ keys: ['a'] })
    await texts.engine.alone(async (commit) => {
      assert.deepEqual(await commit([{ writes: [texts.put('a', '1')] }]), ['committed'])
      const verdicts = await commit([{ reads: stale, writes: [texts.put('a', '2')] }])
      assert.deepEqual(areCommitted(verdicts), [false])
      const reads = await texts.readSet({ keys: ['a'] })
      assert.deepEqual(await commit([{ reads, writes: [texts.put('a', '3')] }]), ['committed'])
    })
    assert.equal(await texts.text('a'), '3')
  })

  check('a commit that had to wait is overtaken by work alone', async (texts) => {
    await texts.fill('a')
    const reads = await texts.readSet({ keys: ['a'] })
    let waiting: ReturnType<typeof texts.engine.commit> | undefined
    await texts.engine.alone(async (commit) => {
      waiting = texts.engine.commit([{ reads, writes: [texts.put('a', 'late')] }])
      await commit([{ writes: [texts.put('a', 'alone')] }])
    })
    assert.deepEqual(areCommitted((await waiting) ?? []), [false])
    assert.equal(await texts.text('a'), 'alone')
  })

  check('work alone runs one at a time, in the order requested', async (texts) => {
    const order: string[] = []
    const work = (name: string) =>
      texts.engine.alone(async (commit) => {
        order.push(`${name} begins`)
        await turn()
        await commit([{ writes: [texts.put('last', name)] }])
        await turn()
        order.push(`${name} ends`)
      })
    await Promise.all([work('a'), work('b'), work('c')])
    assert.deepEqual(
      order,
      ['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]),
    )
    assert.equal(await texts.text('last'), 'c')
  })

  check('an error in work alone rejects it, and other commits go on', async (texts) => {
    const failing = texts.engine.alone(async () => {
      await turn()
      throw new Error('no')
    })
    const behind = texts.write(texts.put('a', 'behind'))
    await assert.rejects(failing, /^Error: no$/)
    await behind
    assert.equal(await texts.text('a'), 'behind')
    assert.equal(await texts.engine.alone(() => texts.text('a')), 'behind')
  })
}
