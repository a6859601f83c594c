import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  checkContainerConditions,
  checkNoConditions,
  checkReadConditions,
  checkSourceConditions,
  checkWriteConditions,
  type Conditions,
} from './condition.ts'
import { StorageError } from './error.ts'

// The object was last modified a fraction of a second after 12:00:00.
const NOON_MS = Date.UTC(2026, 5, 1, 12)
const CURRENT = { stamp: 1, modifiedMs: NOON_MS + 400 }
const ETAG = '"0x8D0000000000001"'
const OTHER = '"0x8D0000000000002"'

const SAME: Conditions = { ifMatch: [ETAG] }
const STALE: Conditions = { ifMatch: [OTHER] }
const ANY: Conditions = { ifMatch: '*' }
const NONE_SAME: Conditions = { ifNoneMatch: [ETAG] }
const NONE_OTHER: Conditions = { ifNoneMatch: [OTHER] }
const NONE_ANY: Conditions = { ifNoneMatch: '*' }
const SINCE_NOON: Conditions = { ifModifiedSinceMs: NOON_MS }
const SINCE_BEFORE: Conditions = { ifModifiedSinceMs: NOON_MS - 1000 }
const UNMODIFIED_NOON: Conditions = { ifUnmodifiedSinceMs: NOON_MS }
const UNMODIFIED_BEFORE: Conditions = { ifUnmodifiedSinceMs: NOON_MS - 1000 }

const OK = 'ok'
const UNMET = '412 ConditionNotMet'
const NOT_MODIFIED = '304 NotModified'
const MULTIPLE = '400 MultipleConditionHeadersNotSupported'
const EXISTS = '409 BlobAlreadyExists'
const UNSUPPORTED = '400 ConditionHeadersNotSupported'

function outcome(check: () => void): string {
  try {
    check()
    return OK
  } catch (error) {
    assert(error instanceof StorageError)
    return `${error.status} ${error.code}`
  }
}

const READS: readonly (readonly [Conditions, string, string])[] = [
  //                                             ≥ 2013-08-15  before
  [{}, OK, OK],
  [SAME, OK, OK],
  [STALE, UNMET, UNMET],
  [ANY, OK, OK],
  [NONE_SAME, NOT_MODIFIED, NOT_MODIFIED],
  [NONE_OTHER, OK, OK],
  [NONE_ANY, '400 UnsatisfiableCondition', '400 UnsatisfiableCondition'],
  [SINCE_NOON, NOT_MODIFIED, NOT_MODIFIED],
  [SINCE_BEFORE, OK, OK],
  [UNMODIFIED_NOON, OK, OK],
  [UNMODIFIED_BEFORE, UNMET, UNMET],
  // If-None-Match or If-Modified-Since is enough; before, only the ETag counted.
  [{ ...NONE_SAME, ...SINCE_BEFORE }, OK, NOT_MODIFIED],
  [{ ...NONE_OTHER, ...SINCE_NOON }, OK, OK],
  [{ ...NONE_SAME, ...SINCE_NOON }, NOT_MODIFIED, NOT_MODIFIED],
  // If-Match and If-Unmodified-Since must both hold; before, only the ETag counted.
  [{ ...SAME, ...UNMODIFIED_BEFORE }, UNMET, OK],
  [{ ...SAME, ...UNMODIFIED_NOON }, OK, OK],
  // 412 wins over 304.
  [{ ...STALE, ...NONE_SAME }, UNMET, MULTIPLE],
  [{ ...SAME, ...NONE_SAME }, NOT_MODIFIED, MULTIPLE],
  [{ ...SINCE_BEFORE, ...UNMODIFIED_NOON }, OK, MULTIPLE],
  // A list is "any of" for If-Match, "none of" for If-None-Match.
  [{ ifMatch: [OTHER, ETAG] }, OK, MULTIPLE],
  [{ ifNoneMatch: [OTHER, ETAG] }, NOT_MODIFIED, MULTIPLE],
]

for (const [conditions, now, before] of READS) {
  test(`read with ${JSON.stringify(conditions)} → ${now}, before 2013-08-15 ${before}`, () => {
    assert.equal(
      outcome(() => checkReadConditions(conditions, CURRENT)),
      now,
    )
    assert.equal(
      outcome(() => checkReadConditions(conditions, CURRENT, 'pairs')),
      before,
    )
  })
}

test('a 304 carries neither ETag nor Last-Modified', () => {
  assert.throws(() => checkReadConditions(NONE_SAME, CURRENT), { status: 304, details: {} })
})

