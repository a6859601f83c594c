import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../../storage/shared/error.ts'
import {
  DEFAULT_SERVICE_PROPERTIES,
  setServiceProperties,
  type ServiceProperties,
  type StorageService,
} from '../../storage/shared/service/service-properties.ts'
import { decodeServiceProperties, encodeServiceProperties } from './service-properties-xml.ts'

const document = (inner: string) => `<StorageServiceProperties>${inner}</StorageServiceProperties>`

const LOGGING =
  '<Logging><Version>1.0</Version><Read>false</Read><Write>true</Write><Delete>true</Delete>' +
  '<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></Logging>'
const METRICS =
  '<Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>' +
  '<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>'
const RULE =
  '<CorsRule><AllowedMethods>GET,PUT</AllowedMethods>' +
  '<AllowedOrigins>http://a.example,http://b.example</AllowedOrigins><AllowedHeaders />' +
  '<ExposedHeaders>x-ms-*</ExposedHeaders><MaxAgeInSeconds>60</MaxAgeInSeconds></CorsRule>'

const FULL: Readonly<Record<StorageService, string>> = {
  blob:
    `${LOGGING}<HourMetrics>${METRICS}</HourMetrics><MinuteMetrics>${METRICS}</MinuteMetrics>` +
    `<Cors>${RULE}${RULE}</Cors>` +
    '<DeleteRetentionPolicy><Enabled>true</Enabled><Days>5</Days>' +
    '<AllowPermanentDelete>true</AllowPermanentDelete></DeleteRetentionPolicy>' +
    '<StaticWebsite><Enabled>true</Enabled><IndexDocument>index.html</IndexDocument>' +
    '<ErrorDocument404Path>404.html</ErrorDocument404Path></StaticWebsite>' +
    '<DefaultServiceVersion>2021-12-02</DefaultServiceVersion>',
  queue: `${LOGGING}<HourMetrics>${METRICS}</HourMetrics><MinuteMetrics>${METRICS}</MinuteMetrics><Cors />`,
  table: `${LOGGING}<HourMetrics>${METRICS}</HourMetrics><MinuteMetrics>${METRICS}</MinuteMetrics><Cors />`,
  file:
    `<HourMetrics>${METRICS}</HourMetrics><MinuteMetrics>${METRICS}</MinuteMetrics><Cors />` +
    '<ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days></ShareDeleteRetentionPolicy>' +
    '<ProtocolSettings><SMB><Multichannel><Enabled>true</Enabled></Multichannel>' +
    '<EncryptionInTransit><Required>false</Required></EncryptionInTransit>' +
    '<Versions>SMB3.0;SMB3.1.1</Versions></SMB>' +
    '<NFS><EncryptionInTransit><Required>true</Required></EncryptionInTransit></NFS></ProtocolSettings>',
}

for (const service of ['blob', 'queue', 'table', 'file'] as const) {
  test(`${service}: the properties that were set are returned, element by element`, () => {
    const update = decodeServiceProperties(service, document(FULL[service]))
    const properties = setServiceProperties(DEFAULT_SERVICE_PROPERTIES, update)
    assert.equal(
      encodeServiceProperties(service, properties),
      `<?xml version="1.0" encoding="utf-8"?>${document(FULL[service])}`,
    )
  })
}

test('the update contains only the elements of the document', () => {
  assert.deepEqual(decodeServiceProperties('blob', document('')), {})
  assert.deepEqual(decodeServiceProperties('blob', document('<Cors/>')), { cors: [] })
})

test('the defaults are encoded', () => {
  assert.match(
    encodeServiceProperties('blob', DEFAULT_SERVICE_PROPERTIES),
    /<Cors \/><DeleteRetentionPolicy><Enabled>false<\/Enabled><AllowPermanentDelete>false<\/AllowPermanentDelete><\/DeleteRetentionPolicy><StaticWebsite><Enabled>false<\/Enabled><\/StaticWebsite>/,
  )
})

const REFUSED: readonly (readonly [string, StorageService, string])[] = [
  ['another root', 'blob', '<Properties/>'],
  ['an unknown element', 'blob', document('<Versioning/>')],
  ['an element of another service', 'queue', document('<StaticWebsite/>')],
  ['logging on files', 'file', document(LOGGING)],
  ['the same element twice', 'blob', document('<Cors/><Cors/>')],
  ['logging without Read', 'blob', document(LOGGING.replace('<Read>false</Read>', ''))],
  ['an invalid boolean', 'blob', document(LOGGING.replace('>false<', '>maybe<'))],
  ['days that are not a number', 'blob', document(LOGGING.replace('>7<', '>week<'))],
  ['a rule without ExposedHeaders', 'blob', document('<Cors><CorsRule/></Cors>')],
  ['an unknown element in Cors', 'blob', document('<Cors><Rule/></Cors>')],
  ['a body that is not XML', 'blob', 'x'],
]

for (const [title, service, body] of REFUSED) {
  test(`${title} → InvalidXmlDocument`, () => {
    assert.throws(() => decodeServiceProperties(service, body), { code: 'InvalidXmlDocument' })
  })
}

test('too many days are refused with the line and position that the service reports', () => {
  const metrics =
    '<MinuteMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>' +
    '<RetentionPolicy><Enabled>true</Enabled><Days>366</Days></RetentionPolicy></MinuteMetrics>'
  const body = `<?xml version='1.0' encoding='utf-8'?>\n${document(metrics)}`
  assert.throws(() => decodeServiceProperties('blob', body), {
    details: {
      LineNumber: '2',
      LinePosition: '176',
      Reason: 'Retention days must be greater than 0 and less than or equal to 365 days.',
    },
  })
})

test('a CORS rule lists prefixes of headers after full names', () => {
  const rule = RULE.replace('x-ms-*', 'x-ms-meta-*,x-a,x-b*,x-c').replace(
    '<AllowedHeaders />',
    '<AllowedHeaders>x-d*,x-e</AllowedHeaders>',
  )
  const update = decodeServiceProperties('blob', document(`<Cors>${rule}</Cors>`))
  const xml = encodeServiceProperties('blob', { ...DEFAULT_SERVICE_PROPERTIES, ...update })
  assert.match(xml, /<AllowedHeaders>x-e,x-d\*</)
  assert.match(xml, /<ExposedHeaders>x-a,x-c,x-ms-meta-\*,x-b\*</)
})

test('a document with parts missing, doubled or wrong never throws anything but a StorageError', () => {
  const parts: readonly string[] = FULL.blob.match(/<[^>]+>|[^<]+/g) ?? []
  fc.assert(
    fc.property(fc.nat(parts.length - 1), fc.constantFrom('', 'x', '<Days>', '1'), (at, other) => {
      const body = document(parts.with(at, other).join(''))
      try {
        setServiceProperties(DEFAULT_SERVICE_PROPERTIES, decodeServiceProperties('blob', body))
      } catch (error) {
        assert(error instanceof StorageError)
      }
    }),
  )
})

test('any text of a static website survives encoding and decoding', () => {
  const text = fc.string({ unit: 'grapheme-ascii', minLength: 1 }).map((s) => `x${s.trim()}`)
  fc.assert(
    fc.property(text, text, (indexDocument, errorDocument404Path) => {
      const staticWebsite = { enabled: true, indexDocument, errorDocument404Path }
      const properties: ServiceProperties = { ...DEFAULT_SERVICE_PROPERTIES, staticWebsite }
      const body = encodeServiceProperties('blob', properties)
      assert.deepEqual(decodeServiceProperties('blob', body).staticWebsite, staticWebsite)
    }),
  )
})
