// The contract of engines with several writers: versions, and verdicts on what a transaction has read.
import assert from 'node:assert/strict'
import { randomFrom } from '../../../test/random.ts'
import { keyAfter } from '../kv.ts'
import { ABSENT, type ReadSet, type Transaction, type Version, type Write } from './engine.ts'
import {
  areCommitted,
  newVersion,
  readSetOf,
  valueText,
  withVersions,
  type Check,
  type Texts,
  type WantedNames,
} from './harness.ts'

export function verdictConformance(check: Check): void {
  versionConformance(check)
  overtakenConformance(check)
  groupConformance(check)
  raceConformance(check)
}

/** The read set of a transaction that has read this write. */
function seen(write: Pick<Write, 'key' | 'value' | 'version'>): ReadSet {
  const version = write.value === undefined ? ABSENT : write.version
  return { keys: [{ key: write.key, version }], ranges: [] }
}

function versionConformance(check: Check): void {
  check('records have the version that their writer chose', async (texts) => {
    const [a, b] = [texts.put('a', '1'), texts.put('b', '1')]
    await texts.write(a, b)
    const changed = texts.put('a', '2')
    await texts.write(changed)
    const { keys, ranges } = await texts.engine.read({
      keys: [{ key: a.key }, { key: b.key }],
      ranges: [texts.all, { ...texts.all, part: 'keys', reverse: true }],
    })
    const versions: readonly Version[] = [changed.version, b.version]
    const versionsOf = (found: readonly { readonly version: Version }[] = []) =>
      found.map(({ version }) => version)
    assert.deepEqual(keys.map((each) => typeof each === 'object' && each.version), versions) // prettier-ignore
    assert.deepEqual(ranges.map(versionsOf), [versions, versions.toReversed()])
  })

  check('a read omits the value of a key whose version is known', async (texts) => {
    const first = texts.put('a', '1')
    await texts.write(first)
    const read = async (known: Version): Promise<unknown> => {
      const { keys } = await texts.engine.read({ keys: [{ key: first.key, known }], ranges: [] })
      return typeof keys[0] === 'object' ? valueText(keys[0].value) : keys[0]
    }
    assert.equal(await read(first.version), 'unchanged')
    assert.equal(await read(first.version - 1), '1')
    assert.equal(await read(ABSENT), '1')
    const second = texts.put('a', '1')
    await texts.write(second)
    assert.deepEqual([await read(first.version), await read(second.version)], ['1', 'unchanged'])
    await texts.write(texts.delete('a'))
    assert.deepEqual(
      [await read(second.version), await read(ABSENT), await read(first.version)],
      [undefined, undefined, undefined],
    )
    const third = texts.put('a', '3')
    await texts.write(third)
    assert.deepEqual(
      [await read(first.version), await read(second.version), await read(third.version)],
      ['3', '3', 'unchanged'],
    )
  })

  check('a snapshot has the versions of its state', async (texts) => {
    const [a, b] = [texts.put('a', '1'), texts.put('b', '1')]
    await texts.write(a, b)
    const wanted = texts.wanted({ keys: ['a', 'b', 'c'], ranges: [{ from: 'a', to: 'z' }] })
    const snapshot = await texts.engine.snapshot()
    const before = withVersions(await texts.engine.read(wanted))
    await texts.write(texts.put('a', '2'), texts.delete('b'), texts.put('c', '2'))
    assert.deepEqual(withVersions(await snapshot.read(wanted)), before)
    const { keys } = await snapshot.read({
      keys: [{ key: a.key, known: a.version }, { key: b.key, known: b.version + 1 }], // prettier-ignore
      ranges: [],
    })
    assert.equal(keys[0], 'unchanged')
    assert(typeof keys[1] === 'object' && keys[1].version === b.version)
    snapshot.release()
  })
}

/** A change between a read and the commit of its reader, and whether that overtakes the reader. */
type Change = readonly [
  what: string,
  writes: (texts: Texts) => readonly Write[],
  isOvertaken: boolean,
]

