// What a blob's lease protects: every operation in each state of the lease, without an id, with its id and with
// another. Writes need the id while the lease is active; reads do not, but an id that is sent has to match.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { outcome, type Headers } from '../harness.ts'
import { A, B, enter, lease, leasedBlob, leaseOf, STATES } from './lease-table.ts'
import {
  BLOB_OPERATIONS,
  makeBlob,
  runOperation,
  startForOperations,
  type BlobOperation,
} from './operation-table.ts'

const { server, send } = await startForOperations()
let count = 0

const OK = 'ok'
const NONE = '412 LeaseNotPresentWithBlobOperation'
const OTHER = '412 LeaseIdMismatchWithBlobOperation'
const LOST = '412 LeaseLost'
const MISSING = '412 LeaseIdMissing'
const FINITE = '412 InfiniteLeaseDurationRequired'

type Uses = readonly (readonly [title: string, id: string | undefined, ...outcomes: string[]])[]

const WRITES: Uses = [
  //                      available leased   breaking broken expired
  ['no id',    undefined, OK,       MISSING, MISSING, OK,    OK],
  ['its id',   A,         NONE,     OK,      OK,      LOST,  LOST],
  ['another',  B,         NONE,     OTHER,   OTHER,   NONE,  NONE],
] // prettier-ignore
const READS: Uses = [
  ['no id',    undefined, OK,       OK,      OK,      OK,    OK],
  ['its id',   A,         NONE,     OK,      OK,      LOST,  LOST],
  ['another',  B,         NONE,     OTHER,   OTHER,   NONE,  NONE],
] // prettier-ignore
const COPIES: Uses = [
  ['no id',    undefined, OK,       MISSING, MISSING, OK,    OK],
  ['its id',   A,         NONE,     FINITE,  FINITE,  LOST,  LOST],
  ['another',  B,         NONE,     OTHER,   OTHER,   NONE,  NONE],
] // prettier-ignore

function usesOf({ lease: kind, needsInfiniteLease }: BlobOperation): Uses {
  if (needsInfiniteLease === true) return COPIES
  return kind === 'read' ? READS : WRITES
}

/** Everything that a client can see of a blob. */
async function state(path: string) {
  const { status, headers, text } = await send('GET', path)
  const { date: _date, 'x-ms-request-id': _id, ...kept } = headers
  return { status, headers: kept, text, tags: (await send('GET', `${path}?comp=tags`)).text }
}

const idHeader = (id: string | undefined): Headers =>
  id === undefined ? {} : { 'x-ms-lease-id': id }

for (const operation of BLOB_OPERATIONS) {
  describe(operation.name, () => {
    for (const [title, id, ...outcomes] of usesOf(operation)) {
      test(`${title}: ${outcomes.join(', ')}`, async () => {
        for (const [i, leaseState] of STATES.entries()) {
          const leased = leasedBlob(`/box/used-${(count += 1)}`)
          await makeBlob(server, leased.path, operation.of)
          await enter(server, leased, leaseState)
          const seen = await state(leased.path)
          const actual = outcome(await runOperation(server, operation, leased.path, idHeader(id)))
          assert.equal(actual, outcomes[i] === OK ? operation.ok : outcomes[i], leaseState)
          if (outcomes[i] !== OK) assert.deepEqual(await state(leased.path), seen, leaseState)
        }
      })
    }

    if (operation.lease === 'write' && operation.name !== 'Delete Blob') {
      test('keeps an infinite lease after a write with its id', async () => {
        const leased = leasedBlob(`/box/kept-${(count += 1)}`)
        await makeBlob(server, leased.path, operation.of)
        await lease(server, leased, 'acquire -1 A')
        const actual = outcome(await runOperation(server, operation, leased.path, idHeader(A)))
        assert.equal(actual, operation.ok)
        const { state: after, duration } = await leaseOf(server, leased)
        assert.deepEqual([after, duration], ['leased', 'infinite'])
        assert.equal(outcome(await lease(server, leased, 'renew A')), '200')
      })
    }

    if (operation.conditions !== 'none') {
      test('checks conditions before the lease id', async () => {
        const leased = leasedBlob(`/box/both-${(count += 1)}`)
        await makeBlob(server, leased.path, operation.of)
        await enter(server, leased, 'leased')
        const { prefix = '' } = operation
        const headers = { ...idHeader(B), [`${prefix}if-match`]: '"0x1"' }
        const actual = outcome(await runOperation(server, operation, leased.path, headers))
        assert.equal(
          actual,
          operation.isCopy === true ? '412 TargetConditionNotMet' : '412 ConditionNotMet',
        )
      })
    }

    if (operation.conditions === 'create' && operation.needsInfiniteLease !== true) {
      test('checks an active lease before If-None-Match: *, and lets its holder overwrite', async () => {
        const leased = leasedBlob(`/box/none-match-${(count += 1)}`)
        await makeBlob(server, leased.path, operation.of)
        const over = async (headers: Headers) =>
          outcome(
            await runOperation(server, operation, leased.path, {
              'if-none-match': '*',
              ...headers,
            }),
          )
        assert.equal(await over({}), '409 BlobAlreadyExists')
        await enter(server, leased, 'leased')
        assert.equal(await over({}), MISSING)
        assert.equal(await over(idHeader(B)), OTHER)
        assert.equal(await over(idHeader(A)), operation.ok)
      })
    }

    test('refuses an id that is not a GUID', async () => {
      const path = `/box/guid-${(count += 1)}`
      await makeBlob(server, path, operation.of)
      const actual = outcome(await runOperation(server, operation, path, idHeader('mine')))
      assert.equal(actual, '400 InvalidHeaderValue')
    })

    if (operation.conditions === 'create' || operation.name.startsWith('Put Block')) {
      test('refuses an id for a missing blob', async () => {
        const path = `/box/new-${(count += 1)}`
        const actual = outcome(await runOperation(server, operation, path, idHeader(A)))
        assert.equal(actual, NONE)
        assert.equal((await send('HEAD', path)).status, 404)
      })
    }
  })
}

