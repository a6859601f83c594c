// The contract of an engine, as one suite over its interface. Runners rely on all of it, and on nothing else.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { randomFrom } from '../../../test/random.ts'
import { encodeString } from '../key.ts'
import { keyAfter } from '../kv.ts'
import { fieldsEnd, parseFields } from '../record.ts'
import { aloneConformance } from './alone-conformance.ts'
import type { Engine, Snapshot } from './engine.ts'
import {
  newVersion,
  Texts,
  valueText,
  turn,
  type Check,
  type Name,
  type NamedRange,
} from './harness.ts'
import { localConformance } from './local-conformance.ts'
import { retryConformance } from './retry-conformance.ts'
import { verdictConformance } from './verdict-conformance.ts'

/** A 'local' engine has one writer and reads that never wait; a 'shared' one checks read sets. */
export type EngineKind = 'local' | 'shared'

export function engineConformance(
  name: string,
  open: () => Engine | Promise<Engine>,
  kind: EngineKind = 'shared',
): void {
  describe(name, () => {
    let engine: Engine
    before(async () => {
      engine = await open()
    })
    after(() => engine.close())
    const check: Check = (title, body) =>
      test(title, { timeout: 60_000 }, () => body(new Texts(engine, title)))

    readConformance(check)
    rangeConformance(check)
    foldConformance(check)
    stateConformance(check)
    commitConformance(check)
    snapshotConformance(check)
    if (kind === 'shared') {
      verdictConformance(check)
      aloneConformance(check)
      retryConformance(check)
    } else {
      localConformance(check)
    }

    check('only an engine with one writer has local reads', async (texts) => {
      const snapshot = await texts.engine.snapshot()
      const isLocal = kind === 'local'
      assert.deepEqual(
        [texts.engine.local !== undefined, snapshot.local !== undefined],
        [isLocal, isLocal],
      )
      snapshot.release()
    })

    check('the size is at least that of the stored values', async (texts) => {
      const value = randomFrom(1).bytes(2 ** 20)
      await texts.write({ key: texts.key('large'), value, version: newVersion() })
      const sizeBytes = texts.engine.sizeBytes()
      assert(sizeBytes >= value.length && Number.isSafeInteger(sizeBytes), String(sizeBytes))
    })
  })
}

function readConformance(check: Check): void {
  check(
    'a read answers in the order requested, and repeats a key that is requested twice',
    async (texts) => {
      await texts.fill('a', 'b')
      const ranges = [{ from: 'b', to: 'c' }, { from: 'x', to: 'y' }, { from: 'a', to: 'c' }] // prettier-ignore
      assert.deepEqual(await texts.found({ keys: ['b', 'none', 'a', 'b'], ranges }), {
        keys: ['b', undefined, 'a', 'b'],
        ranges: [['b=b'], [], ['a=a', 'b=b']],
      })
    },
  )

  check('a read of nothing finds nothing', async ({ engine }) => {
    assert.deepEqual(await engine.read({ keys: [], ranges: [] }), { keys: [], ranges: [] })
  })

  check('an empty value is a value', async (texts) => {
    const key = texts.key('empty')
    await texts.write({ key, value: new Uint8Array(0), version: newVersion() })
    const { keys, ranges } = await texts.engine.read({ keys: [{ key }], ranges: [texts.all] })
    assert(typeof keys[0] === 'object')
    assert.deepEqual([keys[0].value.length, ranges[0]?.[0]?.value.length], [0, 0])
  })

  check('values may be large', async (texts) => {
    const large = 'x'.repeat(1_500_000)
    await texts.write(texts.put('large', large))
    assert.equal(await texts.text('large'), large)
  })

  check('a value is the reader’s own: later reads and commits do not change it', async (texts) => {
    await texts.fill('a', 'b')
    const { keys, ranges } = await texts.engine.read(
      texts.wanted({ keys: ['a'], ranges: [{ from: 'a', to: 'c' }] }),
    )
    await texts.write(texts.put('a', 'later'), texts.put('b', 'later'))
    await texts.found({ keys: ['b', 'a'], ranges: [{ from: 'a', to: 'c' }] })
    assert.deepEqual(texts.texts({ keys, ranges }), { keys: ['a'], ranges: [['a=a', 'b=b']] })
  })

  check('one read or commit may have thousands of keys', async (texts) => {
    const names = Array.from({ length: 3_000 }, (_, n) => n)
    await texts.write(...names.map((n) => texts.put(n, String(n))))
    const { keys } = await texts.found({ keys: names })
    assert.deepEqual(keys, names.map(String))
    await texts.write(...names.map((n) => texts.delete(n)))
    assert.deepEqual(await texts.names({ from: 0, to: 3_000, countMax: 3_000 }), [])
  })
}