const put =
  (name: string, text = 'changed') =>
  (texts: Texts) => [texts.put(name, text)]
const remove = (name: string) => (texts: Texts) => [texts.delete(name)]
const putBehind = (name: string) => (texts: Texts) => [
  { ...texts.put(name, 'new'), key: keyAfter(texts.key(name)) },
]

// The store has b, d, f and h.
const OVERTAKEN: readonly (readonly [string, WantedNames, readonly Change[]])[] = [
  [
    'a key',
    { keys: ['d'] },
    [
      ['it changes', put('d'), true],
      ['it gets the same value again', put('d', 'd'), true],
      ['it is deleted', remove('d'), true],
      ['its neighbour changes', put('f'), false],
      ['its neighbour is deleted', remove('b'), false],
      ['a key right behind it is inserted', putBehind('d'), false],
    ],
  ],
  [
    'an absent key',
    { keys: ['c'] },
    [
      ['it is inserted', put('c'), true],
      ['it is deleted', remove('c'), false],
      ['a key right behind it is inserted', putBehind('c'), false],
    ],
  ],
  [
    'several keys',
    { keys: ['b', 'c', 'h'] },
    [
      ['the first one changes', put('b'), true],
      ['an absent one is inserted', put('c'), true],
      ['the last one is deleted', remove('h'), true],
      ['another key between them changes', put('d'), false],
    ],
  ],
  [
    'a range',
    { ranges: [{ from: 'b', to: 'h' }] },
    [
      ['its first entry changes', put('b'), true],
      ['an entry changes', put('d'), true],
      ['its last entry changes', put('f'), true],
      ['its first entry is deleted', remove('b'), true],
      ['an entry is deleted', remove('d'), true],
      ['its last entry is deleted', remove('f'), true],
      ['an entry is inserted right behind the first', putBehind('b'), true],
      ['an entry is inserted', put('e'), true],
      ['an entry is inserted behind the last', put('g'), true],
      ['a key before it is inserted', put('a'), false],
      ['the key at its end changes', put('h'), false],
      ['the key at its end is deleted', remove('h'), false],
      ['a key behind it is inserted', put('i'), false],
    ],
  ],
  [
    'the keys of a range',
    { ranges: [{ from: 'b', to: 'h', part: 'keys' }] },
    [
      ['an entry changes', put('d'), true],
      ['an entry is deleted', remove('d'), true],
      ['an entry is inserted', put('e'), true],
    ],
  ],
  [
    'the fields of a range',
    { ranges: [{ from: 'b', to: 'h', part: 'fields' }] },
    [
      ['an entry changes', put('d'), true],
      ['an entry is inserted', put('e'), true],
    ],
  ],
  [
    'a range with absent bounds',
    { ranges: [{ from: 'c', to: 'g' }] },
    [
      ['a key at its start is inserted', put('c'), true],
      ['a key at its end is inserted', put('g'), false],
      ['a key before it is inserted', putBehind('b'), false],
    ],
  ],
  [
    'an empty range',
    { ranges: [{ from: 'i', to: 'k' }] },
    [
      ['an entry is inserted', put('j'), true],
      ['a key at its start is inserted', put('i'), true],
      ['a key at its end is inserted', put('k'), false],
      ['a key before it changes', put('h'), false],
    ],
  ],
  [
    'the first two entries of a range',
    { ranges: [{ from: 'b', to: 'z', countMax: 2 }] },
    [
      ['an entry is inserted behind them', put('e'), false],
      ['an entry is inserted right behind them', putBehind('d'), false],
      ['a later entry changes', put('f'), false],
      ['a later entry is deleted', remove('f'), false],
      ['an entry is inserted between them', put('c'), true],
      ['a key before it is inserted', put('a'), false],
      ['the first one changes', put('b'), true],
      ['the first one is deleted', remove('b'), true],
      ['the second one is deleted', remove('d'), true],
    ],
  ],
  [
    'two entries of a range of two',
    { ranges: [{ from: 'd', to: 'h', countMax: 2 }] },
    [
      ['an entry is inserted behind them', put('g'), false],
      ['an entry is inserted between them', put('e'), true],
      ['the second one is deleted', remove('f'), true],
    ],
  ],
  [
    'three entries of a range of two',
    { ranges: [{ from: 'd', to: 'h', countMax: 3 }] },
    [['an entry is inserted behind them', put('g'), true]],
  ],
  [
    'the last two entries of a range',
    { ranges: [{ from: 'a', to: 'z', countMax: 2, reverse: true }] },
    [
      ['an entry is inserted before them', put('e'), false],
      ['an earlier entry changes', put('d'), false],
      ['an earlier entry is deleted', remove('d'), false],
      ['an entry is inserted between them', put('g'), true],
      ['an entry is inserted behind them', put('i'), true],
      ['the last one changes', put('h'), true],
      ['the last one is deleted', remove('h'), true],
      ['the second to last one is deleted', remove('f'), true],
    ],
  ],
  [
    'a reverse range with absent bounds',
    { ranges: [{ from: 'c', to: 'g', reverse: true }] },
    [
      ['a key at its start is inserted', put('c'), true],
      ['a key at its end is inserted', put('g'), false],
      ['an entry changes', put('d'), true],
    ],
  ],
  [
    'no entries of a range',
    { ranges: [{ from: 'a', to: 'z', countMax: 0 }] },
    [
      ['an entry is inserted', put('a'), false],
      ['an entry is deleted', remove('b'), false],
    ],
  ],
  [
    'a key and two ranges',
    {
      keys: ['b'],
      ranges: [
        { from: 'c', to: 'e' },
        { from: 'g', to: 'z', countMax: 1 },
      ],
    },
    [
      ['the key changes', put('b'), true],
      ['an entry of the first changes', put('d'), true],
      ['an entry of the second is deleted', remove('h'), true],
      ['a key between them changes', put('f'), false],
      ['several of them change', (texts) => [texts.put('b', 'x'), texts.delete('d'), texts.put('g', 'x')], true], // prettier-ignore
    ],
  ],
]

