// What a blob's lease guards, operation by operation: in each of its states without an id, with its own and
// with another. Writes need the id while it holds; reads need none, but one that is sent has to be right.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../harness.ts'
import {
  A,
  B,
  enter,
  lease,
  leasedBlob,
  leaseOf,
  outcome,
  send as sendTo,
  STATES,
  type Headers,
} from './lease-table.ts'
import {
  BLOB_OPERATIONS,
  makeBlob,
  makeContainers,
  runOperation,
  type BlobOperation,
} from './operation-table.ts'

let server: TestServer
let count = 0

before(async () => {
  server = await startTestServer()
  await makeContainers(server)
})

after(() => server.close())

function send(method: string, path: string, headers: Headers = {}, body?: string) {
  return sendTo(server, method, path, headers, body)
}

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

/** All that a client can see of a blob. */
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
          const said = outcome(await runOperation(server, operation, leased.path, idHeader(id)))
          assert.equal(said, outcomes[i] === OK ? operation.ok : outcomes[i], leaseState)
          if (outcomes[i] !== OK) assert.deepEqual(await state(leased.path), seen, leaseState)
        }
      })
    }

    if (operation.lease === 'write' && operation.name !== 'Delete Blob') {
      test('an infinite lease stays over a write with its id', async () => {
        const leased = leasedBlob(`/box/kept-${(count += 1)}`)
        await makeBlob(server, leased.path, operation.of)
        await lease(server, leased, 'acquire -1 A')
        const said = outcome(await runOperation(server, operation, leased.path, idHeader(A)))
        assert.equal(said, operation.ok)
        const { state: after, duration } = await leaseOf(server, leased)
        assert.deepEqual([after, duration], ['leased', 'infinite'])
        assert.equal(outcome(await lease(server, leased, 'renew A')), '200')
      })
    }

    if (operation.conditions !== 'none') {
      test('an unmet condition is told before a wrong id', async () => {
        const leased = leasedBlob(`/box/both-${(count += 1)}`)
        await makeBlob(server, leased.path, operation.of)
        await enter(server, leased, 'leased')
        const { prefix = '' } = operation
        const headers = { ...idHeader(B), [`${prefix}if-match`]: '"0x1"' }
        const said = outcome(await runOperation(server, operation, leased.path, headers))
        assert.equal(
          said,
          operation.isCopy === true ? '412 TargetConditionNotMet' : '412 ConditionNotMet',
        )
      })
    }

    if (operation.conditions === 'create' && operation.needsInfiniteLease !== true) {
      test('a running lease comes before If-None-Match: *, and its holder may overwrite', async () => {
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

    test('an id that is no GUID is refused', async () => {
      const path = `/box/guid-${(count += 1)}`
      await makeBlob(server, path, operation.of)
      const said = outcome(await runOperation(server, operation, path, idHeader('mine')))
      assert.equal(said, '400 InvalidHeaderValue')
    })

    if (operation.conditions === 'create' || operation.name.startsWith('Put Block')) {
      test('an id for a blob that is not there', async () => {
        const path = `/box/new-${(count += 1)}`
        const said = outcome(await runOperation(server, operation, path, idHeader(A)))
        assert.equal(said, NONE)
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

  test('can be leased, and then takes blocks and a commit from the holder only', async () => {
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

  test('keeps its lease when Put Blob makes it', async () => {
    const leased = await newUncommitted()
    await lease(server, leased, 'acquire -1 A')
    const type = { 'x-ms-blob-type': 'BlockBlob' }
    assert.equal(outcome(await send('PUT', leased.path, type, 'x')), MISSING)
    assert.equal(outcome(await send('PUT', leased.path, { ...type, ...idHeader(A) }, 'x')), '201')
    assert.equal((await leaseOf(server, leased)).duration, 'infinite')
  })

  test('is renewed, changed, released and broken like another', async () => {
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
    for (const [action, said] of STEPS) {
      assert.equal(outcome(await lease(server, leased, action)), said, action)
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
