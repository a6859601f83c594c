// Every reason to refuse a SAS. The tests sign the fields as they are, so that each row is wrong in only one way.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountKey } from '../../storage/shared/account.ts'
import { accountSasStringToSign } from './account-sas.ts'
import { authenticate } from '../authenticate.ts'
import { ACCOUNT, KEYS, AUTH_NOW_MS, outcome, authRequest, AUTH_WORLD } from '../example.ts'
import type { AuthRequest } from '../request.ts'
import { serviceSasStringToSign } from './service-sas.ts'
import { sign } from '../signature.ts'
import { getUserDelegationKey, userDelegationSecret } from './user-delegation-key.ts'
import { userDelegationSasStringToSign } from './user-delegation-sas.ts'
import type { StoredPolicy } from '../world.ts'

type Fields = Readonly<Record<string, string>>

const KEY = accountKey(KEYS[0] ?? '')
const FAILED = '403 AuthenticationFailed'

const accountFields: Fields = {
  sv: '2020-12-06',
  ss: 'b',
  srt: 'sco',
  sp: 'rwl',
  se: '2026-01-15T13:00:00Z',
}
const serviceFields: Fields = { sv: '2020-12-06', sr: 'c', sp: 'rwl', se: '2026-01-15T13:00:00Z' }

function requestWith(fields: Fields, more: Partial<AuthRequest> = {}): AuthRequest {
  const url = `https://${ACCOUNT}.blob.core.windows.net/c/b`
  return authRequest('blob', { url }, { query: new Map(Object.entries(fields)), ...more })
}

/** Signs the request if its fields can be read; otherwise it is refused before the signature matters. */
function signed(request: AuthRequest, stringToSign: (request: AuthRequest) => string): AuthRequest {
  let signature = 'c2ln'
  try {
    signature = sign(KEY.secret, stringToSign(request))
  } catch {
    // The row is about that field.
  }
  return { ...request, query: new Map([['sig', signature], ...request.query]) }
}

const accountSas = (fields: Fields, more: Partial<AuthRequest> = {}) =>
  signed(requestWith({ ...accountFields, ...fields }, more), accountSasStringToSign)
const serviceSas = (fields: Fields, more: Partial<AuthRequest> = {}) =>
  signed(requestWith({ ...serviceFields, ...fields }, more), serviceSasStringToSign)

const NOW = 'Thu, 15 Jan 2026 12:00:00 GMT'
const malformed = (name: string) => `${FAILED} SAS field '${name}' is not well formed.`
const missing = (name: string) => `${FAILED} ${name} is mandatory. Cannot be empty`
const source = (ip: string) => ({ remoteAddress: ip })

// prettier-ignore
const SHARED_ROWS: [fields: Fields, more: Partial<AuthRequest>, expected: string][] = [
  [{}, {}, 'ok'],
  // Times
  [{ st: '2026-01-15T12:00:00Z' }, {}, 'ok'],
  [{ st: '2026-01-15', se: '2026-01-16' }, {}, 'ok'],
  [{ st: '2026-01-15T11:59Z', se: '2026-01-15T12:00:00.0010000Z' }, {}, 'ok'],
  [{ se: '2026-01-15T12:00:00Z' }, {}, `${FAILED} Signed expiry time [${NOW}] has to be after signed start time [${NOW}]`],
  [{ st: '2026-01-15T14:00:00Z' }, {}, `${FAILED} Signed expiry time [Thu, 15 Jan 2026 13:00:00 GMT] has to be after signed start time [Thu, 15 Jan 2026 14:00:00 GMT]`],
  [{ st: '2026-01-15T12:30:00Z' }, {}, `${FAILED} Signature not valid in the specified time frame: Start [Thu, 15 Jan 2026 12:30:00 GMT] - Expiry [Thu, 15 Jan 2026 13:00:00 GMT] - Current [${NOW}]`],
  [{ st: '2026-01-14', se: '2026-01-15' }, {}, `${FAILED} Signature not valid in the specified time frame: Start [Wed, 14 Jan 2026 00:00:00 GMT] - Expiry [Thu, 15 Jan 2026 00:00:00 GMT] - Current [${NOW}]`],
  [{ st: 'yesterday' }, {}, malformed('st')],
  [{ se: '2026-02-30' }, {}, malformed('se')],
  [{ se: '' }, {}, missing('se')],
  // Permissions and version
  [{ sp: '' }, {}, missing('sp')],
  [{ sp: 'r,w' }, {}, malformed('sp')],
  [{ sv: '' }, {}, missing('sv')],
  [{ sv: 'latest' }, {}, malformed('sv')],
  [{ sv: '2011-08-18' }, {}, malformed('sv')],
  // Address
  [{ sip: '198.51.100.1' }, source('198.51.100.1'), 'ok'],
  [{ sip: '198.51.100.1' }, source('::ffff:198.51.100.1'), 'ok'],
  [{ sip: '127.0.0.1' }, source('::1'), 'ok'],
  [{ sip: '198.51.100.1-198.51.100.9' }, source('198.51.100.9'), 'ok'],
  [{ sip: '198.51.100.1-198.51.100.9' }, source('198.51.100.10'), '403 AuthorizationSourceIPMismatch'],
  [{ sip: '198.51.100.1' }, source('198.51.100.2'), '403 AuthorizationSourceIPMismatch'],
  [{ sip: '198.51.100.1' }, source('2001:db8::1'), '403 AuthorizationSourceIPMismatch'],
  [{ sip: '198.51.100' }, {}, malformed('sip')],
  [{ sip: '198.51.100.1-198.51.100.2-198.51.100.3' }, {}, malformed('sip')],
  // Protocol
  [{ spr: 'https' }, { secure: true }, 'ok'],
  [{ spr: 'https,http' }, { secure: false }, 'ok'],
  [{ spr: 'https' }, { secure: false }, '403 AuthorizationProtocolMismatch'],
  [{ spr: 'http' }, {}, malformed('spr')],
]