function rangeConformance(check: Check): void {
  check('keys are sorted by their bytes', async (texts) => {
    const long = '\uffff'.repeat(1_000)
    const names = ['b', 'a\0', 'a', '', 'é', 'z', 'a/b', 'A', '\u{1f600}', '\uffff', long, `${long}a`] // prettier-ignore
    const numbers = [2 ** 53 - 1, 256, 0, 255, 2 ** 32, 1]
    for (const name of [...names, ...numbers]) await texts.write(texts.put(name, ''))
    const sorted: readonly Name[] = [...numbers.toSorted((a, b) => a - b), ...names.toSorted()]
    const { ranges } = await texts.engine.read({
      keys: [],
      ranges: [texts.all, { ...texts.all, reverse: true }],
    })
    const [up = [], down = []] = ranges.map((found) => found.map(({ key }) => texts.name(key)))
    assert.deepEqual(up, sorted)
    assert.deepEqual(down, sorted.toReversed())
  })

  // Over 10, 20, … 1,990.
  const RANGES: readonly (readonly [string, NamedRange, readonly Name[]])[] = [
    ['includes its first key and excludes its end', { from: 30, to: 60 }, [30, 40, 50]],
    ['finds the same keys when reversed', { from: 30, to: 60, reverse: true }, [50, 40, 30]],
    ['may begin and end between keys', { from: 25, to: 55 }, [30, 40, 50]],
    ['may begin and end between keys, reversed', { from: 25, to: 55, reverse: true }, [50, 40, 30]],
    ['returns the first keys up to its count', { from: 30, to: 900, countMax: 2 }, [30, 40]],
    [
      'returns the last keys when reversed',
      { from: 30, to: 90, countMax: 2, reverse: true },
      [80, 70],
    ],
    ['may have exactly as many keys as its count', { from: 30, to: 50, countMax: 2 }, [30, 40]],
    ['of one key is that key', { from: 30, to: 31 }, [30]],
    ['of one key is that key, reversed', { from: 30, to: 31, reverse: true }, [30]],
    ['with equal bounds is empty', { from: 30, to: 30 }, []],
    ['with equal bounds is empty, reversed', { from: 30, to: 30, reverse: true }, []],
    ['with swapped bounds is empty', { from: 60, to: 30 }, []],
    ['with swapped bounds is empty, reversed', { from: 60, to: 30, reverse: true }, []],
    ['before the first key is empty', { from: 0, to: 10 }, []],
    ['past the last key is empty', { from: 2_000, to: 3_000 }, []],
    ['past the last key is empty, reversed', { from: 2_000, to: 3_000, reverse: true }, []],
    ['may reach past the last key', { from: 1_980, to: 5_000 }, [1_980, 1_990]],
    [
      'may reach past the last key, reversed',
      { from: 1_980, to: 5_000, reverse: true },
      [1_990, 1_980],
    ],
    ['may begin before the first key', { from: 0, to: 25, reverse: true }, [20, 10]],
    ['with a count of 0 is empty', { from: 30, to: 60, countMax: 0 }, []],
    ['with a count of 0 is empty, reversed', { from: 30, to: 60, countMax: 0, reverse: true }, []],
  ]
  check('a range', async (texts) => {
    const names = Array.from({ length: 199 }, (_, n) => 10 * n + 10)
    await texts.write(...names.map((name) => texts.put(name, '')))
    for (const [what, range, expected] of RANGES) {
      assert.deepEqual(await texts.names(range), expected, what)
    }
    assert.deepEqual(await texts.names({ from: 0, to: 9_999 }), names, 'is complete')
  })

  check('a range that begins after a key excludes it', async (texts) => {
    await texts.fill('a', 'b')
    const range = { from: keyAfter(texts.key('a')), to: texts.key('c'), countMax: 9 } as const
    const { ranges } = await texts.engine.read({ keys: [], ranges: [{ ...range, part: 'keys' }] })
    assert.deepEqual(ranges[0]?.map(({ key }) => texts.name(key)), ['b']) // prettier-ignore
  })

  check('a range returns whole records, fields or keys', async (texts) => {
    await texts.write(texts.put('a', 'first'), texts.put('b', ''))
    const range = { from: 'a', to: 'z' }
    const { ranges } = await texts.engine.read(
      texts.wanted({
        ranges: [
          { ...range, part: 'whole' },
          { ...range, part: 'fields' },
          { ...range, part: 'keys' },
        ],
      }),
    )
    const [whole = [], fields = [], keys = []] = ranges
    assert.deepEqual(
      ranges.map((found) => found.map(({ key }) => texts.name(key))),
      Array.from({ length: 3 }, () => ['a', 'b']),
    )
    assert.deepEqual(whole.map(({ value }) => valueText(value)), ['first', '']) // prettier-ignore
    assert.deepEqual(fields.map(({ value }) => parseFields(value)), [{ length: 5 }, { length: 0 }]) // prettier-ignore
    assert(
      fields.every(({ value }) => value.length === fieldsEnd(value)),
      'no bytes',
    )
    assert(keys.every(({ value }) => value.length === 0))
    const versions = ranges.map((found) => found.map(({ version }) => version))
    assert.deepEqual([versions[1], versions[2]], [versions[0], versions[0]])
  })

  check('values that are not records are returned whole', async (texts) => {
    const values = [Buffer.from('abc'), Buffer.from('\xff\xff\xff\xffabc', 'latin1')]
    for (const [at, value] of values.entries()) {
      await texts.write({ key: texts.key(at), value, version: newVersion() })
    }
    const range = { from: 0, to: 9, part: 'fields' } as const
    const { ranges } = await texts.engine.read(texts.wanted({ ranges: [range] }))
    assert.deepEqual(ranges[0]?.map(({ value }) => Buffer.from(value)), values) // prettier-ignore
  })

  for (const seed of [1, 2, 3]) {
    check(`random commits match a plain map (seed ${seed})`, async (texts) => {
      const random = randomFrom(seed)
      const model = new Map<number, string>()
      for (let round = 0; round < 40; round += 1) {
        const writes = Array.from({ length: random.below(30) }, (_, at) => {
          // Unique within a transaction.
          const name = at + 30 * random.below(20)
          if (random.below(3) === 0) {
            model.delete(name)
            return texts.delete(name)
          }
          model.set(name, `${round} ${name}`)
          return texts.put(name, `${round} ${name}`)
        })
        await texts.write(...writes)
        const [from, to, countMax] = [random.below(600), random.below(700), random.below(80)]
        const names = Array.from({ length: 20 }, () => random.below(600))
        const found = await texts.found({
          keys: names,
          ranges: [{ from, to, countMax }, { from, to, countMax, reverse: true }], // prettier-ignore
        })
        const inside = [...model]
          .filter(([name]) => name >= from && name < to)
          .toSorted(([a], [b]) => a - b)
          .map(([name, text]) => `${name}=${text}`)
        assert.deepEqual(found, {
          keys: names.map((name) => model.get(name)),
          ranges: [inside.slice(0, countMax), inside.toReversed().slice(0, countMax)],
        })
      }
    })
  }
}

