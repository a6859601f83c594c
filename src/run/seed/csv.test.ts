import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCsv } from './csv.ts'

const TEXTS: readonly (readonly [string, readonly Record<string, string>[]])[] = [
  ['', []],
  ['a,b\n', []],
  ['a,b\n1,2', [{ a: '1', b: '2' }]],
  ['\uFEFFa,b\r\n1,2\r\n', [{ a: '1', b: '2' }]],
  ['a,b\n1,\n,2\n', [{ a: '1' }, { b: '2' }]],
  ['a,b\n1,', [{ a: '1' }]],
  ['a\n"x, ""y""\nz"\n', [{ a: 'x, "y"\nz' }]],
]
for (const [text, rows] of TEXTS) {
  test(JSON.stringify(text), () => assert.deepEqual(parseCsv(text, 'file'), rows))
}

test('what is not CSV is refused with its row', () => {
  assert.throws(() => parseCsv('a\n"x', 'file'), /file: row 2 is not valid CSV/)
  assert.throws(() => parseCsv('a\nx"y\n', 'file'), /file: row 2 is not valid CSV/)
  assert.throws(() => parseCsv('a\n1,2\n', 'file'), /file: row 2 has more fields/)
})