test('account and service SAS check times, permissions, version, address and protocol', async () => {
  for (const [fields, more, expected] of SHARED_ROWS) {
    for (const request of [accountSas(fields, more), serviceSas(fields, more)]) {
      const result = await outcome(() => authenticate(request, AUTH_WORLD))
      assert.equal(result, expected, JSON.stringify(fields))
    }
  }
})

test('the error message contains the source IP', async () => {
  const request = serviceSas({ sip: '198.51.100.1' }, source('198.51.100.2'))
  assert.throws(() => authenticate(request, AUTH_WORLD), {
    message:
      'This request is not authorized to perform this operation using this source IP 198.51.100.2.',
  })
})

test('an account SAS needs valid services and resource types', async () => {
  const rows: [fields: Fields, expected: string][] = [
    [{ ss: 'qtf' }, '403 AuthorizationServiceMismatch'],
    [{ ss: '' }, missing('ss')],
    [{ ss: 'x' }, malformed('ss')],
    [{ srt: '' }, missing('srt')],
    [{ srt: 'sx' }, malformed('srt')],
  ]
  for (const [fields, expected] of rows) {
    assert.equal(await outcome(() => authenticate(accountSas(fields), AUTH_WORLD)), expected)
  }
})

test('a service SAS needs a valid resource and a signature', async () => {
  const rows: [fields: Fields, expected: string][] = [
    [{ sr: '' }, missing('sr')],
    [{ sr: 'q' }, malformed('sr')],
    [{ sr: 'd' }, missing('sdd')],
    [{ sr: 'd', sdd: 'x' }, malformed('sdd')],
    [{ sr: 'd', sdd: '2' }, malformed('sdd')],
    [{ sr: 'd', sdd: '1' }, 'ok'],
    [{ sig: '' }, missing('sig')],
    [{ sv: '2012-02-12' }, 'ok'],
    [{ sv: '2013-08-15' }, 'ok'],
  ]
  for (const [fields, expected] of rows) {
    const result = await outcome(() => authenticate(serviceSas(fields), AUTH_WORLD))
    assert.equal(result, expected, JSON.stringify(fields))
  }
})

test('fields that a version does not sign are ignored', async () => {
  const sas = serviceSas({ sv: '2012-02-12', rsct: 'text/html', ses: 'scope1' })
  const identity = await authenticate(sas, AUTH_WORLD)
  assert.equal(identity.kind, 'serviceSas')
  assert.deepEqual(identity.responseHeaders, {})
  assert.equal(identity.encryptionScope, undefined)
})

test('a stored access policy adds the fields that the SAS leaves out, and only those', async () => {
  const later = AUTH_NOW_MS + 3_600_000
  const none = { sp: '', se: '' }
  const both = `${FAILED} Access policy fields can be associated with signature or SAS identifier but not both`
  const rows: [fields: Fields, policy: StoredPolicy | undefined, expected: string][] = [
    [none, { permissions: 'r', expiryMs: later }, 'ok'],
    [{ sp: '' }, { permissions: 'r' }, 'ok'],
    [{ se: '' }, { startMs: AUTH_NOW_MS, expiryMs: later }, 'ok'],
    [none, undefined, `${FAILED} SAS identifier cannot be found for specified signed identifier`],
    [{ se: '' }, { permissions: 'r', expiryMs: later }, both],
    [{ sp: '' }, { permissions: 'r', expiryMs: later }, both],
    [{ ...none, st: '2026-01-15' }, { permissions: 'r', startMs: 0, expiryMs: later }, both],
    [none, { permissions: 'r' }, missing('se')],
    [none, { expiryMs: later }, missing('sp')],
    [
      none,
      { permissions: 'r', startMs: 0, expiryMs: AUTH_NOW_MS },
      `${FAILED} Signature not valid in the specified time frame: Start [Thu, 01 Jan 1970 00:00:00 GMT] - Expiry [${NOW}] - Current [${NOW}]`,
    ],
  ]
  for (const [fields, policy, expected] of rows) {
    const world = {
      ...AUTH_WORLD,
      accessPolicy: async (_: AuthRequest, id: string) => (id === 'p1' ? policy : undefined),
    }
    const request = serviceSas({ ...fields, si: 'p1' })
    assert.equal(await outcome(() => authenticate(request, world)), expected)
  }
})