const COUNT = 8
const NAMES: readonly Name[] = Array.from({ length: COUNT }, (_, n) => n)

/** Writes the same text to all keys: while every commit does so, every state has one text. */
const allWith = (texts: Texts, text: string) => NAMES.map((n) => texts.put(n, text))

/** The distinct texts of those keys, read by key and by range in both directions. */
async function textsOfAll(texts: Texts, from: Engine | Snapshot = texts.engine): Promise<string[]> {
  const range = { from: 0, to: COUNT }
  const found = await texts.found(
    { keys: NAMES, ranges: [range, { ...range, reverse: true, countMax: 3 }] },
    from,
  )
  const inRanges = found.ranges.flat().map((entry) => entry.slice(entry.indexOf('=') + 1))
  assert.equal(inRanges.length, COUNT + 3)
  return [...new Set([...found.keys.map(String), ...inRanges])]
}

/** `fold` from the first byte of the names on. */
function foldConformance(check: Check): void {
  const namesOf = async (texts: Texts, delimiter: string, range: Partial<NamedRange> = {}) => {
    const at = texts.key('').length - 1
    const fold = { at, delimiter: Buffer.from(delimiter) }
    return texts.names({ from: '', to: '\uffff', fold, ...range })
  }

  check('a folded range has the first of all keys with the same beginning', async (texts) => {
    await texts.fill(
      'a',
      'a/1',
      'a/2',
      'a/2/x',
      'a/3',
      'b',
      'b-1',
      'c/',
      'c/1',
      'd//1',
      'd//2',
      'e',
    )
    assert.deepEqual(await namesOf(texts, '/'), ['a', 'a/1', 'b', 'b-1', 'c/', 'd//1', 'e'])
    assert.deepEqual(await namesOf(texts, '//'), ['a', 'a/1', 'a/2', 'a/2/x', 'a/3', 'b', 'b-1', 'c/', 'c/1', 'd//1', 'e']) // prettier-ignore
    assert.deepEqual(await namesOf(texts, '/', { countMax: 3 }), ['a', 'a/1', 'b'])
    assert.deepEqual(await namesOf(texts, '/', { countMax: 0 }), [])
    assert.deepEqual(await namesOf(texts, '/', { from: 'a/2', to: 'd' }), ['a/2', 'b', 'b-1', 'c/'])
    assert.deepEqual(await namesOf(texts, '/', { from: 'c', to: 'c' }), [])
  })

  check('the delimiter of a folded range is searched from a byte on', async (texts) => {
    await texts.fill('a/b/1', 'a/b/2', 'a/c', 'a/d/1')
    const fold = { at: texts.key('').length - 1 + 2, delimiter: Buffer.from('/') }
    assert.deepEqual(await texts.names({ from: '', to: 'z', fold }), ['a/b/1', 'a/c', 'a/d/1'])
  })

  check('a folded range may be read beside keys and other ranges', async (texts) => {
    await texts.fill('a/1', 'a/2', 'b')
    const fold = { at: texts.key('').length - 1, delimiter: Buffer.from('/') }
    const all = { from: 'a', to: 'z' }
    assert.deepEqual(await texts.found({ keys: ['b'], ranges: [{ ...all, fold }, all, { ...all, fold }] }), {
      keys: ['b'],
      ranges: [['a/1=a/1', 'b=b'], ['a/1=a/1', 'a/2=a/2', 'b=b'], ['a/1=a/1', 'b=b']],
    }) // prettier-ignore
  })

  check('any delimiter folds, and any names, as a model does', async (texts) => {
    const random = randomFrom(7)
    const letters = ['a', 'b', '/', '/', '\u00e9', '\ud83d\ude00', '\0', 'x'.repeat(900)]
    const name = () => Array.from({ length: random.below(6) }, () => random.pick(letters)).join('')
    const names = [...new Set(Array.from({ length: 300 }, name))].sort()
    await texts.fill(...names)
    for (const delimiter of ['/', 'a/', '\u00e9', '\ud83d\ude00', '\0', 'b']) {
      const seen = new Set<string>()
      const expected = names.filter((each) => {
        const at = each.indexOf(delimiter)
        const start = at < 0 ? undefined : each.slice(0, at + delimiter.length)
        if (start === undefined) return true
        const isNew = !seen.has(start)
        seen.add(start)
        return isNew
      })
      const fold = { at: texts.key('').length - 1, delimiter: encodeString(delimiter) }
      assert.deepEqual(await texts.names({ from: '', to: '\uffff', fold }), expected, delimiter)
    }
  })
}

