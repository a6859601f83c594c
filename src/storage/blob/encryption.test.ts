// Where the SDKs have recordings of the service, the expected answers are from there: test_cpk, test_cpk_n
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
  request: RequestEncryption,
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
for (const [request, container, outcome] of NEW_BLOBS) {
  const where = JSON.stringify(container)
  test(`a new blob with ${JSON.stringify(request)} in ${where} → ${JSON.stringify(outcome)}`, () => {
    assert.deepEqual(
      outcomeOf(() => encryptionForWrite(request, container)),
      outcome,
    )
  })
}

type Use = readonly [
  stored: BlobEncryption | undefined,
  request: RequestEncryption,
  read: ErrorCode | undefined,
  change: ErrorCode | undefined,
]
const USES = 'BlobUsesCustomerSpecifiedEncryption'
const USES_NOT = 'BlobDoesNotUseCustomerSpecifiedEncryption'
const MISMATCH = 'BlobCustomerSpecifiedEncryptionMismatch'

// prettier-ignore
const EXISTING: readonly Use[] = [
  // stored               request         read       write, append
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
for (const [stored, request, read, change] of EXISTING) {
  const uses: readonly EncryptionUse[] = ['read', 'write', 'append']
  for (const use of uses) {
    const outcome = use === 'read' ? read : change
    const blob = JSON.stringify(stored) ?? 'a plain blob'
    test(`${use} ${blob} with ${JSON.stringify(request)} → ${outcome ?? 'ok'}`, () => {
      assert.equal(
        outcomeOf(() => checkEncryption(stored, request, use)),
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
for (const [stored, request, container, outcome] of IN_CONTAINER) {
  const where = JSON.stringify([stored, request, container])
  test(`a write without a scope uses that of the container: ${where} → ${outcome ?? 'ok'}`, () => {
    assert.equal(
      outcomeOf(() => checkEncryption(stored, request, 'write', container)),
      outcome,
    )
  })
}