const USER = { oid: 'o', tid: 't' }

function delegationSas(fields: Fields, key: { service?: string; days?: number } = {}): AuthRequest {
  const { service = 'b', days = 1 } = key
  const expiryMs = AUTH_NOW_MS + days * 86_400_000
  const keyFields = getUserDelegationKey(
    { name: ACCOUNT, keys: [KEY] },
    { claims: USER, startMs: AUTH_NOW_MS, expiryMs, service, version: '2020-12-06' },
    AUTH_NOW_MS,
  )
  const request = requestWith({
    ...serviceFields,
    skoid: keyFields.signedOid,
    sktid: keyFields.signedTid,
    skt: keyFields.signedStart,
    ske: keyFields.signedExpiry,
    sks: keyFields.signedService,
    skv: keyFields.signedVersion,
    ...fields,
  })
  const secret = userDelegationSecret(KEY, keyFields)
  const signature = sign(secret, userDelegationSasStringToSign(request))
  return { ...request, query: new Map([['sig', signature], ...request.query]) }
}

test('a user delegation SAS must match the fields of its key', async () => {
  const mismatch = `${FAILED} Signature did not match. String to sign used was rwl`
  const future = `${FAILED} Signature not valid in the specified time frame: Start [${NOW}] - Expiry [Fri, 16 Jan 2026 12:00:00 GMT]`
  const rows: [sas: AuthRequest, expected: string, nowMs?: number][] = [
    [delegationSas({}), 'ok'],
    [delegationSas({ skt: '2026-01-15T12:00:00.000Z' }), 'ok'],
    [delegationSas({ skt: '2026-01-15T11:00:00Z' }), mismatch],
    [delegationSas({ skoid: 'other' }), mismatch],
    [delegationSas({ ske: '' }), missing('ske')],
    [delegationSas({ sks: '' }), missing('sks')],
    [delegationSas({ si: 'p1' }), malformed('si')],
    [delegationSas({}, { service: 'q' }), '403 AuthorizationServiceMismatch'],
    [
      delegationSas({ se: '2026-02-01' }),
      `${future} - Current [Sat, 17 Jan 2026 12:00:00 GMT]`,
      AUTH_NOW_MS + 2 * 86_400_000,
    ],
  ]
  for (const [request, expected, nowMs = AUTH_NOW_MS] of rows) {
    assert.equal(await outcome(() => authenticate(request, { ...AUTH_WORLD, nowMs })), expected)
  }
})

test('a user delegation key is valid for at most seven days', async () => {
  const day = 86_400_000
  const rows: [startMs: number | undefined, expiryMs: number, expected: string][] = [
    [undefined, AUTH_NOW_MS + 7 * day, 'ok'],
    [AUTH_NOW_MS - day, AUTH_NOW_MS + 6 * day, 'ok'],
    [
      undefined,
      AUTH_NOW_MS + 8 * day,
      `${FAILED} The expiry of a user delegation key must be within 7 days of now.`,
    ],
    [
      undefined,
      AUTH_NOW_MS,
      `${FAILED} The expiry of a user delegation key must be after its start and now.`,
    ],
    [
      AUTH_NOW_MS + 2 * day,
      AUTH_NOW_MS + day,
      `${FAILED} The expiry of a user delegation key must be after its start and now.`,
    ],
  ]
  const account = { name: ACCOUNT, keys: [KEY] }
  for (const [startMs, expiryMs, expected] of rows) {
    const request = { claims: USER, startMs, expiryMs, service: 'b', version: '2020-12-06' }
    assert.equal(await outcome(() => getUserDelegationKey(account, request, AUTH_NOW_MS)), expected)
  }
  const nobody = { claims: {}, expiryMs: AUTH_NOW_MS + day, service: 'b', version: '2020-12-06' }
  const result = await outcome(() => getUserDelegationKey(account, nobody, AUTH_NOW_MS))
  assert.equal(result, `${FAILED} The token has no claim 'oid'.`)
})

test('no refusal reveals a key or the correct signature', () => {
  const { query } = serviceSas({})
  const right = query.get('sig') ?? ''
  const wrong = requestWith({ ...Object.fromEntries(query), sig: 'c2ln' })
  assert.throws(
    () => authenticate(wrong, AUTH_WORLD),
    (error) => {
      const text = JSON.stringify(error) + String(error)
      return !text.includes(right) && KEYS.every((key) => !text.includes(key))
    },
  )
})
