import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { allowDerived, derived } from './derived.ts'

/** Makes an object with the next number at each call. */
function numbered() {
  let count = 0
  return () => ({ number: (count += 1) })
}

function allowed<T extends object>(owner: T): T {
  allowDerived(owner)
  return owner
}

describe('a derived value', () => {
  test('is made every time for an owner that is not cached', () => {
    const [owner, make] = [{}, numbered()]
    assert.deepEqual([derived(owner, 'k', make).number, derived(owner, 'k', make).number], [1, 2])
    assert.deepEqual(Reflect.ownKeys(owner), [])
  })

  test('is made once for each key of an owner that is cached', () => {
    const [owner, make] = [allowed({}), numbered()]
    const [a, b] = [derived(owner, 'a', make), derived(owner, 'b', make)]
    assert.deepEqual([a.number, b.number], [1, 2])
    assert.equal(derived(owner, 'a', make), a)
    assert.equal(derived(owner, 'b', make), b)
    assert.deepEqual(derived(allowed({}), 'a', make), { number: 3 }, 'each owner has its own')
  })

  test('belongs to a record and its fields alike', () => {
    const [record, fields, make] = [{}, {}, numbered()]
    allowDerived(record, fields)
    assert.equal(derived(record, 'k', make), derived(fields, 'k', make))
  })

  test('stays when its owner is cached again', () => {
    const [owner, make] = [allowed({}), numbered()]
    const value = derived(owner, 'k', make)
    allowDerived(owner)
    assert.equal(derived(owner, 'k', make), value)
  })

  test('may have values derived from itself', () => {
    const [owner, make] = [allowed({}), numbered()]
    const list = derived(owner, 'list', () => ['a', 'b'])
    assert.equal(derived(list, 'k', make), derived(list, 'k', make))
    assert.deepEqual(list, ['a', 'b'])
    for (const plain of ['text', 0, false, null] as const) {
      assert.equal(derived(owner, String(plain), () => plain), plain) // prettier-ignore
    }
  })

  test('may be undefined', () => {
    const owner = allowed({})
    let count = 0
    const make = () => {
      count += 1
      return undefined
    }
    assert.deepEqual([derived(owner, 'k', make), derived(owner, 'k', make)], [undefined, undefined])
    assert.equal(count, 1)
  })

  test('is not kept when making it fails', () => {
    const [owner, make] = [allowed({}), numbered()]
    const fail = () => {
      throw new Error('no')
    }
    assert.throws(() => derived(owner, 'k', fail), /^Error: no$/)
    assert.deepEqual(derived(owner, 'k', make), { number: 1 })
  })

  test('is not visible on its owner', () => {
    const owner = allowed({ a: 1 })
    derived(owner, 'k', numbered())
    assert.deepEqual(Object.keys(owner), ['a'])
    assert.equal(JSON.stringify(owner), '{"a":1}')
    assert.deepEqual(owner, { a: 1 })
    const [copy, make] = [{ ...owner }, numbered()]
    assert.notEqual(derived(copy, 'k', make), derived(copy, 'k', make), 'a copy is not cached')
  })

  test('is correct for any number of keys, though only a few are kept', () => {
    const owner = allowed({})
    let makeCount = 0
    const value = (n: number): number =>
      derived(owner, String(n), () => {
        makeCount += 1
        return n
      })
    for (let n = 0; n < 100; n += 1) {
      assert.equal(value(n), n)
      assert.equal(value(n), n)
    }
    assert.equal(makeCount, 100)
    const before = makeCount
    for (let n = 0; n < 100; n += 1) value(n)
    assert(makeCount - before > 90, `${100 - makeCount + before} were kept`)
  })
})
