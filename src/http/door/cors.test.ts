import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../../storage/shared/error.ts'
import type { CorsRule } from '../../storage/shared/service/service-properties.ts'
import { corsHeaders, preflightAnswer } from './cors.ts'

const rule = (over: Partial<CorsRule>): CorsRule => ({
  allowedOrigins: ['http://a.example'],
  allowedMethods: ['GET', 'PUT'],
  allowedHeaders: ['x-ms-meta-*', 'Content-Type'],
  exposedHeaders: ['x-ms-meta-a'],
  maxAgeInSeconds: 60,
  ...over,
})
const EXACT = rule({})
const ALL = rule({ allowedOrigins: ['*'] })
const A = 'http://a.example'
const PUT = 'PUT'

const preflight = (rules: readonly CorsRule[], origin: string, method: string, headers?: string) =>
  preflightAnswer(rules, {
    origin,
    'access-control-request-method': method,
    ...(headers === undefined ? {} : { 'access-control-request-headers': headers }),
  })

const ALLOW = 'Access-Control-Allow'

test('a preflight that a rule allows gets the rule’s headers', () => {
  const wanted = 'X-Ms-Meta-B, content-type'
  const { status, headers } = preflight([EXACT], A, PUT, wanted)
  assert.equal(status, 200)
  assert.deepEqual(pairs(headers), [
    [`${ALLOW}-Origin`, A],
    [`${ALLOW}-Methods`, PUT],
    [`${ALLOW}-Headers`, wanted],
    ['Access-Control-Max-Age', '60'],
    [`${ALLOW}-Credentials`, 'true'],
  ])
  assert.deepEqual(pairs(preflight([ALL], A, PUT).headers), [
    [`${ALLOW}-Origin`, '*'],
    [`${ALLOW}-Methods`, PUT],
    ['Access-Control-Max-Age', '60'],
  ])
})

const pairs = (flat: readonly string[]) =>
  flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]]] : []))

const SUBDOMAIN = rule({ allowedOrigins: ['https://*.b.example'] })

const PREFLIGHTS: readonly (readonly [string, readonly CorsRule[], string, string, string?])[] = [
  ['no rules', [], A, PUT],
  ['another origin', [EXACT], 'http://b.example', PUT],
  ['the origin in another case', [EXACT], 'http://A.example', PUT],
  ['another method', [EXACT], A, 'DELETE'],
  ['another header', [EXACT], A, PUT, 'x-ms-blob-type'],
  ['one header of several', [EXACT], A, PUT, 'content-type,x-ms-blob-type'],
  ['the domain itself for its subdomains', [SUBDOMAIN], 'https://.b.example', PUT],
  ['another scheme', [SUBDOMAIN], 'http://a.b.example', PUT],
  // The first rule with origin and method is final.
  [
    'a later rule with that header',
    [rule({ allowedHeaders: [] }), rule({ allowedHeaders: ['*'] })],
    A,
    PUT,
    'x',
  ],
]

for (const [title, rules, origin, method, headers] of PREFLIGHTS) {
  test(`preflight: ${title} → 403`, () => {
    assert.throws(() => preflight(rules, origin, method, headers), {
      code: 'CorsPreflightFailure',
      status: 403,
    })
  })
}

test('a rule may allow subdomains, and * allows every header', () => {
  assert.equal(preflight([SUBDOMAIN], 'https://x.y.b.example', PUT).status, 200)
  assert.equal(preflight([rule({ allowedHeaders: ['*'] })], A, PUT, 'anything').status, 200)
  assert.equal(preflight([SUBDOMAIN, EXACT], A, PUT).status, 200)
})

test('a preflight needs Origin and Access-Control-Request-Method', () => {
  for (const headers of [{ origin: A }, { 'access-control-request-method': PUT }]) {
    assert.throws(() => preflightAnswer([ALL], headers), {
      code: 'InvalidHeaderValue',
      status: 400,
    })
  }
})

const STAR = ['Access-Control-Allow-Origin', '*']
const ONE = ['Access-Control-Allow-Origin', A]
const EXPOSE = ['Access-Control-Expose-Headers', 'x-ms-meta-a']
const CREDENTIALS = ['Access-Control-Allow-Credentials', 'true']
const VARY = ['Vary', 'Origin']

// "CORS support for Azure Storage", response headers of the actual request.
const ACTUAL: readonly (readonly [string, string | undefined, readonly CorsRule[], string[]])[] = [
  ['GET', A, [], []],
  ['GET', A, [ALL], [...STAR, ...EXPOSE]],
  ['GET', A, [EXACT], [...ONE, ...EXPOSE, ...CREDENTIALS, ...VARY]],
  ['GET', 'http://b.example', [EXACT], VARY],
  ['GET', undefined, [ALL], [...STAR, ...EXPOSE]],
  ['GET', undefined, [EXACT], VARY],
  ['GET', undefined, [EXACT, ALL], [...STAR, ...EXPOSE]],
  ['GET', A, [EXACT, ALL], [...ONE, ...EXPOSE, ...CREDENTIALS, ...VARY]],
  ['HEAD', A, [EXACT], VARY],
  ['PUT', A, [ALL], [...STAR, ...EXPOSE]],
  ['PUT', A, [EXACT], [...ONE, ...EXPOSE, ...CREDENTIALS]],
  ['PUT', 'http://b.example', [EXACT], []],
  ['PUT', undefined, [ALL], []],
  ['DELETE', A, [ALL], []],
]

for (const [method, origin, rules, expected] of ACTUAL) {
  const origins = rules.map((each) => each.allowedOrigins.join()).join(' then ')
  test(`${method} from ${origin ?? 'nowhere'}, rules for ${origins || 'none'}`, () => {
    assert.deepEqual(corsHeaders(rules, method, origin), expected)
  })
}

test('exposed prefixes are expanded to the headers of the answer', () => {
  const all = rule({ exposedHeaders: ['x-ms-meta-*', 'ETag'] })
  const answer = ['x-ms-meta-Abc', '1', 'Content-Type', 'x', 'x-ms-meta-d', '2']
  const exposed = corsHeaders([all], 'GET', A, answer)[3]
  assert.equal(exposed, 'x-ms-meta-Abc,x-ms-meta-d,ETag')
})

test('any request is answered or refused with a StorageError', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom(A, PUT, '*', ',', 'x-ms-meta-b'))
  fc.assert(
    fc.property(text, text, text, (origin, method, headers) => {
      corsHeaders([EXACT, SUBDOMAIN, ALL], method, origin)
      try {
        preflight([EXACT, SUBDOMAIN, ALL], origin, method, headers)
      } catch (error) {
        assert(error instanceof StorageError)
      }
    }),
  )
})