function overtakenConformance(check: Check): void {
  for (const [what, wanted, changes] of OVERTAKEN) {
    for (const [change, writes, isOvertaken] of changes) {
      const effect = isOvertaken ? 'is overtaken' : 'is not overtaken'
      for (const where of ['in an earlier commit', 'in its group']) {
        check(`the reader of ${what} ${effect} when ${change} ${where}`, async (texts) => {
          await texts.fill('b', 'd', 'f', 'h')
          const reads = await texts.readSet(wanted)
          const reader = { reads, writes: [texts.put('~1', 'read'), texts.put('~2', 'read')] }
          const changing = { writes: writes(texts) }
          const verdicts =
            where === 'in its group'
              ? await texts.engine.commit([changing, reader])
              : [
                  ...(await texts.engine.commit([changing])),
                  ...(await texts.engine.commit([reader])),
                ]
          assert.deepEqual(areCommitted(verdicts), [true, !isOvertaken])
          const { keys } = await texts.found({ keys: ['~1', '~2'] })
          assert.deepEqual(keys, isOvertaken ? [undefined, undefined] : ['read', 'read'])
          const verdict = verdicts[1]
          if (!isOvertaken || typeof verdict !== 'object') return
          const now = await texts.engine.read(texts.wanted(wanted))
          assert.deepEqual(withVersions(verdict.current), withVersions(now))
          const again = { ...reader, reads: readSetOf(texts.wanted(wanted), verdict.current) }
          assert.deepEqual(await texts.engine.commit([again]), ['committed'])
        })
      }
    }
  }

  check('a key that was inserted and deleted again counts as unchanged', async (texts) => {
    const reads = await texts.readSet({ keys: ['a'], ranges: [{ from: 'a', to: 'c' }] })
    await texts.fill('a', 'b')
    await texts.write(texts.delete('a'), texts.delete('b'))
    assert.deepEqual(await texts.engine.commit([{ reads, writes: [] }]), ['committed'])
  })

  check('a key that was deleted and inserted again counts as changed', async (texts) => {
    await texts.fill('a')
    const byKey = await texts.readSet({ keys: ['a'] })
    const byRange = await texts.readSet({ ranges: [{ from: 'a', to: 'c' }] })
    await texts.write(texts.delete('a'))
    await texts.fill('a')
    const verdicts = await texts.engine.commit([
      { reads: byKey, writes: [] },
      { reads: byRange, writes: [] },
    ])
    assert.deepEqual(areCommitted(verdicts), [false, false])
  })

  check('entries with the same version are distinguished by their keys', async (texts) => {
    const version = newVersion()
    await texts.write(...['a', 'b'].map((name) => ({ ...texts.put(name, name), version })))
    const range = { from: 'a', to: 'z', countMax: 1 }
    const reads = await texts.readSet({ ranges: [range] })
    await texts.write(texts.delete('a'))
    assert.deepEqual(await texts.names(range), ['b'])
    assert.deepEqual(areCommitted(await texts.engine.commit([{ reads, writes: [] }])), [false])
  })

  check(
    'transactions that write nothing are checked, and those that read nothing are not',
    async (texts) => {
      await texts.fill('a')
      const reads = await texts.readSet({ keys: ['a'] })
      const nothing = { keys: [], ranges: [] }
      const reading = { reads, writes: [] }
      assert.deepEqual(await texts.engine.commit([reading]), ['committed'])
      await texts.write(texts.put('a', 'changed'))
      const verdicts = await texts.engine.commit([
        reading,
        { reads: nothing, writes: [texts.put('b', 'b')] },
        { writes: [texts.put('c', 'c')] },
      ])
      assert.deepEqual(areCommitted(verdicts), [false, true, true])
    },
  )
}

