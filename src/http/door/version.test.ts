import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../../storage/shared/error.ts'
import { isAtLeast, readRule, serviceVersion } from './version.ts'

const NO_QUERY = new Map<string, string>()

const CHOICES: readonly (readonly [
  string | undefined,
  Readonly<Record<string, string>>,
  string,
])[] = [
  ['2021-12-02', {}, '2021-12-02'],
  ['2021-12-02', { sv: '2020-10-02' }, '2021-12-02'],
  ['2021-12-02', { sv: '2020-10-02', 'api-version': '2019-12-12' }, '2019-12-12'],
  [undefined, { sv: '2020-10-02' }, '2020-10-02'],
  [undefined, {}, '2014-02-14'],
  ['2031-01-01', {}, '2031-01-01'],
]

for (const [header, query, expected] of CHOICES) {
  test(`header ${header}, query ${JSON.stringify(query)} → ${expected}`, () => {
    const headers = header === undefined ? {} : { 'x-ms-version': header }
    assert.equal(serviceVersion(headers, new Map(Object.entries(query)), false), expected)
  })
}

for (const version of [
  'latest',
  '2021-13-01',
  '2021-02-30',
  '2021-1-1',
  ' 2021-12-02',
  '2021-12-02x',
]) {
  test(`x-ms-version: ${version} → InvalidHeaderValue`, () => {
    assert.throws(() => serviceVersion({ 'x-ms-version': version }, NO_QUERY, false), {
      code: 'InvalidHeaderValue',
      status: 400,
      details: { HeaderName: 'x-ms-version', HeaderValue: version },
    })
  })
}

test('strict accepts only versions that the service has had', () => {
  assert.equal(serviceVersion({ 'x-ms-version': '2026-06-06' }, NO_QUERY, true), '2026-06-06')
  assert.throws(() => serviceVersion({ 'x-ms-version': '2031-01-01' }, NO_QUERY, true), {
    code: 'InvalidHeaderValue',
  })
  assert.throws(() => serviceVersion({}, new Map([['sv', '2031-01-01']]), true), {
    code: 'InvalidQueryParameterValue',
  })
})

test('versions compare as dates', () => {
  assert(isAtLeast('2026-04-06', '2013-08-15'))
  assert(!isAtLeast('2012-02-12', '2013-08-15'))
  assert.equal(readRule('2012-02-12'), 'pairs')
  assert.equal(readRule('2013-08-15'), 'any')
})

test('any text is accepted as a version or refused with a StorageError', () => {
  fc.assert(
    fc.property(fc.string(), fc.boolean(), (version, strict) => {
      try {
        serviceVersion({ 'x-ms-version': version }, new Map([['sv', version]]), strict)
      } catch (error) {
        assert(error instanceof StorageError)
      }
    }),
  )
})
