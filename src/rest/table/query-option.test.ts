// The options of a query, and tokens that lead from page to page.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuery } from '../../http/protocol/query.ts'
import {
  checkQueryOptions,
  decodeContinuation,
  decodeFilter,
  decodeSelect,
  decodeTop,
  encodeContinuation,
} from './query-option.ts'

const asked = (query: string) => ({ query: parseQuery(query) })

const OPTIONS = [
  ['$filter=A eq 1&$top=1&$select=A&$format=json', undefined],
  ['timeout=30&NextPartitionKey=x&sv=2020-02-10', undefined],
  ['$orderby=A', 'NotImplemented'],
  ['$skip=1', 'NotImplemented'],
  ['$expand=A', 'NotImplemented'],
  ['$count=true', 'NotImplemented'],
  ['$inlinecount=allpages', 'NotImplemented'],
  ['$nothing=1', 'InvalidInput'],
] as const

for (const [query, code] of OPTIONS) {
  test(`?${query} → ${code ?? 'taken'}`, () => {
    if (code === undefined) checkQueryOptions(asked(query))
    else assert.throws(() => checkQueryOptions(asked(query)), { code })
  })
}

test('$top is 1 to 1,000', () => {
  assert.deepEqual(
    ['', '$top=1', '$top=1000'].map((query) => decodeTop(asked(query))),
    [1000, 1, 1000],
  )
  for (const top of ['0', '1001', '-1', 'x', '1.5', '']) {
    assert.throws(() => decodeTop(asked(`$top=${top}`)), { code: 'InvalidInput' })
  }
})

test('$select', () => {
  assert.equal(decodeSelect(asked('')), undefined)
  assert.equal(decodeSelect(asked('$select=')), undefined)
  assert.equal(decodeSelect(asked('$select=*')), undefined)
  assert.deepEqual(decodeSelect(asked('$select=A,%20B,A')), ['A', 'B'])
  assert.throws(() => decodeSelect(asked('$select=A,,B')), { code: 'InvalidInput' })
  const names = Array.from({ length: 256 }, (_, at) => `A${at}`)
  assert.equal(decodeSelect(asked(`$select=${names.slice(1).join(',')}`))?.length, 255)
  assert.throws(() => decodeSelect(asked(`$select=${names.join(',')}`)), { code: 'InvalidInput' })
})

test('$filter', () => {
  assert.deepEqual(decodeFilter(asked(''), 'entity'), {})
  assert.deepEqual(decodeFilter(asked('$filter=A%20eq%201'), 'entity'), {
    filter: { property: 'A', operator: 'eq', value: { type: 'Edm.Int32', value: 1 } },
  })
  assert.throws(() => decodeFilter(asked('$filter=A%20eq'), 'entity'), { code: 'InvalidInput' })
})

test('a continuation token leads back to its key', () => {
  for (const key of ['', 'a', 'Ä😀', '\ud800', 'x'.repeat(512), '\uffff'.repeat(512)]) {
    const token = encodeContinuation(key)
    assert.match(token, /^1!\d+![\w-]*$/)
    assert.equal(decodeContinuation(asked(`NextRowKey=${token}`), 'NextRowKey'), key)
  }
  assert.equal(decodeContinuation(asked(''), 'NextRowKey'), undefined)
  assert.equal(decodeContinuation(asked('NextRowKey='), 'NextRowKey'), undefined)
})

test('a token that is none of ours', () => {
  for (const token of ['x', '1!4!abc', '1!2!ab', '2!4!YQBi', `1!3!YQ`, '1!99999!YQA']) {
    const request = asked(`NextRowKey=${token}`)
    assert.throws(() => decodeContinuation(request, 'NextRowKey'), { code: 'InvalidInput' })
  }
})