function groupConformance(check: Check): void {
  check('a transaction may have read a write of its own group', async (texts) => {
    await texts.fill('deleted')
    const [put, deleted] = [texts.put('a', 'first'), texts.delete('deleted')]
    const range = texts.range({ from: 'a', to: 'e' })
    const inRange = { keys: [], ranges: [{ range, seen: [put] }] }
    const verdicts = await texts.engine.commit([
      { writes: [put, deleted] },
      { reads: seen(put), writes: [texts.put('b1', 'has read a')] },
      { reads: seen(deleted), writes: [texts.put('~', 'has not found it')] },
      { reads: { ...inRange, ranges: [{ range: { ...range, countMax: 1 }, seen: [put] }] }, writes: [] }, // prettier-ignore
      { reads: inRange, writes: [texts.put('~2', 'has not seen b1')] },
    ])
    assert.deepEqual(areCommitted(verdicts), [true, true, true, true, false])
    assert.deepEqual(await texts.names({ from: 'a', to: '~~' }), ['a', 'b1', '~'])
  })

  check(
    'a long chain of transactions that read each other’s writes commits in one step',
    async (texts) => {
      const chain: Transaction[] = []
      let last = texts.put('n', '0')
      chain.push({ reads: seen({ ...last, value: undefined }), writes: [last] })
      for (let n = 1; n < 100; n += 1) {
        const next = texts.put('n', String(n))
        chain.push({ reads: seen(last), writes: [next] })
        last = next
      }
      const verdicts = await texts.engine.commit(chain)
      assert(verdicts.every((verdict) => verdict === 'committed'))
      assert.equal(await texts.text('n'), '99')
    },
  )

  check(
    'only transactions that have read the writes of a refused one are refused with it',
    async (texts) => {
      await texts.fill('a')
      const stale = await texts.readSet({ keys: ['a'] })
      await texts.write(texts.put('a', 'changed'))
      const refused = texts.put('b', 'never')
      const dependent = texts.put('c', 'never')
      const verdicts = await texts.engine.commit([
        { writes: [texts.put('before', 'kept')] },
        { reads: stale, writes: [refused, texts.delete('a')] },
        { reads: seen(refused), writes: [dependent] },
        { reads: seen(dependent), writes: [texts.put('d', 'never')] },
        { reads: seen({ ...refused, value: undefined }), writes: [texts.put('behind', 'kept')] },
      ])
      assert.deepEqual(areCommitted(verdicts), [true, false, false, false, true])
      const { keys } = await texts.found({ keys: ['before', 'a', 'b', 'c', 'd', 'behind'] })
      assert.deepEqual(keys, ['kept', 'changed', undefined, undefined, undefined, 'kept'])
    },
  )

  check(
    'of several transactions that read and change one key, only the first is committed',
    async (texts) => {
      await texts.fill('a')
      const reads = await texts.readSet({ keys: ['a'], ranges: [{ from: 'a', to: 'b' }] })
      const group = ['1', '2', '3'].map((text) => {
        return { reads, writes: [texts.put('a', text), texts.put(`by ${text}`, '')] }
      })
      const verdicts = await texts.engine.commit(group)
      assert.deepEqual(areCommitted(verdicts), [true, false, false])
      assert.deepEqual(
        [await texts.text('a'), await texts.text('by 2'), await texts.text('by 3')],
        ['1', undefined, undefined],
      )
      const second = verdicts[1]
      assert(typeof second === 'object')
      assert.deepEqual(texts.texts(second.current), { keys: ['1'], ranges: [['a=1']] })
    },
  )
}

