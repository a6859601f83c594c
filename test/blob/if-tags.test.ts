// x-ms-if-tags on every operation that accepts it: a condition on the blob's tags, in addition to those on its ETag and
// time. If it is not met the operation fails with 412, also for reads.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { outcome, type Headers } from '../harness.ts'
import {
  BLOB_OPERATIONS,
  makeBlob,
  runOperation,
  startForOperations,
  type BlobOperation,
} from './operation-table.ts'

const { server, service, send } = await startForOperations()
let count = 0

const TAGS = 'state=new&size=10&a%20b=%2B'
const MET = "state = 'new'"
const UNMET = "state = 'old'"
const REFUSED = '412 ConditionNotMet'

async function newBlob({ of }: Pick<BlobOperation, 'of'>, tags = TAGS) {
  const path = `/box/tagged-${(count += 1)}`
  const headers: Headers = tags === '' ? {} : { 'x-ms-tags': tags }
  const put = await makeBlob(server, path, of, headers)
  const { etag = '', 'last-modified': modified = '' } = put.headers
  return { path, etag, modifiedMs: Date.parse(modified) }
}

/** Everything that a client can see of a blob. */
async function state(path: string) {
  const { status, headers, text } = await send('GET', path)
  const { date: _date, 'x-ms-request-id': _id, ...kept } = headers
  const tags = await send('GET', `${path}?comp=tags`)
  return { status, headers: kept, text, tags: tags.text }
}

type At = { readonly etag: string; readonly modifiedMs: number }

/** A second condition: its headers, whether it is met, and the outcome of reads if not. */
const BESIDE: readonly (readonly [string, (at: At) => Headers, boolean, string])[] = [
  ['if-match', ({ etag }) => ({ 'if-match': etag }), true, ''],
  ['if-match', () => ({ 'if-match': '"0x1"' }), false, REFUSED],
  ['if-none-match', () => ({ 'if-none-match': '"0x1"' }), true, ''],
  ['if-none-match', ({ etag }) => ({ 'if-none-match': etag }), false, '304 ConditionNotMet'],
  ['if-modified-since', (at) => ({ 'if-modified-since': date(at, -1000) }), true, ''],
  ['if-modified-since', (at) => ({ 'if-modified-since': date(at, 0) }), false, '304 ConditionNotMet'],
  ['if-unmodified-since', (at) => ({ 'if-unmodified-since': date(at, 0) }), true, ''],
  ['if-unmodified-since', (at) => ({ 'if-unmodified-since': date(at, -1000) }), false, REFUSED],
] // prettier-ignore

function date({ modifiedMs }: At, shiftMs: number): string {
  return new Date(modifiedMs + shiftMs).toUTCString()
}

/** The four other conditions have a prefix for operations on tags. */
function named(headers: Headers, { prefix = '' }: BlobOperation): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [prefix + name, value]))
}

for (const operation of BLOB_OPERATIONS) {
  if (!operation.ifTags) continue
  describe(operation.name, () => {
    test('succeeds if the condition is met', async () => {
      const { path } = await newBlob(operation)
      const answer = await runOperation(server, operation, path, { 'x-ms-if-tags': MET })
      assert.equal(outcome(answer), operation.ok)
    })

    test('fails with 412 and changes nothing if it is not met', async () => {
      for (const tags of [TAGS, '']) {
        const { path } = await newBlob(operation, tags)
        const before = await state(path)
        const answer = await runOperation(server, operation, path, { 'x-ms-if-tags': UNMET })
        assert.equal(outcome(answer), REFUSED)
        assert.deepEqual(await state(path), before)
      }
    })

    test('refuses an invalid condition', async () => {
      const { path } = await newBlob(operation)
      const answer = await runOperation(server, operation, path, { 'x-ms-if-tags': 'state is new' })
      assert.equal(outcome(answer), '400 InvalidHeaderValue')
    })

    test('fails for a missing blob', async () => {
      const expected = operation.conditions === 'create' ? REFUSED : '404 BlobNotFound'
      for (const condition of [MET, "state <> 'new'"]) {
        const path = `/box/absent-${(count += 1)}`
        const answer = await runOperation(server, operation, path, { 'x-ms-if-tags': condition })
        assert.equal(outcome(answer), expected, condition)
        assert.equal((await send('HEAD', path)).status, 404)
      }
    })

    if (operation.conditions === 'none') return
    for (const [name, beside, isMet, unmetRead] of BESIDE) {
      test(`checks it together with ${name}, ${isMet ? 'met' : 'unmet'}`, async () => {
        const refused = operation.isCopy === true ? '412 TargetConditionNotMet' : REFUSED
        const unmet = operation.conditions === 'read' ? unmetRead : refused
        const outcomes = [
          [MET, isMet ? operation.ok : unmet],
          // If both are unmet, 412 takes precedence over 304.
          [UNMET, isMet ? REFUSED : refused],
        ] as const
        for (const [condition, expected] of outcomes) {
          const blob = await newBlob(operation)
          const headers = { ...named(beside(blob), operation), 'x-ms-if-tags': condition }
          assert.equal(outcome(await runOperation(server, operation, blob.path, headers)), expected)
        }
      })
    }
  })
}

describe('the condition', () => {
  const ASKED: readonly (readonly [condition: string, met: boolean])[] = [
    ["state = 'new'", true],
    ['"state" = \'new\'', true],
    ['"a b" = \'+\'', true],
    ["State = 'new'", false],
    ["state = 'New'", false],
    ["state <> 'old'", true],
    ["state <> 'new'", false],
    ["size > '1'", true],
    ["size >= '10'", true],
    ["size < '10'", false],
    // Values are compared as text, not as numbers.
    ["size < '9'", true],
    ["size <= '10'", true],
    ["state = 'new' AND size = '10'", true],
    ["state = 'new' AND size = '11'", false],
    ["state = 'old' OR size = '10'", true],
    ["state = 'old' OR size = '11'", false],
    ["state = 'new' OR state = 'old' AND size = '11'", true],
    ["(state = 'new' OR state = 'old') AND size = '11'", false],
    ["none = ''", false],
    ["none <> 'x'", false],
  ]
  for (const [condition, isMet] of ASKED) {
    test(`${condition} → ${isMet ? 'met' : 'unmet'}`, async () => {
      const { path } = await newBlob({ of: 'BlockBlob' })
      const headers = { 'x-ms-if-tags': condition }
      const answer = await send('GET', path, headers)
      assert.equal(outcome(answer), isMet ? '200' : REFUSED)
    })
  }

  const TOO_MANY = Array.from({ length: 12 }, (_, i) => `t${i} = '1'`).join(' OR ')
  for (const bad of ['state', "state = new'", "@container = 'box'", "NOT state = 'x'", TOO_MANY]) {
    test(`${bad} → 400`, async () => {
      const { path } = await newBlob({ of: 'BlockBlob' })
      const answer = await send('GET', path, { 'x-ms-if-tags': bad })
      assert.equal(outcome(answer), '400 InvalidHeaderValue')
    })
  }

  test('applies to the current tags', async () => {
    const { path } = await newBlob({ of: 'BlockBlob' })
    const blob = service.getContainerClient('box').getBlobClient(path.slice('/box/'.length))
    const conditions = { tagConditions: UNMET }
    await assert.rejects(blob.getProperties({ conditions }), { statusCode: 412 })
    await blob.setTags({ state: 'old' })
    await blob.getProperties({ conditions })
    await blob.setTags({ state: 'newer' }, { conditions })
    await assert.rejects(blob.delete({ conditions }), { code: 'ConditionNotMet' })
  })
})
