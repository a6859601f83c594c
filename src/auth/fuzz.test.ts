// Whatever a client sends, the outcome is an identity or a StorageError, never any other exception.
import { test } from 'node:test'
import * as fc from 'fast-check'
import { authenticate } from './authenticate.ts'
import { authorize } from './authorize.ts'
import { createBearerValidator } from './token/bearer.ts'
import { outcome, authRequest, AUTH_WORLD } from './example.ts'
import type { AuthRequest } from './request.ts'
import type { Permission } from './permission.ts'

const NAMES =
  'sv ss srt sp st se sip spr ses sr si sig sdd tn spk srk epk erk rscc rsct snapshot versionid skoid sktid skt ske sks skv skdutid sduoid saoid suoid scid srh srq comp'
const VALUES =
  '2015-04-05 2020-12-06 2026-04-06 b bs bv c d f s q t sco bqtf rwl https 2026-01-15 2026-01-16T00:00:00Z 0 1 9999-12-31T23:59:59.9999999-23:59 127.0.0.1 127.0.0.1-x a,b'

const value = fc.oneof(
  fc.constantFrom(...VALUES.split(' ')),
  fc.string({ unit: 'binary', maxLength: 40 }),
)
const query = fc.dictionary(fc.constantFrom(...NAMES.split(' ')), value, { maxKeys: 25 })
const authorization = fc.oneof(
  fc.constant(undefined),
  fc.string({ unit: 'binary' }),
  fc
    .tuple(fc.constantFrom('SharedKey', 'SharedKeyLite', 'Bearer', 'bearer'), fc.string())
    .map(([scheme, rest]) => `${scheme} ${rest}`),
  fc.json().map((json) => `Bearer e30.${Buffer.from(json).toString('base64url')}.`),
)
const headers = fc.dictionary(
  fc.constantFrom('x-ms-date', 'date', 'x-ms-meta-a', 'x-ms-meta-b_', 'content-length', 'range'),
  fc.oneof(fc.string({ unit: 'binary' }), fc.constant('Thu, 15 Jan 2026 12:00:00 GMT')),
)

const permission: Permission = {
  resourceType: 'o',
  accountSas: 'r',
  serviceSas: 'r',
  anonymous: 'blob',
}
const world = { ...AUTH_WORLD, bearer: createBearerValidator({ mode: 'basic' }) }

test('any query and headers give an identity or a StorageError', async () => {
  const request = fc.record({
    service: fc.constantFrom('blob' as const, 'queue' as const, 'table' as const, 'file' as const),
    path: fc.array(fc.string({ unit: 'binary' }), { maxLength: 2 }),
    query: query.map((fields) => new Map(Object.entries(fields))),
    version: fc.constantFrom('', '2014-02-14', '2019-12-12', '2026-04-06'),
    remoteAddress: fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()),
    secure: fc.boolean(),
  })
  const run = async (more: Partial<AuthRequest>, sent: object) => {
    const plain = authRequest('blob', { url: 'http://127.0.0.1/devstoreaccount1' }, more)
    const whole = { ...plain, headers: { ...sent } }
    await outcome(async () => authorize(await authenticate(whole, world), permission, whole, world))
  }
  const property = fc.asyncProperty(request, headers, authorization, (more, sent, text) =>
    run(more, text === undefined ? sent : { ...sent, authorization: text }),
  )
  await fc.assert(property, { numRuns: 2000 })
})