const WRITES: readonly (readonly [Conditions, string, string, string])[] = [
  //                     create      update existing    create missing
  [{}, OK, OK, OK],
  [SAME, OK, OK, UNMET],
  [STALE, UNMET, UNMET, UNMET],
  [ANY, OK, OK, UNMET],
  [NONE_SAME, UNMET, UNMET, OK],
  [NONE_OTHER, OK, OK, OK],
  [NONE_ANY, EXISTS, UNMET, OK],
  [SINCE_NOON, UNMET, UNMET, OK],
  [SINCE_BEFORE, OK, OK, OK],
  [UNMODIFIED_NOON, OK, OK, OK],
  [UNMODIFIED_BEFORE, UNMET, UNMET, OK],
  // In the two allowed pairs only the ETag counts.
  [{ ...NONE_OTHER, ...SINCE_NOON }, OK, OK, OK],
  [{ ...SAME, ...UNMODIFIED_BEFORE }, OK, OK, UNMET],
  [{ ...SAME, ...NONE_OTHER }, MULTIPLE, MULTIPLE, MULTIPLE],
  [{ ...SAME, ...SINCE_BEFORE }, MULTIPLE, MULTIPLE, MULTIPLE],
  [{ ...NONE_OTHER, ...UNMODIFIED_NOON }, MULTIPLE, MULTIPLE, MULTIPLE],
  [{ ...SINCE_BEFORE, ...UNMODIFIED_NOON }, MULTIPLE, MULTIPLE, MULTIPLE],
  [{ ...NONE_OTHER, ...SINCE_BEFORE, ...SAME }, MULTIPLE, MULTIPLE, MULTIPLE],
  [{ ifMatch: [ETAG, OTHER] }, MULTIPLE, MULTIPLE, MULTIPLE],
]

for (const [conditions, create, update, missing] of WRITES) {
  test(`write with ${JSON.stringify(conditions)} → ${create}, ${update}, missing ${missing}`, () => {
    assert.equal(
      outcome(() => checkWriteConditions(conditions, CURRENT, 'create')),
      create,
    )
    assert.equal(
      outcome(() => checkWriteConditions(conditions, CURRENT, 'update')),
      update,
    )
    assert.equal(
      outcome(() => checkWriteConditions(conditions, undefined, 'create')),
      missing,
    )
  })
}

test('an unmet condition on the source of a copy is 412 SourceConditionNotMet, never 304', () => {
  for (const unmet of [STALE, NONE_SAME, SINCE_NOON, UNMODIFIED_BEFORE]) {
    assert.equal(
      outcome(() => checkSourceConditions(unmet, CURRENT)),
      '412 SourceConditionNotMet',
    )
  }
  for (const met of [{}, SAME, ANY, NONE_OTHER, SINCE_BEFORE, UNMODIFIED_NOON]) {
    assert.equal(
      outcome(() => checkSourceConditions(met, CURRENT)),
      OK,
    )
  }
})

const CONTAINERS: readonly (readonly [Conditions, string, string])[] = [
  //                  Delete, Set ACL, Lease   Set Metadata
  [{}, OK, OK],
  [SINCE_BEFORE, OK, OK],
  [SINCE_NOON, UNMET, UNMET],
  [UNMODIFIED_NOON, OK, UNSUPPORTED],
  [UNMODIFIED_BEFORE, UNMET, UNSUPPORTED],
  [SAME, UNSUPPORTED, UNSUPPORTED],
  [NONE_ANY, UNSUPPORTED, UNSUPPORTED],
  [{ ...SINCE_BEFORE, ...UNMODIFIED_NOON }, MULTIPLE, UNSUPPORTED],
]

for (const [conditions, both, since] of CONTAINERS) {
  test(`container with ${JSON.stringify(conditions)} → ${both}, ${since}`, () => {
    const check = (ifUnmodifiedSince: boolean) =>
      outcome(() => checkContainerConditions(conditions, CURRENT, { ifUnmodifiedSince }))
    assert.equal(check(true), both)
    assert.equal(check(false), since)
  })
}

test('an operation that supports no conditions rejects them', () => {
  assert.equal(
    outcome(() => checkNoConditions({})),
    OK,
  )
  for (const conditions of [SAME, NONE_ANY, SINCE_NOON, UNMODIFIED_NOON]) {
    assert.equal(
      outcome(() => checkNoConditions(conditions)),
      UNSUPPORTED,
    )
  }
})

test('any conditions hold or throw a StorageError', () => {
  const etags = fc.oneof(fc.constant('*' as const), fc.array(fc.constantFrom(ETAG, OTHER)))
  const time = fc.integer({ min: NOON_MS - 5000, max: NOON_MS + 5000 })
  const some = fc.record(
    { ifMatch: etags, ifNoneMatch: etags, ifModifiedSinceMs: time, ifUnmodifiedSinceMs: time },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(some, (conditions) => {
      outcome(() => checkReadConditions(conditions, CURRENT))
      outcome(() => checkWriteConditions(conditions, CURRENT, 'update'))
      assert.match(
        outcome(() => checkSourceConditions(conditions, CURRENT)),
        /^(ok|412|400)/,
      )
    }),
  )
})