describe('a blob that has only uncommitted blocks', () => {
  const block = (text: string) => `?comp=block&blockid=${Buffer.from(text).toString('base64url')}`

  async function newUncommitted(): Promise<ReturnType<typeof leasedBlob>> {
    const leased = leasedBlob(`/box/uncommitted-${(count += 1)}`)
    assert.equal((await send('PUT', leased.path + block('one'), {}, 'one')).status, 201)
    return leased
  }

  test('can be leased, and then accepts blocks and a commit only from the holder', async () => {
    const leased = await newUncommitted()
    const acquired = await lease(server, leased, 'acquire 15 A')
    assert.deepEqual([outcome(acquired), acquired.headers['x-ms-lease-id']], ['201', A])
    assert.equal(acquired.headers.etag, undefined)
    assert.equal((await send('HEAD', leased.path)).status, 404)
    const list = `<BlockList><Latest>${Buffer.from('one').toString('base64')}</Latest></BlockList>`
    for (const [query, body] of [
      [block('two'), 'two'],
      ['?comp=blocklist', list],
    ] as const) {
      const path = leased.path + query
      assert.equal(outcome(await send('PUT', path, {}, body)), MISSING)
      assert.equal(outcome(await send('PUT', path, idHeader(B), body)), OTHER)
      assert.equal(outcome(await send('PUT', path, idHeader(A), body)), '201')
    }
    assert.equal((await leaseOf(server, leased)).state, 'leased')
    assert.equal((await send('GET', leased.path)).text, 'one')
  })

  test('keeps its lease when Put Blob creates it', async () => {
    const leased = await newUncommitted()
    await lease(server, leased, 'acquire -1 A')
    const type = { 'x-ms-blob-type': 'BlockBlob' }
    assert.equal(outcome(await send('PUT', leased.path, type, 'x')), MISSING)
    assert.equal(outcome(await send('PUT', leased.path, { ...type, ...idHeader(A) }, 'x')), '201')
    assert.equal((await leaseOf(server, leased)).duration, 'infinite')
  })

  test('has a lease that can be renewed, changed, released and broken', async () => {
    const leased = await newUncommitted()
    const STEPS: readonly (readonly [string, string])[] = [
      ['acquire 15 A', '201'],
      ['acquire 15 B', '409 LeaseAlreadyPresent'],
      ['renew A', '200'],
      ['change A B', '200'],
      ['release B', '200'],
      ['release B', '409 LeaseIdMismatchWithLeaseOperation'],
      ['acquire 60 A', '201'],
      ['break 0', '202'],
    ]
    for (const [action, actual] of STEPS) {
      assert.equal(outcome(await lease(server, leased, action)), actual, action)
    }
  })
})

test('a snapshot of a leased blob is not leased', async () => {
  const leased = leasedBlob('/box/base')
  await makeBlob(server, leased.path, 'BlockBlob')
  await enter(server, leased, 'leased')
  const taken = await send('PUT', `${leased.path}?comp=snapshot`)
  const path = `${leased.path}?snapshot=${taken.headers['x-ms-snapshot']?.toString() ?? ''}`
  const { headers } = await send('HEAD', path)
  assert.equal(headers['x-ms-lease-state'], undefined)
  assert.equal(outcome(await send('GET', path, idHeader(A))), NONE)
  assert.equal(outcome(await send('DELETE', path)), '202')
})
