import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StorageError } from '../error.ts'
import {
  checkServiceProperties,
  DEFAULT_SERVICE_PROPERTIES,
  setServiceProperties,
  type CorsRule,
  type ServicePropertiesUpdate,
} from './service-properties.ts'

const RULE: CorsRule = {
  allowedOrigins: ['http://a.example', 'https://*.b.example'],
  allowedMethods: ['GET', 'PUT'],
  allowedHeaders: ['x-ms-meta-*', 'content-type'],
  exposedHeaders: [],
  maxAgeInSeconds: 0,
}
const cors = (rule: Partial<CorsRule>): ServicePropertiesUpdate => ({
  cors: [{ ...RULE, ...rule }],
})
const OFF = { enabled: false }
const METRICS = { version: '1.0', enabled: true, includeApis: false, retentionPolicy: OFF }
const LOGGING = { version: '1.0', delete: true, read: false, write: true, retentionPolicy: OFF }

const OK = 'ok'
const DOCUMENT = 'InvalidXmlDocument'
const NODE = 'InvalidXmlNodeValue'

const RULES: readonly (readonly [string, ServicePropertiesUpdate, string])[] = [
  ['the defaults', DEFAULT_SERVICE_PROPERTIES, OK],
  ['retention of 1 day', { deleteRetentionPolicy: { enabled: true, days: 1 } }, OK],
  ['retention of 365 days', { deleteRetentionPolicy: { enabled: true, days: 365 } }, OK],
  ['retention of 0 days', { deleteRetentionPolicy: { enabled: true, days: 0 } }, DOCUMENT],
  ['retention of 366 days', { shareDeleteRetentionPolicy: { enabled: true, days: 366 } }, DOCUMENT],
  ['retention without days', { deleteRetentionPolicy: { enabled: true } }, DOCUMENT],
  ['no retention', { deleteRetentionPolicy: OFF }, OK],
  ['logging', { logging: LOGGING }, OK],
  ['logging of version 9', { logging: { ...LOGGING, version: '9' } }, DOCUMENT],
  ['metrics', { hourMetrics: METRICS }, OK],
  [
    'enabled metrics without IncludeAPIs',
    { minuteMetrics: { version: '1.0', enabled: true, retentionPolicy: OFF } },
    DOCUMENT,
  ],
  ['a version', { defaultServiceVersion: '2021-12-02' }, OK],
  ['an invalid version', { defaultServiceVersion: 'latest' }, NODE],
  ['a website', { staticWebsite: { enabled: true, indexDocument: 'index.html' } }, OK],
  ['no website', { staticWebsite: { enabled: false } }, OK],
  [
    'an index of a disabled website',
    { staticWebsite: { enabled: false, indexDocument: 'a' } },
    DOCUMENT,
  ],
  ['an index with a path', { staticWebsite: { enabled: true, indexDocument: 'a/b' } }, NODE],
  [
    'both kinds of index',
    { staticWebsite: { enabled: true, indexDocument: 'a', defaultIndexDocumentPath: 'b' } },
    DOCUMENT,
  ],
  ['no CORS', { cors: [] }, OK],
  ['CORS', cors({}), OK],
  ['five rules', { cors: Array.from({ length: 5 }, () => RULE) }, OK],
  ['six rules', { cors: Array.from({ length: 6 }, () => RULE) }, DOCUMENT],
  ['no origin', cors({ allowedOrigins: [] }), DOCUMENT],
  ['no method', cors({ allowedMethods: [] }), DOCUMENT],
  ['an invalid method', cors({ allowedMethods: ['TRACE'] }), NODE],
  ['a negative age', cors({ maxAgeInSeconds: -1 }), DOCUMENT],
  ['two prefixes', cors({ exposedHeaders: ['a*', 'b*'] }), OK],
  ['three prefixes', cors({ exposedHeaders: ['a*', 'b*', 'c*'] }), NODE],
  ['65 headers', cors({ allowedHeaders: Array(65).fill('a') }), NODE],
  ['a header of 257 characters', cors({ allowedHeaders: ['a'.repeat(257)] }), NODE],
  ['a header with a line break', cors({ exposedHeaders: ['a\r\nb'] }), NODE],
  ['rules over 2 KiB', cors({ allowedHeaders: Array(10).fill('a'.repeat(250)) }), DOCUMENT],
]

for (const [title, update, expected] of RULES) {
  test(`service properties: ${title} → ${expected}`, () => {
    let outcome = OK
    try {
      checkServiceProperties(update)
    } catch (error) {
      assert(error instanceof StorageError)
      outcome = error.code
    }
    assert.equal(outcome, expected)
  })
}

test('Set replaces the named roots and keeps the others', () => {
  const first = setServiceProperties(DEFAULT_SERVICE_PROPERTIES, { cors: [RULE] })
  const second = setServiceProperties(first, { hourMetrics: METRICS })
  assert.deepEqual(second.cors, [RULE])
  assert.deepEqual(second.hourMetrics, METRICS)
  assert.deepEqual(setServiceProperties(second, { cors: [] }).cors, [])
})