function stateConformance(check: Check): void {
  check('a read sees one committed state, whatever is committed meanwhile', async (texts) => {
    await texts.write(...allWith(texts, '-'))
    const state = { isCommitting: true }
    const commits = Array.from({ length: 100 }, (_, n) =>
      texts.engine.commit([{ writes: allWith(texts, String(n)) }]),
    )
    const committed = Promise.all(commits).finally(() => (state.isCommitting = false))
    let reads = 0
    for (; state.isCommitting || reads === 0; reads += 2) {
      const found = await Promise.all([textsOfAll(texts), textsOfAll(texts)])
      for (const distinct of found) assert.equal(distinct.length, 1, distinct.join())
      await turn()
    }
    await committed
    assert.deepEqual(await textsOfAll(texts), ['99'])
  })

  check('a read sees every commit acknowledged before it', async (texts) => {
    // Many at a time, so that acknowledgements and reads fall into one turn of the event loop.
    const writer = async (name: Name): Promise<void> => {
      for (let n = 0; n < 20; n += 1) {
        void texts.found({ keys: [name] })
        await texts.write(texts.put(name, String(n)))
        const range = { from: name, to: Number(name) + 1 }
        const found = await texts.found({ keys: [name], ranges: [range] })
        assert.deepEqual(found, { keys: [String(n)], ranges: [[`${name}=${n}`]] })
        await texts.write(texts.delete(name))
        assert.deepEqual(await texts.found({ keys: [name], ranges: [range] }), {
          keys: [undefined],
          ranges: [[]],
        })
      }
    }
    await Promise.all(Array.from({ length: 20 }, (_, n) => writer(n)))
  })
}

