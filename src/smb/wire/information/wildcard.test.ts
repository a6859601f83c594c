import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WireError } from '../error.ts'
import { compilePattern } from './wildcard.ts'

const upper = (text: string) => text.toUpperCase()

/** [MS-FSA] 2.1.4.4: patterns, each with names that match and names that do not. */
const TABLE: readonly [pattern: string, yes: readonly string[], no: readonly string[]][] = [
  ['*', ['a', 'a.b', '.', '..'], []],
  ['abc', ['abc', 'ABC', 'aBc'], ['ab', 'abcd', 'xabc']],
  ['*.txt', ['a.txt', '.txt', 'a.b.TXT'], ['txt', 'a.txt2', 'a.tx']],
  ['a*', ['a', 'ab', 'a.b'], ['b', 'ba']],
  ['*a*b*', ['ab', 'xaxbx', 'aab'], ['ba', 'a', 'b']],
  ['?', ['a', '.'], ['ab']],
  ['a?c', ['abc', 'a.c'], ['ac', 'abbc']],
  ['???', ['abc'], ['ab', 'abcd']],
  ['*.*', ['a.b', '.', 'a.'], ['a', 'ab']],
  ['**a**', ['a', 'xax'], ['x']],
  // DOS_QM: one character, or none before a dot or at the end.
  ['a>', ['a', 'ab'], ['abc', 'b']],
  ['>>>', ['a', 'ab', 'abc'], ['abcd', 'a.b']],
  ['>>.txt', ['a.txt', 'ab.txt', '.txt'], ['abc.txt']],
  ['a>>.b', ['a.b', 'ax.b', 'axy.b'], ['axyz.b']],
  // DOS_STAR: up to and including the last dot.
  ['<', ['a', 'abc'], ['a.b', 'a.b.c']],
  ['<.txt', ['a.txt', 'a.b.txt'], ['a.b', 'txt']],
  ['<txt', ['a.txt', 'a.b.txt', 'txt'], ['a.txt.b']],
  ['a<b', ['a.b', 'ax.b', 'a.x.b', 'axb'], ['a.b.c']],
  // DOS_DOT: a dot, or the end.
  ['a"', ['a', 'a.'], ['ab', 'a.b']],
  ['a"b', ['a.b'], ['a', 'ab', 'axb']],
  ['<"*', ['a', 'a.b', 'a.b.c'], []],
  ['foo"<', ['foo', 'foo.bar'], ['foobar']],
]

for (const [pattern, yes, no] of TABLE) {
  test(`${pattern} matches ${yes.join(', ')}${no.length === 0 ? '' : ` and not ${no.join(', ')}`}`, () => {
    const matches = compilePattern(pattern, upper)
    for (const name of yes) assert.equal(matches(name), true, name)
    for (const name of no) assert.equal(matches(name), false, name)
  })
}

test('the caller chooses the folding', () => {
  assert.equal(compilePattern('A*', (text) => text)('ab'), false)
})

test('a hostile pattern costs at most its length times that of the name', () => {
  const steps = '*a'.repeat(500)
  assert.equal(compilePattern(`${steps}b`, upper)('a'.repeat(255)), false)
  assert.equal(compilePattern(`${'<?'.repeat(120)}*z`, upper)('.'.repeat(255)), false)
})

test('a pattern far longer than any name is refused', () => {
  assert.throws(() => compilePattern('?'.repeat(1025), upper), WireError)
})
