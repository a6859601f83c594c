// The options of a query, and continuation tokens.
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

const withQuery = (query: string) => ({ query: parseQuery(query) })

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
  test(`?${query} → ${code ?? 'accepted'}`, () => {
    if (code === undefined) checkQueryOptions(withQuery(query))
    else assert.throws(() => checkQueryOptions(withQuery(query)), { code })
  })
}

test('$top is 1 to 1,000', () => {
  assert.deepEqual(
    ['', '$top=1', '$top=1000'].map((query) => decodeTop(withQuery(query))),
    [1000, 1, 1000],
  )
  for (const top of ['0', '1001', '-1', 'x', '1.5', '']) {
    assert.throws(() => decodeTop(withQuery(`$top=${top}`)), { code: 'InvalidInput' })
  }
})

test('$select is a list of up to 255 names', () => {
  assert.equal(decodeSelect(withQuery('')), undefined)
  assert.equal(decodeSelect(withQuery('$select=')), undefined)
  assert.equal(decodeSelect(withQuery('$select=*')), undefined)
  assert.deepEqual(decodeSelect(withQuery('$select=A,%20B,A')), ['A', 'B'])
  assert.throws(() => decodeSelect(withQuery('$select=A,,B')), { code: 'InvalidInput' })
  const names = Array.from({ length: 256 }, (_, at) => `A${at}`)
  assert.equal(decodeSelect(withQuery(`$select=${names.slice(1).join(',')}`))?.length, 255)
  assert.throws(() => decodeSelect(withQuery(`$select=${names.join(',')}`)), {
    code: 'InvalidInput',
  })
})

test('$filter is parsed', () => {
  assert.deepEqual(decodeFilter(withQuery(''), 'entity'), {})
  assert.deepEqual(decodeFilter(withQuery('$filter=A%20eq%201'), 'entity'), {
    filter: { property: 'A', operator: 'eq', value: { type: 'Edm.Int32', value: 1 } },
  })
  assert.throws(() => decodeFilter(withQuery('$filter=A%20eq'), 'entity'), { code: 'InvalidInput' })
})

test('a continuation token decodes to its key', () => {
  for (const key of ['', 'a', 'Ä😀', '\ud800', 'x'.repeat(512), '\uffff'.repeat(512)]) {
    const token = encodeContinuation(key)
    assert.match(token, /^1!\d+![\w-]*$/)
    assert.equal(decodeContinuation(withQuery(`NextRowKey=${token}`), 'NextRowKey'), key)
  }
  assert.equal(decodeContinuation(withQuery(''), 'NextRowKey'), undefined)
  assert.equal(decodeContinuation(withQuery('NextRowKey='), 'NextRowKey'), undefined)
})

test('an unknown continuation token is refused', () => {
  for (const token of ['x', '1!4!abc', '1!2!ab', '2!4!YQBi', `1!3!YQ`, '1!99999!YQA']) {
    const request = withQuery(`NextRowKey=${token}`)
    assert.throws(() => decodeContinuation(request, 'NextRowKey'), { code: 'InvalidInput' })
  }
})