function commitConformance(check: Check): void {
  check('an empty commit succeeds', async ({ engine }) => {
    assert.deepEqual(await engine.commit([]), [])
    assert.deepEqual(await engine.commit([{ writes: [] }, { writes: [] }]), [
      'committed',
      'committed',
    ])
  })

  check('the last write of a key in one commit wins', async (texts) => {
    await texts.fill('changed', 'deleted')
    const verdicts = await texts.engine.commit([
      { writes: [texts.put('changed', '1'), texts.put('deleted', '1'), texts.delete('new')] },
      { writes: [texts.put('changed', '2'), texts.put('new', '2')] },
      { writes: [texts.delete('deleted')] },
    ])
    assert.deepEqual(verdicts, ['committed', 'committed', 'committed'])
    const { keys } = await texts.found({ keys: ['changed', 'deleted', 'new'] })
    assert.deepEqual(keys, ['2', undefined, '2'])
  })

  check('concurrent commits keep their order', async (texts) => {
    const commits = Array.from({ length: 50 }, (_, n) => texts.write(texts.put('n', String(n))))
    await Promise.all(commits)
    assert.equal(await texts.text('n'), '49')
  })

  check('deleting an absent key changes nothing', async (texts) => {
    await texts.write(texts.delete('none'))
    assert.equal(await texts.text('none'), undefined)
  })

  check('a commit may have hundreds of transactions', async (texts) => {
    const names = Array.from({ length: 500 }, (_, n) => n)
    const verdicts = await texts.engine.commit(
      names.map((n) => ({ writes: [texts.put(n, String(n)), texts.put('last', String(n))] })),
    )
    assert.equal(verdicts.length, 500)
    assert.deepEqual(await texts.names({ from: 0, to: 500 }), names)
    assert.equal(await texts.text('last'), '499')
  })
}

function snapshotConformance(check: Check): void {
  check('a snapshot keeps its state until it is released', async (texts) => {
    await texts.fill('a', 'b', 'c')
    const wanted = { keys: ['a', 'b', 'new'], ranges: [{ from: 'a', to: 'z' }] }
    const before = { keys: ['a', 'b', undefined], ranges: [['a=a', 'b=b', 'c=c']] }
    const first = await texts.engine.snapshot()
    await texts.write(texts.put('a', 'changed'), texts.delete('b'), texts.put('new', 'new'))
    const second = await texts.engine.snapshot()
    await texts.write(texts.put('a', 'changed again'), texts.delete('c'))
    const between = {
      keys: ['changed', undefined, 'new'],
      ranges: [['a=changed', 'c=c', 'new=new']],
    }
    for (let again = 0; again < 3; again += 1) {
      assert.deepEqual(await texts.found(wanted, first), before)
      assert.deepEqual(await texts.found(wanted, second), between)
      await turn()
    }
    first.release()
    await turn()
    assert.deepEqual(await texts.found(wanted, second), between, 'the other one is not released')
    second.release()
    assert.equal(await texts.text('a'), 'changed again')
  })

  check('a snapshot sees every commit acknowledged before it', async (texts) => {
    for (let n = 0; n < 30; n += 1) {
      void texts.found({ keys: ['n'] })
      await texts.write(texts.put('n', String(n)))
      const snapshot = await texts.engine.snapshot()
      assert.deepEqual((await texts.found({ keys: ['n'] }, snapshot)).keys, [String(n)])
      snapshot.release()
    }
  })

  check('a snapshot sees one committed state, whatever is committed meanwhile', async (texts) => {
    await texts.write(...allWith(texts, '-'))
    const state = { isCommitting: true }
    const commits = Array.from({ length: 50 }, (_, n) =>
      texts.engine.commit([{ writes: allWith(texts, String(n)) }]),
    )
    const committed = Promise.all(commits).finally(() => (state.isCommitting = false))
    for (let count = 0; state.isCommitting || count === 0; count += 1) {
      const snapshot = await texts.engine.snapshot()
      const [first] = await textsOfAll(texts, snapshot)
      await turn()
      await turn()
      assert.deepEqual(await textsOfAll(texts, snapshot), [first])
      snapshot.release()
    }
    await committed
  })
}
