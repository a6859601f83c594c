// The answers are those that the SDKs recorded from the service where they did: test_cpk, test_cpk_n
// (azure-sdk-for-python), encryptionscope.spec (azure-sdk-for-js).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StorageError, type ErrorCode } from '../shared/error.ts'
import {
  checkEncryption,
  encryptionForWrite,
  type BlobEncryption,
  type ContainerEncryption,
  type EncryptionUse,
  type RequestEncryption,
} from './encryption.ts'

const ACCOUNT = '$account-encryption-key'
const NOTHING: RequestEncryption = {}
const key = (sha256: string): RequestEncryption => ({ customerKey: { sha256 } })
const scope = (name: string): RequestEncryption => ({ scope: name })
const by = (defaultEncryptionScope: string, deny = false): ContainerEncryption => ({
  defaultEncryptionScope,
  denyEncryptionScopeOverride: deny,
})

function outcomeOf<T>(run: () => T): T | ErrorCode {
  try {
    return run()
  } catch (error) {
    assert(error instanceof StorageError)
    return error.code
  }
}

type NewBlob = readonly [
  asked: RequestEncryption,
  container: ContainerEncryption,
  outcome: BlobEncryption | ErrorCode | undefined,
]
const FORBIDDEN = 'RequestForbiddenByContainerEncryptionPolicy'

// prettier-ignore
const NEW_BLOBS: readonly NewBlob[] = [
  [NOTHING,         {},                undefined],
  [key('k'),        {},                { keySha256: 'k' }],
  [scope('one'),    {},                { scope: 'one' }],
  [scope(ACCOUNT),  {},                undefined],
  [NOTHING,         by(ACCOUNT),       undefined],
  [scope('one'),    by(ACCOUNT),       { scope: 'one' }],
  [NOTHING,         by('one'),         { scope: 'one' }],
  [scope('one'),    by('one'),         { scope: 'one' }],
  [scope('two'),    by('one'),         { scope: 'two' }],
  [scope(ACCOUNT),  by('one'),         undefined],
  [key('k'),        by('one'),         { keySha256: 'k' }],
  [NOTHING,         by('one', true),   { scope: 'one' }],
  [scope('one'),    by('one', true),   { scope: 'one' }],
  [scope('two'),    by('one', true),   FORBIDDEN],
  [scope(ACCOUNT),  by('one', true),   FORBIDDEN],
  [key('k'),        by('one', true),   FORBIDDEN],
  [scope('one'),    by(ACCOUNT, true), FORBIDDEN],
  [{ ...key('k'), ...scope('one') }, {}, 'InvalidHeaderValue'],
]
for (const [asked, container, outcome] of NEW_BLOBS) {
  const where = JSON.stringify(container)
  test(`a new blob with ${JSON.stringify(asked)} in ${where} → ${JSON.stringify(outcome)}`, () => {
    assert.deepEqual(
      outcomeOf(() => encryptionForWrite(asked, container)),
      outcome,
    )
  })
}

type Use = readonly [
  stored: BlobEncryption | undefined,
  asked: RequestEncryption,
  read: ErrorCode | undefined,
  change: ErrorCode | undefined,
]
const USES = 'BlobUsesCustomerSpecifiedEncryption'
const USES_NOT = 'BlobDoesNotUseCustomerSpecifiedEncryption'
const MISMATCH = 'BlobCustomerSpecifiedEncryptionMismatch'

// prettier-ignore
const EXISTING: readonly Use[] = [
  // stored               asked           read       write, append
  [undefined,             NOTHING,        undefined, undefined],
  [undefined,             key('k'),       USES_NOT,  USES_NOT],
  [undefined,             scope('one'),   undefined, USES_NOT],
  [undefined,             scope(ACCOUNT), undefined, undefined],
  [{ keySha256: 'k' },    NOTHING,        USES,      USES],
  [{ keySha256: 'k' },    key('k'),       undefined, undefined],
  [{ keySha256: 'k' },    key('K'),       MISMATCH,  MISMATCH],
  [{ keySha256: 'k' },    scope('k'),     USES,      MISMATCH],
  [{ scope: 'one' },      NOTHING,        undefined, USES],
  [{ scope: 'one' },      scope('one'),   undefined, undefined],
  [{ scope: 'one' },      scope('two'),   undefined, MISMATCH],
  [{ scope: 'one' },      scope(ACCOUNT), undefined, USES],
  [{ scope: 'one' },      key('one'),     MISMATCH,  MISMATCH],
  [{ scope: 'one' },      { ...key('k'), ...scope('one') }, 'InvalidHeaderValue', 'InvalidHeaderValue'],
]
for (const [stored, asked, read, change] of EXISTING) {
  const uses: readonly EncryptionUse[] = ['read', 'write', 'append']
  for (const use of uses) {
    const outcome = use === 'read' ? read : change
    const blob = JSON.stringify(stored) ?? 'a plain blob'
    test(`${use} ${blob} with ${JSON.stringify(asked)} → ${outcome ?? 'fine'}`, () => {
      assert.equal(
        outcomeOf(() => checkEncryption(stored, asked, use)),
        outcome,
      )
    })
  }
}

// prettier-ignore
const IN_CONTAINER: readonly (readonly [BlobEncryption | undefined, RequestEncryption, ContainerEncryption, ErrorCode | undefined])[] = [
  [{ scope: 'one' }, NOTHING,      by('one'),       undefined],
  [{ scope: 'two' }, NOTHING,      by('one'),       MISMATCH],
  [{ scope: 'two' }, scope('two'), by('one'),       undefined],
  [undefined,        NOTHING,      by('one'),       USES_NOT],
  [undefined,        scope(ACCOUNT), by('one'),     undefined],
  [{ scope: 'one' }, scope('two'), by('one', true), FORBIDDEN],
]
for (const [stored, asked, container, outcome] of IN_CONTAINER) {
  const where = JSON.stringify([stored, asked, container])
  test(`a write that names no scope means the container’s: ${where} → ${outcome ?? 'fine'}`, () => {
    assert.equal(
      outcomeOf(() => checkEncryption(stored, asked, 'write', container)),
      outcome,
    )
  })
}