function raceConformance(check: Check): void {
  /** Increments a counter. Retries with the current value when another writer was faster. */
  const increment = async (texts: Texts, name: string): Promise<number> => {
    const wanted = texts.wanted({ keys: [name] })
    let found = await texts.engine.read(wanted)
    for (let attempts = 1; ; attempts += 1) {
      const count = Number(texts.texts(found).keys[0] ?? 0)
      const reads = readSetOf(wanted, found)
      const writes = [texts.put(name, String(count + 1))]
      const [verdict] = await texts.engine.commit([{ reads, writes }])
      if (verdict === 'committed') return attempts
      assert(verdict !== undefined)
      found = verdict.current
    }
  }

  check('no concurrent increment is lost', async (texts) => {
    const attempts = await Promise.all(Array.from({ length: 40 }, () => increment(texts, 'n')))
    assert.equal(await texts.text('n'), '40')
    assert(Math.max(...attempts) > 1, 'some were overtaken')
  })

  for (const seed of [1, 2]) {
    check(`concurrent transfers keep the sum (seed ${seed})`, async (texts) => {
      const random = randomFrom(seed)
      const names = ['a', 'b', 'c', 'd', 'e']
      await texts.write(...names.map((name) => texts.put(name, '100')))
      const wanted = texts.wanted({ ranges: [{ from: 'a', to: 'z' }] })
      const transfer = async (from: string, to: string): Promise<void> => {
        let found = await texts.engine.read(wanted)
        for (;;) {
          const entries = texts.texts(found).ranges[0] ?? []
          const balances = new Map(entries.map((entry) => [entry[0], Number(entry.slice(2))]))
          const total = [...balances.values()].reduce((sum, each) => sum + each, 0)
          assert.equal(total, 500, 'each state has the full sum')
          const writes = [
            texts.put(from, String((balances.get(from) ?? 0) - 1)),
            texts.put(to, String((balances.get(to) ?? 0) + 1)),
          ]
          const [verdict] = await texts.engine.commit([{ reads: readSetOf(wanted, found), writes }])
          if (verdict === 'committed') return
          assert(verdict !== undefined)
          found = verdict.current
        }
      }
      const pairs = Array.from({ length: 40 }, () => {
        const from = random.below(5)
        return [names[from] ?? '', names[(from + 1 + random.below(4)) % 5] ?? ''] as const
      })
      await Promise.all(pairs.map(([from, to]) => transfer(from, to)))
      const left = names.map((name) => {
        return 100 + pairs.filter(([, to]) => to === name).length - pairs.filter(([from]) => from === name).length // prettier-ignore
      })
      assert.deepEqual((await texts.found({ keys: names })).keys, left.map(String))
    })
  }
}
